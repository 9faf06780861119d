// A runtime without threads over a store on a simulated disk: a test runs its
// workers, its disk and its end by hand, and starts it again from what the disk
// has kept.
//
// Thread-safety: one thread.
#pragma once

#include <actord/process.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "handlers/builtin_handlers.h"
#include "runtime/durable/input_batch.h"
#include "runtime/durable/opened_store.h"
#include "tests/runtime/durable/account.h"
#include "tests/runtime/durable/hooked_clock.h"
#include "tests/runtime/durable/puppet.h"
#include "tests/runtime/stepped_core.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {

class DurableWorld {
 public:
  explicit DurableWorld(uint64_t seed = 1) : disk(seed) {
    EXPECT_TRUE(disk.MakeDirectory("/srv").ok());
    EXPECT_TRUE(disk.SyncDirectory("/").ok());
  }
  ~DurableWorld() { Stop(); }
  DurableWorld(const DurableWorld&) = delete;
  DurableWorld& operator=(const DurableWorld&) = delete;

  // Opens the store and starts a runtime. The status is that of the store or
  // of the recovery.
  absl::Status Start(RuntimeOptions options = {}) {
    OpenedStore::Options store_options;
    JournalOptions& journal = store_options.journal;
    journal.directory = directory;
    journal.segment_bytes = 1 << 20;
    journal.max_record_bytes = 256 << 10;
    journal.max_unsynced_bytes = 256 << 10;
    journal.ring_bytes = 1 << 20;
    journal.max_group_bytes = 64 << 10;
    journal.threads = false;
    journal.files = files;
    journal.clock = &store_clock;
    journal.seed = 1;
    store_options.applier = applier;
    store_options.disk_reserve_bytes = disk_reserve;
    store_options.round_bytes = round_bytes;
    store_options.marked_threads = marked_threads;
    store_options.max_crashes = max_crashes;
    store_options.failed = [this](const absl::Status& status) {
      failed = status;
    };
    store_options.open_state =
        [this]() -> absl::StatusOr<std::unique_ptr<StateStore>> {
      return std::make_unique<Forwarding>(state, state_reads);
    };
    auto opened = OpenedStore::Open(std::move(store_options));
    if (!opened.ok()) return opened.status();
    store = *std::move(opened);
    options.store = store.get();
    options.timer_delay_ns = handlers::TimerDelayNs;
    // As in the daemon: no PID comes again.
    options.incarnation =
        static_cast<uint32_t>(store->journal().report().incarnation);
    core.emplace(1, options);
    core->clock.manual.SetNs(clock.MonotonicNs());
    auto made = handlers::CreateBuiltinHandlers({}, runtime().host.abi());
    EXPECT_TRUE(made.ok()) << made.status();
    builtin.emplace(*std::move(made));
    for (const auto& handler : builtin->instances()) {
      EXPECT_TRUE(core->catalog
                      .AddCommand(handler.descriptor, handler.self,
                                  handlers::kBuiltinPlugin)
                      .ok());
    }
    if (!no_account_type) {
      for (const actord_process_type* type :
           {&actord::kProcessType<Account>, &actord::kProcessType<Tally>,
            &actord::kProcessType<Puppet>,
            &actord::kProcessType<TrappingPuppet>,
            &actord::kProcessType<VolatilePuppet>}) {
        EXPECT_TRUE(core->catalog.AddProcessType(type, "test").ok());
      }
    }
    for (const actord_process_type* type : more_types) {
      EXPECT_TRUE(core->catalog.AddProcessType(type, "test").ok());
    }
    for (const CatalogEntries& entries : plugins) {
      EXPECT_TRUE(core->catalog.Add(entries).ok());
    }
    return core->core->Recover();
  }
  // What a client that repeats its requests is told.
  struct Told {
    RequestIds::Role role = RequestIds::Role::kFirst;
    std::optional<absl::StatusOr<Pid>> answer;
  };
  // Submits under a request id, as the daemon does.
  std::shared_ptr<Told> SubmitOnce(const std::string& id, std::string input,
                                   std::string name = "",
                                   const std::string& type = "account",
                                   bool durable = true) {
    RequestIds& ids = runtime().request_ids;
    SubmitRequest request{type, "", {std::move(input), ""}, {}};
    request.name = std::move(name);
    request.durable = durable;
    const Fingerprint content = FingerprintOf(
        ids.content_key(), {{type, request.input.bytes, request.name}});
    request.request_id = RequestId{id, content};
    auto told = std::make_shared<Told>();
    const auto key = ids.KeyOf(Owner::kNobody, id);
    if (Begin(ids, key, content, told)) {
      runtime().admission.Submit(
          request, Pid{}, /*keep_result=*/true,
          [&ids, key, told](const absl::StatusOr<Pid>& pid) {
            ids.End(key, pid);
            told->answer = pid;
          });
    }
    return told;
  }
  std::shared_ptr<Told> SendOnce(const std::string& id, const Pid& to,
                                 std::string topic, std::string text,
                                 Owner owner = Owner::kNobody) {
    RequestIds& ids = runtime().message_ids;
    const std::string pid = FormatPid(to);
    const RequestId request{
        id, FingerprintOf(ids.content_key(), {{pid, topic, text}}), owner};
    auto told = std::make_shared<Told>();
    const auto key = ids.KeyOf(owner, id);
    if (Begin(ids, key, request.fingerprint, told)) {
      const Sent sent = runtime().SendFromOutside(
          Owner::kAny, to, {std::move(topic), {std::move(text), ""}}, nullptr,
          &request);
      const absl::StatusOr<Pid> answer =
          sent.status.ok() ? absl::StatusOr<Pid>(to) : sent.status;
      runtime().WhenDurable(sent.position, [&ids, key, told, answer] {
        ids.End(key, answer);
        told->answer = answer;
      });
    }
    return told;
  }

