// actord_record_lives: runs worlds of Life under seeds, as the simulator runs
// its own (../sim), and writes the records of all their calls.
//
// Usage: actord_record_lives FILE FIRST COUNT
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core.h"
#include "runtime/system/random.h"
#include "tests/replay/life_process.h"
#include "tests/replay/records_file.h"
#include "tests/sim/schedule.h"
#include "tests/support/script_handler.h"

namespace actord::replay {
namespace {

using actord::testing::Call;
using actord::testing::ScriptHandler;
using runtime::Pid;
using runtime::Random;
using runtime::Runtime;
using sim::Schedule;

[[noreturn]] void Fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

// One seed.
class LivingWorld {
 public:
  LivingWorld(Schedule& schedule, RecordsFile& records, uint64_t seed)
      : schedule_(schedule), records_(records), seed_(seed), random_(seed) {}

  void Run() {
    Schedule::Style style;
    style.switches = 1 + static_cast<uint32_t>(random_.Next() % 64);
    style.creep_ns = 1 + random_.Next() % 20'000;
    schedule_.when_quiet = [](uint64_t) {};
    schedule_.Run(seed_, style, [this] { Live(); });
  }

 private:
  void Live() {
    for (const actord_process_type* type : kLifeTypes) {
      Check(catalog_.AddProcessType(type, "replay"));
    }
    Add("inline", ACTORD_HANDLER_INLINE, [](Call& call) {
      call.Reply(ACTORD_OK, call.bytes());
      return ACTORD_HANDLED;
    });
    Add("pooled", ACTORD_HANDLER_POOLED, [](Call& call) {
      runtime::FailPoint();
      call.Reply(ACTORD_ABORTED, call.bytes());
      return ACTORD_HANDLED;
    });
    Add("sleep", ACTORD_HANDLER_INLINE, [this](Call& call) {
      runtime_->host()->complete_after(runtime_->host(), call.Defer(),
                                       std::stoull(std::string(call.bytes())));
      return ACTORD_DEFERRED;
    });
    runtime_ = std::make_unique<Runtime>(
        std::make_unique<Runtime::Core>(Options(), catalog_));
    if (!runtime_->Start().ok()) std::abort();
    Drive();
    runtime_->Shutdown(random_.Next() % 2 == 0 ? runtime::ShutdownMode::kDrain
                                               : runtime::ShutdownMode::kNow,
                       absl::Milliseconds(2));
    runtime_ = nullptr;
  }

  runtime::RuntimeOptions Options() {
    runtime::RuntimeOptions options;
    options.workers = 1 + static_cast<int>(random_.Next() % 4);
    options.max_blocked_threads = 1;
    options.blocking_threads = 1;
    options.external_commands = {"ext.*"};
    options.seed = seed_ + 1;
    options.incarnation = 7;
    options.max_payload_bytes = 4096;
    options.max_processes = random_.Next() % 4 == 0 ? 8 : 256;
    options.max_yields = 16;
    options.max_steps = random_.Next() % 4 == 0 ? 10 : 1000;
    options.stuck_after = absl::Hours(24);
    options.clock = &schedule_;
    options.log = [](runtime::LogLevel, std::string_view) {};
    options.step_sink = &records_;
    return options;
  }

  void Add(std::string command, uint32_t mode, ScriptHandler::Function handle) {
    handlers_.push_back(std::make_unique<ScriptHandler>(
        std::move(command), mode, std::move(handle)));
    Check(catalog_.AddCommand(handlers_.back()->descriptor(),
                              handlers_.back().get(), "replay"));
  }

  // What the outside does.
  void Drive() {
    for (uint64_t i = 0; i < 3; ++i) {
      runtime_->Submit({.process_type = kLifeTypes[random_.Next() % 4]->name,
                        .method = "run",
                        .input = {std::to_string(1 + random_.Next() % 4), ""},
                        .messages = {},
                        .name = i == 0 ? "root" : ""},
                       [this](absl::StatusOr<Pid> begun) {
                         if (begun.ok()) roots_.push_back(*begun);
                       });
    }
    for (uint64_t left = random_.Next() % 40; left > 0; --left) {
      schedule_.SleepFor(random_.Next() % 200'000, /*busy=*/false);
      if (roots_.empty()) continue;
      const Pid to = roots_[random_.Next() % roots_.size()];
      if (random_.Next() % 16 == 0) {
        runtime_->Cancel(to, "by the outside").IgnoreError();
      } else {
        runtime_->Send(to, {"outside", {std::to_string(left), "text/plain"}})
            .IgnoreError();
      }
    }
  }

  Schedule& schedule_;
  RecordsFile& records_;
  const uint64_t seed_;
  Random random_;
  std::vector<Pid> roots_;  // that have begun
  runtime::Catalog catalog_;
  std::vector<std::unique_ptr<ScriptHandler>> handlers_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace
}  // namespace actord::replay

int main(int argc, char** argv) {
  using actord::replay::Fail;
  if (argc != 4) Fail("usage: actord_record_lives FILE FIRST COUNT");
  // Each seed allocates the same large tables: keep the memory.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  actord::replay::RecordsFile records(argv[1]);
  actord::sim::Schedule schedule(/*trace=*/false);
  schedule.when_broken = [](const std::string& what) { Fail(what); };
  const uint64_t first = std::stoull(argv[2]);
  const uint64_t count = std::stoull(argv[3]);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    actord::replay::LivingWorld(schedule, records, seed).Run();
  }
  if (!records.Close()) Fail(std::string("cannot write ") + argv[1]);
  std::printf("%lu calls are recorded\n", records.records());
  return 0;
}
