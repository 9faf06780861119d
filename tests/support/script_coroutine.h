// A coroutine process whose body a test writes as a lambda.
//
// Thread-safety: one process at a time. Ownership: the body is static, so that
// its captures outlive the coroutine. The test resets it.
#pragma once

#include <actord/coroutine.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace actord::testing {

class ScriptCoroutine : public CoroutineProcess {
 public:
  static constexpr const char* kName = "script_coroutine";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr size_t kMaxQueuedMessages = 3;
  static constexpr size_t kMaxQueuedBytes = 1000;

  using Body = std::function<Task<Result<>>(Context& ctx)>;
  static inline Body body;

  Task<Result<>> Main(Context& ctx) { return body(ctx); }
};

// Records its destruction.
class Destroyed {
 public:
  Destroyed(std::vector<std::string>& trace, std::string name)
      : trace_(trace), name_(std::move(name)) {}
  Destroyed(const Destroyed&) = delete;
  Destroyed& operator=(const Destroyed&) = delete;
  ~Destroyed() { trace_.push_back("~" + name_); }

 private:
  std::vector<std::string>& trace_;
  std::string name_;
};

}  // namespace actord::testing
