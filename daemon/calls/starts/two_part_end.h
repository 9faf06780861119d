// The end of a call that waits twice: for the start of a process, and then for
// that process. A start cannot be taken back, so its answer may come when
// nobody waits any more.
//
// Thread-safety: any thread. Ownership: borrows the end of the call until
// Finish, Stop or TakeBack.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/calls/wait_end.h"

namespace actord::daemon {

template <typename Response>
class TwoPartEnd {
 public:
  using TakePartBack = absl::AnyInvocable<void() &&>;

  explicit TwoPartEnd(WaitEnd<Response>* end) : end_(end) {}

  // False: the call is over.
  [[nodiscard]] bool IsOpen() const {
    const absl::MutexLock lock(&mutex_);
    return end_ != nullptr;
  }

  // What `ask` returns; nullopt: the call is over. The call does not end
  // meanwhile.
  template <typename Ask>
  [[nodiscard]] auto WhileOpen(const Ask& ask) const
      -> std::optional<decltype(ask())> {
    const absl::MutexLock lock(&mutex_);
    if (end_ == nullptr) return std::nullopt;
    return ask();
  }

  // WaitEnd::Started, unless the call is over.
  void Started(const std::string& pid) {
    const absl::MutexLock lock(&mutex_);
    if (end_ != nullptr) end_->Started(pid);
  }

  // Finishes the call, unless it is over.
  void Finish(const absl::Status& status, const Response& response) {
    if (const Parts parts = Take(); parts.end != nullptr) {
      parts.end->Finish(status, response);
    }
  }

  // Finishes the call before the answer comes, unless it is over.
  void Stop(const absl::Status& why) {
    Parts parts = Take();
    if (parts.end == nullptr) return;
    if (parts.take_back) std::move(parts.take_back)();
    parts.end->Finish(why, Response());
  }

  // The wait for the process has begun, and `take_back` ends it. If the call is
  // over already, `take_back` is called at once. `attempt`: the number of the
  // wait; a later wait may have begun before.
  void Began(TakePartBack take_back, int attempt = 0) {
    {
      const absl::MutexLock lock(&mutex_);
      if (end_ != nullptr) {
        if (attempt < attempt_) return;
        attempt_ = attempt;
        take_back_ = std::move(take_back);
        return;
      }
    }
    std::move(take_back)();
  }

  // True: the call has not been finished, and will not be.
  bool TakeBack() {
    Parts parts = Take();
    if (parts.end == nullptr) return false;
    if (parts.take_back) std::move(parts.take_back)();
    return true;
  }

 private:
  struct Parts {
    WaitEnd<Response>* end = nullptr;
    TakePartBack take_back;
  };

  Parts Take() {
    const absl::MutexLock lock(&mutex_);
    return {std::exchange(end_, nullptr), std::exchange(take_back_, nullptr)};
  }

  mutable absl::Mutex mutex_;
  WaitEnd<Response>* end_ ABSL_GUARDED_BY(mutex_);  // null: the call is over
  TakePartBack take_back_ ABSL_GUARDED_BY(mutex_);
  int attempt_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::daemon
