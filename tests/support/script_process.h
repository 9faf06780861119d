// A process type whose behaviour a test writes as lambdas, and a runtime
// without a daemon for it.
//
// Thread-safety: each Script is used by one process. The test waits before it
// reads the data that the script wrote.
#pragma once

#include <actord/plugin.h>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace actord::testing {

struct Script {
  std::function<Status(std::string_view method)> init = {};
  std::function<void(Events, StepOutput&)> step = {};
  std::function<void()> close = {};
};

// The input of a scripted process: the address of its Script. The Script must
// live until Init has returned, and the captures of its lambdas longer.
inline std::string InputOf(const Script& script) {
  const Script* address = &script;
  return {reinterpret_cast<const char*>(&address), sizeof(address)};
}

class ScriptProcess : public Process {
 public:
  static constexpr const char* kName = "script";
  static constexpr Method kMethods[] = {{"run", nullptr}, {"other", nullptr}};

  Status Init(std::string_view method, const Payload& input) {
    if (input.bytes.size() != sizeof(const Script*)) {
      return {Code::kInvalidArgument, "the input is no script"};
    }
    const Script* script = nullptr;
    std::memcpy(&script, input.bytes.data(), sizeof(script));
    script_ = *script;
    return script_.init ? script_.init(method) : Status();
  }
  void Step(Events events, StepOutput& out) {
    if (script_.step) script_.step(events, out);
  }
  void Close() {
    if (script_.close) script_.close();
  }

 private:
  Script script_;
};

class CancellableScriptProcess : public ScriptProcess {
 public:
  static constexpr const char* kName = "cancellable";
  static constexpr bool kHandlesCancel = true;
};

class TrappingScriptProcess : public ScriptProcess {
 public:
  static constexpr const char* kName = "trapping";
  static constexpr bool kTrapsExits = true;
};

}  // namespace actord::testing