  // What a client that repeats its call is told.
  struct Reply {
    CallId id = 0;
    std::optional<absl::StatusOr<CallReply>> answer;
    // The result, or the text of the error.
    [[nodiscard]] std::string text() const {
      if (!answer.has_value()) return "no answer";
      return answer->ok() ? (*answer)->result.bytes
                          : std::string(answer->status().message());
    }
    [[nodiscard]] bool is_duplicate() const {
      return answer.has_value() && answer->ok() && (*answer)->duplicate;
    }
  };
  std::shared_ptr<Reply> CallOnce(const std::string& id, const Pid& to,
                                  std::string topic, std::string text = "",
                                  Owner owner = Owner::kNobody) {
    const std::string pid = FormatPid(to);
    const RequestId request{id,
                            FingerprintOf(runtime().message_ids.content_key(),
                                          {{pid, topic, text}}),
                            owner};
    auto reply = std::make_shared<Reply>();
    reply->id = runtime().kept_calls->Begin(
        Owner::kAny, to, {std::move(topic), {std::move(text), ""}}, request,
        [reply](absl::StatusOr<CallReply> answer) {
          reply->answer = std::move(answer);
        });
    return reply;
  }

  // `sender`, a puppet, sends a note to a process that has ended, and then the
  // dead letter is sent to it.
  void SendALetterAgain(const Pid& sender) {
    const Pid gone = NewPuppet();
    Tell(gone, "done");
    Tell(sender, "send", FormatPid(gone) + " note again");
    const auto letters = runtime().dead_letters.List({.page_size = 1}).letters;
    ASSERT_EQ(letters.size(), 1U);
    ASSERT_TRUE(runtime().dead_letters.Resend(letters[0].id, sender).ok());
    Settle();
  }

  // Ends the runtime as a clean stop does.
  void Stop() {
    core.reset();
    builtin.reset();
    store.reset();
  }
  // Moves the clocks of the store and of the runtime.
  void Pass(uint64_t ns) {
    clock.AdvanceNs(ns);
    if (core) core->clock.manual.AdvanceNs(ns);
  }
  // Ends the program at this point. Data that was not synced may be lost or
  // not.
  void Crash(bool keep_cache, size_t kept_batches = 0) {
    disk.CrashAt(disk.calls());
    Stop();
    Reboot(keep_cache, kept_batches);
  }
  // After a crash that the disk has decided.
  void Reboot(bool keep_cache, size_t kept_batches = 0) {
    Stop();
    disk.Restart(keep_cache, SimulatedDisk::kSectorBytes);
    state.Crash(std::min(kept_batches, state.unflushed()));
    failed = absl::OkStatus();
  }

  // Runs the workers until all sleep; the disk does nothing meanwhile.
  void Turn() { core->Settle(); }
  // Lets the worker do `count` things. Most of them are a turn each.
  void Turns(int count) {
    core->WakeIfNotified(0);
    for (int i = 0; i < count && !core->IsAsleep(0); ++i) core->RunOne(0);
  }
  // Runs workers and disk until neither has anything to do.
  void Settle() {
    do {
      runtime().timed_wakes->LookIfDue();
      core->Settle();
    } while (store->Work());
  }

