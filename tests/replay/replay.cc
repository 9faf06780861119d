// actord_replay: repeats the lives that a file of records tells of, from Init
// on, and compares what each call comes to with its record, byte for byte.
//
// It is linked with the step and nothing else of the runtime: there are no
// tables, no lanes and no clocks here that a step could ask.
//
// Usage: actord_replay FILE [PLUGIN...]
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "runtime/step/foreign.h"
#include "runtime/step/record_format.h"
#include "runtime/step/recorded_world.h"
#include "runtime/step/step_context.h"
#include "tests/replay/life_process.h"

namespace actord::replay {
namespace {

using runtime::DecodedRecord;
using runtime::Pid;
using runtime::StepContext;

[[noreturn]] void Fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::exit(1);
}

// As large as any state may be aligned.
struct alignas(64) Line {
  std::byte bytes[64];
};

struct Process {
  const actord_process_type* type = nullptr;
  std::unique_ptr<Line[]> state;
};

class Replay {
 public:
  explicit Replay(std::map<std::string, const actord_process_type*> types)
      : types_(std::move(types)) {}

  void Run(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      const std::string type(bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
      const std::string_view begin = bytes;
      const absl::Status status = DecodeRecord(bytes, buffers_, wanted_);
      if (!status.ok()) Fail("a record of " + type + ": " + status.ToString());
      RunOne(type, begin.substr(0, begin.size() - bytes.size()));
      FreeContents(wanted_, buffers_);
    }
    for (auto& [pid, process] : processes_) Close(process);
    std::printf("%lu lives of %lu calls are repeated\n", lives_, calls_);
    if (lives_ == 0) Fail("there is none");
  }

 private:
  // Compares with `bytes`.
  void RunOne(const std::string& type, std::string_view bytes) {
    const runtime::TurnInput& input = wanted_.input;
    if (input.step == 0) Begin(type);
    const auto it = processes_.find(input.self);
    if (it == processes_.end()) Fail("a step of " + type + " without an Init");
    Process& process = it->second;
    world_.Begin(wanted_.record.answers);
    runtime::StepRecord& record = context_.record();
    record.keeps_answers = true;
    context_.Begin(input.next_tag, input.step == 0 ? StepContext::Call::kInit
                                                   : StepContext::Call::kStep);
    const runtime::Thrown thrown = runtime::CallForeign([&] {
      record.verdict =
          input.step == 0
              ? process.type->init(process.state.get(), &input.init,
                                   context_.abi())
              : process.type->step(process.state.get(), input.events.data(),
                                   input.events.size(), context_.abi());
    });
    if (thrown) {
      record.verdict = runtime::StepRecord::kThrown;
      record.has_said = true;
      record.thrown = *thrown;
    }
    ++calls_;
    Compare(type, bytes);
    End(it, thrown != nullptr);
  }

  void Begin(const std::string& type) {
    const auto known = types_.find(type);
    if (known == types_.end()) Fail("an unknown process type: " + type);
    // A PID comes again in another seed.
    if (const auto old = processes_.find(wanted_.input.self);
        old != processes_.end()) {
      Close(old->second);
      processes_.erase(old);
    }
    const size_t lines = known->second->state_size / sizeof(Line) + 1;
    processes_[wanted_.input.self] = {known->second,
                                      std::make_unique<Line[]>(lines)};
    ++lives_;
  }

  void Compare(const std::string& type, std::string_view bytes) {
    const std::string divergence = world_.End();
    std::string repeated;
    EncodeRecord(wanted_.input, context_.record(), repeated);
    if (!divergence.empty() || repeated != bytes) {
      Fail("step " + std::to_string(wanted_.input.step) + " of " + type + " " +
           runtime::FormatPid(wanted_.input.self) +
           " comes to another record: " + divergence);
    }
  }

  // The record is dropped; and the life is over, if it ends with this call.
  void End(std::map<Pid, Process>::iterator it, bool has_thrown) {
    runtime::StepRecord& record = context_.record();
    DecodedRecord dropped;
    dropped.record.effects = std::move(record.effects);
    record.effects.clear();
    record.answers.clear();
    FreeContents(dropped, buffers_);
    const bool is_init = wanted_.input.step == 0;
    if (is_init &&
        (has_thrown || record.verdict != ACTORD_OK || !record.misuse.ok())) {
      processes_.erase(it);  // there is nothing to close
    } else if (!is_init && (has_thrown || !record.misuse.ok() ||
                            record.verdict == ACTORD_STEP_DONE ||
                            record.verdict == ACTORD_STEP_FAIL)) {
      Close(it->second);
      processes_.erase(it);
    }
    context_.End();
  }

  static void Close(Process& process) {
    static_cast<void>(runtime::CallForeign(
        [&] { process.type->close(process.state.get()); }));
  }

  const std::map<std::string, const actord_process_type*> types_;
  runtime::BufferPool pool_;
  runtime::BufferCache buffers_{pool_};
  runtime::RecordedWorld world_;
  DecodedRecord wanted_;
  StepContext context_{world_, buffers_, wanted_.input};
  std::map<Pid, Process> processes_;
  uint64_t lives_ = 0;
  uint64_t calls_ = 0;
};

void AddPlugin(const char* path,
               std::map<std::string, const actord_process_type*>& types) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  const auto* const info =
      static_cast<const actord_plugin_info*>(dlsym(library, "actord_plugin"));
  if (info == nullptr) Fail(std::string(path) + " is no plugin");
  for (size_t i = 0; i < info->process_type_count; ++i) {
    types[info->process_types[i]->name] = info->process_types[i];
  }
}

}  // namespace
}  // namespace actord::replay

int main(int argc, char** argv) {
  using actord::replay::AddPlugin;
  if (argc < 2) actord::replay::Fail("usage: actord_replay FILE [PLUGIN...]");
  std::map<std::string, const actord_process_type*> types;
  for (const actord_process_type* type : actord::replay::kLifeTypes) {
    types[type->name] = type;
  }
  for (int i = 2; i < argc; ++i) AddPlugin(argv[i], types);
  std::ifstream file(argv[1], std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  if (!file) actord::replay::Fail(std::string("cannot read ") + argv[1]);
  actord::replay::Replay(std::move(types)).Run(bytes.str());
  return 0;
}
