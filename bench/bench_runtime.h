// A runtime composed as the daemon composes it: the built-in handlers, the
// benchmark's processes out of a plugin that the loader opened, and the
// daemon's default limits.
//
// Whatever goes wrong ends the program with a message: a benchmark whose
// result is not right has none.
//
// Thread-safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/loader/handler_set.h"
#include "handlers/loader/plugin_loader.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::bench {

// Writes "actord_bench: `message`" to standard error and exits with 1.
[[noreturn]] void Fail(const std::string& message);

// Fails with both numbers unless they are equal.
void Expect(std::string_view what, uint64_t expected, uint64_t actual);

class BenchRuntime {
 public:
  explicit BenchRuntime(const runtime::RuntimeOptions& options);
  // Ends all processes that are left.
  ~BenchRuntime();
  BenchRuntime(const BenchRuntime&) = delete;
  BenchRuntime& operator=(const BenchRuntime&) = delete;

  // Returns when Init has.
  runtime::Pid Submit(std::string_view process_type, std::string_view input);
  // The bytes of its result. Fails unless it ended well, or when meanwhile a
  // message was lost or another process failed.
  std::string Await(const runtime::Pid& pid);
  void Send(const runtime::Pid& to, std::string_view topic,
            std::string_view payload);

  // Fails unless every one of exactly so many messages was delivered and no
  // process failed. To be called before anything is shut down.
  void ExpectMessages(uint64_t count) const;

  runtime::Runtime& runtime() { return *runtime_; }

 private:
  void ExpectNothingLost() const;
  void LoadHandlers();
  void LoadPlugin();

  runtime::Catalog catalog_;
  std::unique_ptr<handlers::Plugin> plugin_;
  std::unique_ptr<runtime::Runtime> runtime_;
  // Destroyed before the host, which is the runtime's; by then no command is
  // running.
  std::vector<handlers::HandlerSet> handlers_;
};

}  // namespace actord::bench
