// actord/task_group.h: tasks whose number is not known beforehand, such as one
// for each message, beside each other in one process.
//
//   actord::Task<> Main(actord::Context& ctx) {
//     actord::TaskGroup group(ctx, 8);  // at most 8 run at once
//     for (int i = 0; i < 100; ++i) co_await group.Start(Job(ctx, i));
//     co_await group.Wait();
//   }
//
// A task begins inside Start, and runs up to its first wait. Then it resumes
// when its event arrives. Frames of ended tasks are freed at once.
//
// Failure: if a task throws, Start begins no more tasks and throws the first
// exception. Wait destroys the other tasks where they stand, as WhenAny does,
// and throws it, too. So a task whose failure must not end the others catches
// it, or returns a Result.
//
// Cancel: when the process is asked to end, the waits of every task throw
// Cancelled, once, and Wait waits until all have cleaned up. Then it throws
// Cancelled, unless each task has caught it. Wait does the same if a task fails
// meanwhile.
//
// If a group is destroyed, so are its tasks, where they stand: only destructors
// run, and commands and calls that they wait for are cancelled. A coroutine
// whose tasks need time to clean up catches Cancelled, and waits for them
// behind the catch block.
//
// A task may start others in its group. If all tasks of a group with a limit do
// so at the limit, they wait for each other for ever. Wait must not be called
// by a task of the group itself, which it would wait for.
//
// Thread-safety: belongs to its process. Ownership: a group owns its tasks. It
// borrows the context, and must outlive the waits on it.
#pragma once

#include <actord/context.h>
#include <actord/result.h>
#include <actord/task.h>
#include <actord/waiting.h>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

namespace actord {

class TaskGroup;

namespace detail {

// A task of a group; its promise is an element of the group's list.
class GroupTask {
 public:
  class promise_type : public PooledPromise {
   public:
    GroupTask get_return_object() { return GroupTask(this); }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {
      error = std::current_exception();
      try {
        throw;
      } catch (const Cancelled&) {
        is_cancelled = true;
      } catch (...) {
      }
    }
    auto final_suspend() noexcept {
      struct Awaiter {
        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
          End(ended.promise());
        }
        void await_resume() noexcept {}
      };
      return Awaiter{};
    }

    TaskGroup* group = nullptr;
    promise_type* next = nullptr;
    promise_type* previous = nullptr;
    std::exception_ptr error;
    bool is_cancelled = false;
  };

  // Not yet begun; the caller owns the frame.
  promise_type* const promise;

 private:
  explicit GroupTask(promise_type* made) : promise(made) {}
  static inline void End(promise_type& ended) noexcept;
};

inline GroupTask MakeGroupTask(Task<> task) { co_await std::move(task); }

}  // namespace detail

// Returned by TaskGroup::Start.
class [[nodiscard]] StartAwaiter : private detail::Waiter {
 public:
  using Value = void;

  StartAwaiter(StartAwaiter&&) = default;
  inline ~StartAwaiter();

  inline bool await_ready();
  inline bool await_suspend(std::coroutine_handle<> caller);
  inline void await_resume();

 private:
  friend class TaskGroup;

  StartAwaiter(TaskGroup& group, Task<> task)
      : group_(group), task_(std::move(task)) {}

  TaskGroup& group_;
  Task<> task_;
  // The group keeps a place for the task.
  bool has_place_ = false;
};

// Returned by TaskGroup::Wait.
class [[nodiscard]] WaitAwaiter : private detail::Waiter {
 public:
  using Value = void;

  WaitAwaiter(WaitAwaiter&&) = default;

  inline bool await_ready();
  inline bool await_suspend(std::coroutine_handle<> caller);
  inline void await_resume();

 private:
  friend class TaskGroup;

  explicit WaitAwaiter(TaskGroup& group) : group_(group) {}

  TaskGroup& group_;
};

class TaskGroup {
 public:
  static constexpr size_t kNoLimit = static_cast<size_t>(-1);

  // `limit`: how many tasks may run at once; 0 counts as 1.
  explicit TaskGroup(Context& ctx, size_t limit = kNoLimit)
      : context_(ctx), limit_(limit == 0 ? 1 : limit) {}
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup() {
    DestroyTasks();
    FreeEnded();
  }

  // Waits while `limit` tasks run, in the order of the calls. Then begins the
  // task. Throws the exception of the first task that has failed or was
  // cancelled, also if it is this one.
  StartAwaiter Start(Task<> task) { return {*this, std::move(task)}; }
  // Waits until no task runs, or until one has failed. Throws its exception, as
  // described above. After that the group is as a new one.
  WaitAwaiter Wait() { return WaitAwaiter(*this); }
  // How many tasks have begun and have not ended.
  [[nodiscard]] size_t running() const { return running_; }

 private:
  using Promise = detail::GroupTask::promise_type;
  friend class StartAwaiter;
  friend class WaitAwaiter;
  friend class detail::GroupTask;