  // Runs everything that is due after this time.
  void Elapse(uint64_t ns) {
    const uint64_t dormant = runtime().durable->homes().dormant();
    Pass(ns);
    core->WakeAll();
    Settle();
    if (runtime().durable->homes().dormant() >= dormant) return;
    // Its timer, or its timeout, began again and is due in the next ticks.
    Pass(uint64_t{3} << TimerWheel::kTickShift);
    core->WakeAll();
    Settle();
  }
  // Crash, and a new start.
  void Restart(bool keep_cache = true, RuntimeOptions options = {}) {
    Crash(keep_cache);
    const absl::Status status = Start(std::move(options));
    ASSERT_TRUE(status.ok()) << status;
    Settle();
  }
  // The PID of a process of puppet.h.
  Pid NewPuppet(const std::string& type = "puppet", bool durable = true) {
    auto told = Submit("", "", durable, type);
    Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  // Sends, and runs everything.
  void Tell(const Pid& to, std::string topic, std::string text = "") {
    const Sent sent = Send(to, std::move(topic), std::move(text));
    EXPECT_TRUE(sent.status.ok()) << sent.status;
    Settle();
  }
  std::string NotesOf(const Pid& pid) { return BalanceOf(pid); }

  // The PID, or the error, when the submitter has been told.
  std::shared_ptr<std::optional<absl::StatusOr<Pid>>> Submit(
      std::string input, std::string name = "", bool durable = true,
      const std::string& type = "account") {
    auto told = std::make_shared<std::optional<absl::StatusOr<Pid>>>();
    SubmitRequest request{type, "", {std::move(input), ""}, {}};
    request.name = std::move(name);
    request.durable = durable;
    runtime().admission.Submit(
        request, Pid{}, /*keep_result=*/true,
        [told](absl::StatusOr<Pid> pid) { told->emplace(std::move(pid)); });
    return told;
  }
  Pid NewAccount(int64_t balance, std::string name = "") {
    auto told = Submit(std::to_string(balance), std::move(name));
    Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  Sent Send(const Pid& to, std::string topic, std::string text) {
    return runtime().SendFromOutside(
        Owner::kAny, to, {std::move(topic), {std::move(text), ""}}, nullptr);
  }
  std::unique_ptr<InputBatch> NewBatch() {
    return std::make_unique<InputBatch>(*runtime().durable,
                                        *runtime().durable_inputs,
                                        runtime().delivery, runtime().lane);
  }
  // As BulkSender does it.
  uint64_t Send(
      InputBatch& batch,
      absl::FunctionRef<void(uint64_t, const absl::Status&)> refused) {
    ReadyList ready;
    const uint64_t position = batch.Send(
        ready, [&](size_t) { runtime().scheduler.EnqueueAll(ready); }, refused);
    return position;
  }
  // The answer to a call, when it has come.
  std::shared_ptr<std::optional<std::string>> Ask(const Pid& pid) {
    auto answer = std::make_shared<std::optional<std::string>>();
    runtime().calls.Begin(
        Owner::kAny, pid, {"get", {}}, [answer](absl::StatusOr<Payload> got) {
          *answer = got.ok() ? got->bytes : std::string(got.status().message());
        });
    return answer;
  }
  std::string BalanceOf(const Pid& pid) {
    auto answer = Ask(pid);
    Settle();
    return answer->value_or("no answer");
  }
  std::shared_ptr<std::optional<absl::StatusOr<Outcome>>> Await(
      const Pid& pid, Owner by = Owner::kAny) {
    auto outcome = std::make_shared<std::optional<absl::StatusOr<Outcome>>>();
    runtime().Await(
        pid,
        [outcome](absl::StatusOr<Outcome> got) {
          outcome->emplace(std::move(got));
        },
        by);
    return outcome;
  }
  Runtime::Core& runtime() { return *core->core; }

  SimulatedDisk disk;
  MemoryStateStore state;
  int state_reads = 0;  // of single entries
  ManualClock clock;
  absl::Status failed;
  // The steps of threads are marked in a mapped file, which the simulated disk
  // does not have.
  FileSystem* files = &disk;
  std::string directory = "/srv/store";
  size_t marked_threads = 0;
  uint32_t max_crashes = 3;
  bool no_account_type = false;
  uint64_t disk_reserve = 1;
  ApplierOptions applier;
  uint64_t round_bytes = 256 << 20;
  std::vector<const actord_process_type*> more_types;
  std::vector<CatalogEntries> plugins;
  HookedClock store_clock{clock};
  std::unique_ptr<OpenedStore> store;
  std::optional<SteppedCore> core;
  std::optional<handlers::HandlerSet> builtin;

 private:
  static bool Begin(RequestIds& ids, const RequestIds::Key& key,
                    const Fingerprint& content,
                    const std::shared_ptr<Told>& told) {
    told->role = ids.Begin(
        key, content,
        [told](const absl::StatusOr<Pid>& pid) { told->answer = pid; });
    return told->role == RequestIds::Role::kFirst;
  }

  // The state store outlives its users, as a directory does.
  class Forwarding final : public StateStore {
   public:
    Forwarding(StateStore& to, int& reads) : to_(to), reads_(reads) {}
    absl::StatusOr<std::optional<std::string>> Get(
        std::string_view key) override {
      ++reads_;
      return to_.Get(key);
    }
    absl::Status Write(std::span<const StateWrite> writes) override {
      return to_.Write(writes);
    }
    absl::Status Flush() override { return to_.Flush(); }
    absl::Status Scan(std::string_view first, std::string_view last,
                      Use use) override {
      return to_.Scan(first, last, use);
    }

   private:
    StateStore& to_;
    int& reads_;
  };
};

}  // namespace actord::runtime
