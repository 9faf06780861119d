// A process type in several versions, over a store on a simulated disk.
//
// Thread-safety: one thread.
#pragma once

#include <actord/commands.h>
#include <actord/upgrade.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {

// What all processes of one version do.
struct BookScript {
  bool refuses_restore = false;
  std::function<void()> restoring;  // called by Restore, if set
  bool not_now = false;
  size_t padding = 0;                 // of a Snapshot
  std::vector<std::string> inputs;    // of Init
  std::vector<std::string> restored;  // from which version, and for what reason
};

// Notes its messages, each with the version that has taken it. Topics:
//   get     a call: answers with the notes
//   sleep   sleeps for a second; the end of the sleep is noted, too
//   end     ends with the notes
template <int V, actord::Durability D>
class Book : public actord::Process {
 public:
  static constexpr const char* kName = "book";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = D;
  static inline BookScript script;

  void Init(std::string_view /*method*/, const actord::Payload& input) {
    notes_ = input.bytes;
    script.inputs.emplace_back(input.bytes);
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_completion()) {
        Note("woken");
      } else if (event.topic() == "get" && event.call() != 0) {
        out.Reply(event.call(), notes_);
        // Another version would answer otherwise.
        if (D == actord::Durability::kReplay) Note("get");
      } else if (event.topic() == "sleep") {
        out.Yield(actord::commands::Sleep(std::chrono::seconds(1)));
      } else if (event.topic() == "end") {
        out.Done(notes_);
      } else if (event.is_message()) {
        Note(event.payload().bytes);
        if (event.payload().bytes == "now") script.not_now = false;
        if (!event.payload().bytes.starts_with('@')) continue;
        // Effects tell versions apart, so a history of one is none of another.
        out.Send(out.self(), "echo", "from " + std::to_string(V));
      }
    }
  }
  actord::SnapshotResult Snapshot() const {
    if (script.not_now) return actord::SnapshotResult::NotNow();
    return notes_ + std::string(script.padding, ' ');
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    script.restored.push_back("from " + std::string(from.version) +
                              (from.reason == actord::RestoreReason::kRecovery
                                   ? " recovery"
                                   : " upgrade"));
    if (script.restoring) script.restoring();
    if (script.refuses_restore)
      return {actord::Code::kInternal, "not this one"};
    notes_ = from.snapshot.bytes;
    return actord::Status::Ok();
  }

 private:
  void Note(std::string_view text) {
    notes_ += "v" + std::to_string(V) + ":" + std::string(text) + " ";
  }
  std::string notes_;
};

using Image1 = Book<1, actord::Durability::kImage>;
using Image2 = Book<2, actord::Durability::kImage>;
using Replay1 = Book<1, actord::Durability::kReplay>;
using Replay2 = Book<2, actord::Durability::kReplay>;

class DurableVersions : public ::testing::Test {
 protected:
  void SetUp() override {
    for (BookScript* script : {&Image1::script, &Image2::script,
                               &Replay1::script, &Replay2::script}) {
      *script = {};
    }
  }

  template <typename T>
  static CatalogEntries Plugin(uint32_t number) {
    return {.plugin = "books",
            .version = std::to_string(number),
            .plugin_number = number,
            .process_types = {&actord::kProcessType<T>}};
  }
  // Starts with `in_force`. The store keeps `former`.
  void Start(const CatalogEntries& in_force,
             const std::vector<CatalogEntries>& former = {}) {
    world_.Stop();
    asked_.clear();
    RuntimeOptions options;
    options.log = [this](LogLevel level, std::string_view text) {
      if (level != LogLevel::kDebug) log_.emplace_back(text);
    };
    options.load_former = [this, former](uint32_t number) {
      asked_.push_back(number);
      for (const CatalogEntries& entries : former) {
        if (entries.plugin_number != number) continue;
        EXPECT_TRUE(world_.core->catalog.AddFormer(entries).ok());
      }
    };
    if (passivates_) options.durable.passivate_after = absl::Seconds(10);
    world_.plugins = {in_force};
    ASSERT_EQ(world_.Start(std::move(options)), absl::OkStatus());
    world_.Settle();
  }
  // Puts a plugin in force while the runtime runs, and tells its processes.
  void Load(CatalogEntries entries, bool upgrade_processes = true) {
    entries.replace = true;
    entries.upgrade_processes = upgrade_processes;
    const auto types = world_.core->catalog.Add(entries);
    ASSERT_TRUE(types.ok()) << types.status();
    uint32_t next = 0;
    do {
      next = world_.runtime()
                 .TellOfUpgrade({types->begin(), types->end()}, next)
                 .next_slot;
    } while (next != 0);
    world_.Turn();
  }
  Pid NewBook() {
    auto told = world_.Submit("", "", true, "book");
    world_.Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return ***told;
  }
  std::string VersionOf(const Pid& pid) {
    if (world_.runtime().processes.IsDormant(pid)) return "dormant";
    const FoundProcess process = world_.runtime().processes.Find(pid);
    return process ? process->type.load()->version : "not in memory";
  }
  uint32_t PluginOf(const Pid& pid) {
    world_.Settle();
    EXPECT_TRUE(world_.store->CatchUp().ok());
    return world_.store->ReadProcess(pid, DurableStore::WithoutState)
        ->entry.plugin;
  }
  std::vector<QuarantineEntry> InQuarantine() {
    return world_.runtime()
        .durable->quarantine()
        .List(QuarantineFilter(), 0, 100)
        .entries;
  }

  DurableWorld world_;
  bool passivates_ = false;
  std::vector<uint32_t> asked_;
  std::vector<std::string> log_;
};

}  // namespace actord::runtime
