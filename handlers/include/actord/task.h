// actord/task.h: Task<T>, a coroutine of a process.
//
//   actord::Task<int> Price(actord::Context& ctx, std::string article) {
//     const auto quote = co_await ctx.Run("shop.quote", article);
//     co_return std::stoi(quote.value().bytes);
//   }
//   ...
//   const int cents = co_await Price(ctx, "book");
//
// A Task starts when it is awaited, and can be awaited once. It ends with its
// value, or with an exception, which co_await throws. If it is destroyed before
// it has ended, the destructors of its live local variables run, and no other
// code of it.
//
// Parameters of a coroutine live in its frame: take them by value. A reference
// or a view (std::string_view, Payload) must refer to data that outlives the
// Task. A lambda that is a coroutine must itself outlive the Task, because the
// captures live in the lambda.
//
// A Task can await only the types of this SDK: Tasks, and the results of
// Context's waits, WhenAll and so on.
//
// Thread-safety: a Task belongs to its process. Ownership: a Task owns its
// frame, which comes from a pool of the thread.
#pragma once

#include <actord/frame_pool.h>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace actord {

// A type that a Task can wait for. It has `Value`, the type of its result, and
// the three functions of an awaiter; await_suspend returns a bool.
template <typename A>
concept Awaitable = requires(A& awaitable, std::coroutine_handle<> handle) {
  typename A::Value;
  { awaitable.await_ready() } -> std::same_as<bool>;
  { awaitable.await_suspend(handle) } -> std::same_as<bool>;
  { awaitable.await_resume() } -> std::same_as<typename A::Value>;
};

namespace detail {

// A reference to an awaitable that lives in the same frame of the caller. (If
// await_transform returned a reference, GCC 12 would move the awaitable.)
template <typename A>
struct AwaiterOf {
  A& awaitable;

  bool await_ready() { return awaitable.await_ready(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    return awaitable.await_suspend(caller);
  }
  typename A::Value await_resume() { return awaitable.await_resume(); }
};

// The common part of the promises of all coroutines of a process.
class PooledPromise {
 public:
  static void* operator new(size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* frame, size_t bytes) noexcept {
    FramePool::Deallocate(frame, bytes);
  }

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

  // Takes temporaries and moved values only: an awaitable cannot be awaited
  // twice.
  template <Awaitable A>
  requires(!std::is_lvalue_reference_v<A>) AwaiterOf<A> await_transform(
      A&& awaitable)
  noexcept { return {awaitable}; }
  // Everything else does not compile. `auto`, so that this error comes first.
  template <typename A>
  auto await_transform(A&&) noexcept {
    static_assert(!Awaitable<std::remove_cvref_t<A>>,
                  "a Task or wait can be awaited once: to await one that has "
                  "a name, write co_await std::move(name)");
    static_assert(Awaitable<std::remove_cvref_t<A>>,
                  "co_await takes a Task, and the waits of actord::Context, "
                  "such as ctx.Run or ctx.Receive");
    return std::suspend_never{};
  }

 protected:
  void Rethrow() {
    if (exception_) std::rethrow_exception(std::move(exception_));
  }

 private:
  std::exception_ptr exception_;
};

// Keeps the value that a coroutine ends with.
template <typename T>
class ResultPromise : public PooledPromise {
 public:
  template <std::convertible_to<T> U = T>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  // Everything else does not compile, with this line first.
  template <typename U>
  requires(!std::convertible_to<U, T>) void return_value(U&&) {
    static_assert(std::convertible_to<U, T>,
                  "co_return takes a value of the Task's type; to return a "
                  "Status or an Error, too, make it a Task<Result<T>>");
  }
  // Returns the value or throws the exception. Call it once, after the end.
  T Take() {
    Rethrow();
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class ResultPromise<void> : public PooledPromise {
 public:
  void return_void() noexcept {}
  void Take() { Rethrow(); }
};

// Owns a coroutine.
template <typename Promise>
class Frame {
 public:
  using Handle = std::coroutine_handle<Promise>;

  Frame() = default;
  explicit Frame(Handle handle) : handle_(handle) {}
  Frame(Frame&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  Frame& operator=(Frame&& other) noexcept {
    if (this != &other) {
      Destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Frame() { Destroy(); }

  [[nodiscard]] Handle handle() const { return handle_; }
  Handle Release() { return std::exchange(handle_, nullptr); }

 private:
  void Destroy() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }

  Handle handle_ = nullptr;
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Task {
  static_assert(!std::is_reference_v<T>,
                "the value type of a Task must not be a reference");

 public:
  using Value = T;

  class promise_type : public detail::ResultPromise<T> {
   public:
    Task get_return_object() {
      return Task(detail::Frame<promise_type>(
          std::coroutine_handle<promise_type>::from_promise(*this)));
    }
    auto final_suspend() noexcept {
      struct Awaiter {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<promise_type> ended) noexcept {
          return ended.promise().continuation_;
        }
        void await_resume() noexcept {}
      };
      return Awaiter{};
    }

   private:
    friend class Task;
    // The coroutine that waits for the end. During the Task's first stretch no
    // coroutine waits.
    std::coroutine_handle<> continuation_ = std::noop_coroutine();
  };

  bool await_ready() noexcept { return false; }
  // Runs the Task up to its first wait. If the Task ends by then, it has not
  // transferred control to its caller, which simply continues. So a loop over
  // such Tasks does not grow the stack, even if the compiler makes no tail
  // calls.
  bool await_suspend(std::coroutine_handle<> caller) {
    const auto handle = frame_.handle();
    handle.resume();
    if (handle.done()) return false;
    handle.promise().continuation_ = caller;
    return true;
  }
  T await_resume() { return frame_.handle().promise().Take(); }

  // For code that runs the Task without co_await.
  detail::Frame<promise_type> TakeFrame() && { return std::move(frame_); }

 private:
  explicit Task(detail::Frame<promise_type> frame) : frame_(std::move(frame)) {}

  detail::Frame<promise_type> frame_;
};

}  // namespace actord
