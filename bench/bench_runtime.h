// A runtime composed like the daemon's: the built-in handlers, the benchmark's
// processes from a plugin that the loader opened, and the daemon's default
// limits.
//
// Every error ends the program with a message: a benchmark with a wrong result
// has no figures.
//
// Thread-safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"
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
  explicit BenchRuntime(const BenchRuntimeOptions& options);
  // Ends all remaining processes.
  ~BenchRuntime();
  BenchRuntime(const BenchRuntime&) = delete;
  BenchRuntime& operator=(const BenchRuntime&) = delete;

  // Returns when Init has returned.
  runtime::Pid Submit(std::string_view process_type, std::string_view input,
                      bool durable = false);
  // Returns the bytes of the process's result. Fails if the process failed, or
  // if meanwhile a message was lost or another process failed.
  std::string Await(const runtime::Pid& pid);
  void Send(const runtime::Pid& to, std::string_view topic,
            std::string_view payload);

  // Fails unless exactly `count` messages were sent, all were delivered, and no
  // process failed. Call it before any shutdown.
  void ExpectMessages(uint64_t count) const;

  runtime::Runtime& runtime() { return *runtime_; }

 private:
  class OwnStore;

  void ExpectNothingLost() const;
  void LoadHandlers();
  void LoadPlugin();

  // Null: the runtime has no store, or not one of its own.
  std::unique_ptr<OwnStore> own_store_;
  runtime::Catalog catalog_;
  std::unique_ptr<handlers::Plugin> plugin_;
  std::unique_ptr<runtime::Runtime> runtime_;
  // Destroyed before the host, which the runtime owns. No command is running by
  // then.
  std::vector<handlers::HandlerSet> handlers_;
};

}  // namespace actord::bench