  [[nodiscard]] bool HasPlace() const { return running_ + promised_ < limit_; }
  [[nodiscard]] bool BeginsNoMore() const { return failure_ || cancel_; }
  // Whether Wait has nothing to wait for. In a cancel all tasks clean up.
  [[nodiscard]] bool IsDecided() const {
    return running_ == 0 || (failure_ && !context_.cancelled());
  }
  bool MustCancel() { return context_.MustCancel(); }
  [[noreturn]] void ThrowCancelled() const { context_.ThrowCancelled(); }

  void ThrowFailure() const {
    if (failure_) std::rethrow_exception(failure_);
    if (cancel_) std::rethrow_exception(cancel_);
  }
  void Begin(Task<> task) {
    ThrowFailure();
    Promise& promise = *detail::MakeGroupTask(std::move(task)).promise;
    promise.group = this;
    promise.previous = last_;
    (last_ == nullptr ? first_ : last_->next) = &promise;
    last_ = &promise;
    ++running_;
    std::coroutine_handle<Promise>::from_promise(promise).resume();
    FreeEnded();
    ThrowFailure();
  }
  // Called when the task has ended, and is still on the stack. So its frame is
  // freed later.
  void OnEnd(Promise& ended) noexcept {
    FreeEnded();
    Remove(ended);
    ended_ = &ended;
    if (ended.error) {
      std::exception_ptr& kept = ended.is_cancelled ? cancel_ : failure_;
      if (!kept) kept = std::move(ended.error);
    }
    WakeStarts();
    if (!IsDecided()) return;
    while (detail::Waiter* const waiter = waits_.PopFront()) {
      context_.ready_.PushBack(*waiter);
    }
  }
  // The coroutines resume when the current event has been handled.
  void WakeStarts() noexcept {
    while (!starts_.empty() && (BeginsNoMore() || HasPlace())) {
      detail::Waiter& waiter = *starts_.PopFront();
      static_cast<StartAwaiter&>(waiter).has_place_ = true;
      ++promised_;
      context_.ready_.PushBack(waiter);
    }
  }
  void GiveUpPlace() noexcept {
    --promised_;
    WakeStarts();
  }
  void EndWait() {
    FreeEnded();
    std::exception_ptr failure = std::exchange(failure_, nullptr);
    std::exception_ptr cancel = std::exchange(cancel_, nullptr);
    if (failure) {
      DestroyTasks();
      std::rethrow_exception(std::move(failure));
    }
    if (cancel) std::rethrow_exception(std::move(cancel));
  }

  void Remove(Promise& task) noexcept {
    (task.previous == nullptr ? first_ : task.previous->next) = task.next;
    (task.next == nullptr ? last_ : task.next->previous) = task.previous;
    --running_;
  }
  // Oldest first.
  void DestroyTasks() noexcept {
    while (first_ != nullptr) {
      Promise& task = *first_;
      Remove(task);
      std::coroutine_handle<Promise>::from_promise(task).destroy();
    }
  }
  void FreeEnded() noexcept {
    if (ended_ == nullptr) return;
    Promise& task = *std::exchange(ended_, nullptr);
    std::coroutine_handle<Promise>::from_promise(task).destroy();
  }

  Context& context_;
  const size_t limit_;
  size_t running_ = 0;
  // Places that are kept for starts that are about to resume.
  size_t promised_ = 0;
  // The running tasks, in the order of their begin.
  Promise* first_ = nullptr;
  Promise* last_ = nullptr;
  // A task that has ended, whose frame is not freed yet.
  Promise* ended_ = nullptr;
  detail::WaiterList starts_;
  detail::WaiterList waits_;
  std::exception_ptr failure_;
  std::exception_ptr cancel_;
};

inline void detail::GroupTask::End(promise_type& ended) noexcept {
  ended.group->OnEnd(ended);
}

inline StartAwaiter::~StartAwaiter() {
  if (has_place_) group_.GiveUpPlace();
}
inline bool StartAwaiter::await_ready() {
  if (group_.MustCancel()) return cancelled = true;
  return group_.BeginsNoMore() || group_.HasPlace();
}
inline bool StartAwaiter::await_suspend(std::coroutine_handle<> caller) {
  handle = caller;
  group_.starts_.PushBack(*this);
  return true;
}
inline void StartAwaiter::await_resume() {
  if (cancelled) [[unlikely]]
    group_.ThrowCancelled();
  if (std::exchange(has_place_, false)) --group_.promised_;
  group_.Begin(std::move(task_));
}

inline bool WaitAwaiter::await_ready() { return group_.IsDecided(); }
inline bool WaitAwaiter::await_suspend(std::coroutine_handle<> caller) {
  handle = caller;
  group_.waits_.PushBack(*this);
  return true;
}
inline void WaitAwaiter::await_resume() {
  group_.EndWait();
  if (cancelled) [[unlikely]]
    group_.ThrowCancelled();
}

}  // namespace actord
