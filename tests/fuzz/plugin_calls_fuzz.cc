// The whole runtime on one thread, with a plugin whose steps and commands
// follow the input. The runtime keeps its invariants, each record of a step
// reads back, and every process ends.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/step/record_format.h"
#include "runtime/step/step_record.h"
#include "tests/fuzz/hostile_process.h"
#include "tests/fuzz/input.h"
#include "tests/runtime/stepped_core.h"

namespace actord::fuzz {
namespace {

// What a journal would keep of each step must read back.
class ReadsBack final : public runtime::StepSink {
 public:
  void Keep(const char* /*process_type*/, const runtime::TurnInput& input,
            const runtime::StepRecord& record) override {
    std::string bytes;
    runtime::EncodeRecord(input, record, bytes);
    std::string_view rest = bytes;
    runtime::DecodedRecord decoded;
    Require(runtime::DecodeRecord(rest, buffers_, decoded).ok(),
            "the record of a step is valid");
    Require(rest.empty(), "and is one record");
    runtime::FreeContents(decoded, buffers_);
  }

 private:
  runtime::BufferPool pool_;
  runtime::BufferCache buffers_{pool_};
};

runtime::RuntimeOptions Options(ReadsBack& sink) {
  runtime::RuntimeOptions options;
  options.max_payload_bytes = kHostilePayloadLimit;
  options.max_processes = 100;
  options.max_yields = 200;
  options.max_steps = 50;
  options.external_commands = {"external.*"};
  options.step_sink = &sink;
  return options;
}

class Machine {
 public:
  Machine() : core_(1, Options(sink_)) {
    for (const actord_process_type& type : kHostileTypes) {
      Require(core_.catalog.AddProcessType(&type, "hostile").ok(), "a type");
    }
    Require(core_.catalog.AddCommand(&kHostileCommand, nullptr, "hostile").ok(),
            "a command");
  }

  // Does what the input says, and ends all processes.
  void Run(HostilePlugin& plugin) {
    plugin_ = &plugin;
    plugin.host = core_.core->host.abi();
    Submit();
    while (!plugin.input.empty()) {
      Act();
      core_.WakeAll();
      core_.Settle();
    }
    EndProcesses();
  }

 private:
  void Submit() {
    const actord_process_type& type =
        kHostileTypes[plugin_->input.Below(std::size(kHostileTypes))];
    core_.core->admission.Submit(
        runtime::SubmitRequest{type.name, "", {plugin_->input.Text(), ""}, {}},
        runtime::Pid{}, /*keep_result=*/true,
        [this](const absl::StatusOr<runtime::Pid>& pid) {
          if (pid.ok()) plugin_->pids.push_back(runtime::ToAbi(*pid));
        });
  }

  void EndProcesses() {
    for (uint32_t slot = 0; slot < core_.core->processes.SlotsInUse(); ++slot) {
      const runtime::Process& process = core_.core->processes.At(slot);
      core_.core->delivery
          .Control(runtime::Owner::kAny,
                   core_.core->processes.PidOf(process, process.generation),
                   runtime::kEventTerminate, "the input is over",
                   core_.core->lane)
          .IgnoreError();  // most slots have no process
    }
    core_.WakeAll();
    core_.Settle();
    Require(core_.core->LiveProcesses() == 0, "every process ends");
  }

  void Upgrade() {
    const auto types = core_.catalog.Add(
        {.plugin = "hostile",
         .version = "next",
         .process_types = {&kHostileTypes[0], &kHostileTypes[1],
                           &kHostileTypes[2]},
         .commands = {{&kHostileCommand, nullptr}},
         .replace = true,
         .upgrade_processes = true});
    Require(types.ok(), "a next version");
    core_.core->TellOfUpgrade({types->begin(), types->end()}, 0);
  }

  void Act() {
    switch (plugin_->input.Byte() % 8) {
      case 0:
        return Submit();
      case 1:
        core_.clock.manual.AdvanceNs(uint64_t{1000}
                                     << (plugin_->input.Byte() % 40));
        return;
      case 2:
        // Every upgrade keeps its entries until the end.
        if (++upgrades_ <= 8) Upgrade();
        return;
      default:
        return CallHost();
    }
  }

  HostilePlugin* plugin_ = nullptr;
  ReadsBack sink_;
  int upgrades_ = 0;
  runtime::SteppedCore core_;
};

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The runtime's fixture states what must hold as expectations.
  GTEST_FLAG_SET(break_on_failure, true);
  static std::unique_ptr<actord::fuzz::Machine> machine;
  static int inputs = 0;
  // A new runtime takes much longer than an input.
  if (inputs++ % 100 == 0) machine = nullptr;
  if (machine == nullptr) machine = std::make_unique<actord::fuzz::Machine>();
  actord::fuzz::HostilePlugin plugin({data, size});
  actord::fuzz::SetHostilePlugin(&plugin);
  machine->Run(plugin);
  actord::fuzz::SetHostilePlugin(nullptr);
  return 0;
}
