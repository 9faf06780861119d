// The trace for which the code on this thread acts.
//
//   ActingTrace  a call from outside, while its request is carried out
//   StepTrace    a call of Init or Step of a process, until its effects are
//                applied
//
// Thread-safety: each thread has its own. Ownership: borrows the context.
#pragma once

#include <cstdint>

#include "runtime/tracing/trace_context.h"

namespace actord::runtime {

// The trace of a call from outside, while this object lives.
class ActingTrace {
 public:
  // Null: the call has no trace.
  explicit ActingTrace(const TraceContext* trace) : outer_(here_) {
    here_ = trace;
  }
  ~ActingTrace() { here_ = outer_; }
  ActingTrace(const ActingTrace&) = delete;
  ActingTrace& operator=(const ActingTrace&) = delete;

  // Null: there is no call, or it has no trace.
  [[nodiscard]] static const TraceContext* Here() { return here_; }

 private:
  static inline thread_local constinit const TraceContext* here_ = nullptr;
  const TraceContext* const outer_;
};

// Names a process of this thread: its slot and its generation.
using TracedProcess = uint64_t;

// The trace of the last traced call of a process on this thread. It stays until
// the next call that is traced or follows a traced one, so a reader that does
// not run within a step asks for a process.
class StepTrace {
 public:
  // For threads that run steps. Null: the call is not traced.
  static void Set(TracedProcess process, const TraceContext* trace) {
    process_ = process;
    here_ = trace;
  }
  // Null: the last step of this thread is not a traced one of `process`.
  [[nodiscard]] static const TraceContext* Of(TracedProcess process) {
    return here_ != nullptr && process_ == process ? here_ : nullptr;
  }

 private:
  static inline thread_local constinit const TraceContext* here_ = nullptr;
  static inline thread_local constinit TracedProcess process_ = 0;
};

}  // namespace actord::runtime
