// actord/when.h: wait for several things at once.
//
//   auto [price, stock] = co_await WhenAll(ctx.Run("shop.price", article),
//                                          ctx.Run("shop.stock", article));
//   auto first = co_await WhenAny(ctx.Receive("paid"), ctx.Receive("refused"));
//   if (first.index() == 0) Ship(std::get<0>(first));
//
// Each part runs as a coroutine of its own. The parts start in the order of the
// arguments, and each runs up to its first wait. Then each resumes when its
// event arrives. A part without a result yields a std::monostate.
//
// Thread-safety: belongs to its process. Ownership: owns its parts and destroys
// them before it returns the result.
#pragma once

#include <actord/context.h>
#include <actord/result.h>
#include <actord/task.h>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace actord {

namespace detail {

template <typename T>
using NonVoid = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// Decides when the coroutine that waits for several branches resumes.
struct BranchGroup {
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Branches that have not ended.
  size_t left;
  // True for WhenAny: the first branch to end is enough.
  bool first_one;
  size_t winner = kNone;
  // A branch was cancelled in its first stretch.
  bool cancelled_early = false;
  // Null while the branches run their first stretch.
  std::coroutine_handle<> caller = nullptr;

  [[nodiscard]] bool decided() const { return left == 0 || winner != kNone; }

  // Returns the coroutine to run next. A cancelled branch does not win, so that
  // the other branches clean up as well.
  std::coroutine_handle<> Ended(size_t index, bool cancelled) {
    const bool was_decided = decided();
    --left;
    if (first_one && !cancelled && winner == kNone) winner = index;
    if (cancelled && !caller) cancelled_early = true;
    const bool goes_on = caller && !was_decided && decided();
    return goes_on ? caller : std::noop_coroutine();
  }
};

// One part of a WhenAll or WhenAny.
template <typename T>
class Branch {
 public:
  class promise_type : public ResultPromise<T> {
   public:
    Branch get_return_object() {
      return Branch(Frame<promise_type>(
          std::coroutine_handle<promise_type>::from_promise(*this)));
    }
    void unhandled_exception() noexcept {
      PooledPromise::unhandled_exception();
      try {
        throw;
      } catch (const Cancelled&) {
        cancelled_ = true;
      } catch (...) {
      }
    }
    auto final_suspend() noexcept {
      struct Awaiter {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<promise_type> ended) noexcept {
          const promise_type& promise = ended.promise();
          return promise.group_->Ended(promise.index_, promise.cancelled_);
        }
        void await_resume() noexcept {}
      };
      return Awaiter{};
    }

   private:
    friend class Branch;
    BranchGroup* group_ = nullptr;
    size_t index_ = 0;
    bool cancelled_ = false;
  };

  void Start(BranchGroup& group, size_t index) {
    promise_type& promise = frame_.handle().promise();
    promise.group_ = &group;
    promise.index_ = index;
    frame_.handle().resume();
  }
  // Returns its result or throws its exception. Call it once, after its end.
  NonVoid<T> Take() {
    if constexpr (std::is_void_v<T>) {
      frame_.handle().promise().Take();
      return {};
    } else {
      return frame_.handle().promise().Take();
    }
  }

 private:
  explicit Branch(Frame<promise_type> frame) : frame_(std::move(frame)) {}

  Frame<promise_type> frame_;
};

template <Awaitable A>
Branch<typename A::Value> MakeBranch(A awaitable) {
  co_return co_await std::move(awaitable);
}

// A fixed number of branches.
template <typename... A>
class BranchTuple {
 public:
  using All = std::tuple<NonVoid<typename A::Value>...>;
  using Any = std::variant<NonVoid<typename A::Value>...>;

  explicit BranchTuple(A... parts)
      : branches_(MakeBranch(std::move(parts))...) {}

  static constexpr size_t size() { return sizeof...(A); }
  void Start(size_t index, BranchGroup& group) {
    Visit(index, [&](auto& branch, auto) { branch.Start(group, index); });
  }
  All TakeAll() {
    // Braces evaluate in order: the exception of the first branch is thrown
    // first.
    return std::apply([](auto&... branch) { return All{branch.Take()...}; },
                      branches_);
  }
  Any TakeOne(size_t index) {
    std::optional<Any> any;
    Visit(index, [&](auto& branch, auto constant) {
      any.emplace(std::in_place_index<constant()>, branch.Take());
    });
    return *std::move(any);
  }

 private:
  template <typename Function, size_t... I>
  void Visit(size_t index, const Function& function,
             std::index_sequence<I...>) {
    ((I == index ? function(std::get<I>(branches_),
                            std::integral_constant<size_t, I>())
                 : void()),
     ...);
  }
  template <typename Function>
  void Visit(size_t index, const Function& function) {
    Visit(index, function, std::index_sequence_for<A...>());
  }

  std::tuple<Branch<typename A::Value>...> branches_;
};

// Any number of branches of one type.
template <typename A>
class BranchVector {
 public:
  using All = std::vector<NonVoid<typename A::Value>>;

  explicit BranchVector(std::vector<A> parts) {
    branches_.reserve(parts.size());
    for (A& part : parts) branches_.push_back(MakeBranch(std::move(part)));
  }

  [[nodiscard]] size_t size() const { return branches_.size(); }
  void Start(size_t index, BranchGroup& group) {
    branches_[index].Start(group, index);
  }
  All TakeAll() {
    All all;
    all.reserve(branches_.size());
    for (auto& branch : branches_) all.push_back(branch.Take());
    return all;
  }

 private:
  std::vector<Branch<typename A::Value>> branches_;
};

template <typename Branches>
class GroupAwaiter {
 public:
  GroupAwaiter(Branches branches, bool first_one)
      : branches_(std::move(branches)),
        group_{.left = branches_.size(), .first_one = first_one} {}
  bool await_ready() const { return branches_.size() == 0; }
  bool await_suspend(std::coroutine_handle<> caller) {
    for (size_t i = 0; i < branches_.size(); ++i) {
      branches_.Start(i, group_);
      if (group_.winner != BranchGroup::kNone) break;
      if (group_.cancelled_early) {
        // A cancel was held back until this wait. The remaining branches never
        // start: the caller throws the exception of the cancelled branch before
        // it reaches their results.
        group_.left -= branches_.size() - i - 1;
        break;
      }
    }
    if (group_.decided()) return false;
    group_.caller = caller;
    return true;
  }

 protected:
  [[nodiscard]] size_t winner() const { return group_.winner; }
  // Moves the branches to the caller, which destroys them before its own caller
  // resumes.
  Branches TakeBranches() { return std::move(branches_); }

 private:
  Branches branches_;
  BranchGroup group_;
};

template <typename Branches>
class [[nodiscard]] AllAwaiter : public GroupAwaiter<Branches> {
 public:
  using Value = typename Branches::All;

  explicit AllAwaiter(Branches branches)
      : GroupAwaiter<Branches>(std::move(branches), /*first_one=*/false) {}
  Value await_resume() { return this->TakeBranches().TakeAll(); }
};

template <typename Branches>
class [[nodiscard]] AnyAwaiter : public GroupAwaiter<Branches> {
 public:
  using Value = typename Branches::Any;

  explicit AnyAwaiter(Branches branches)
      : GroupAwaiter<Branches>(std::move(branches), /*first_one=*/true) {}
  Value await_resume() {
    // Without a winner all branches were cancelled, and the first one throws
    // Cancelled.
    const bool won = this->winner() != BranchGroup::kNone;
    return this->TakeBranches().TakeOne(won ? this->winner() : 0);
  }
};

template <typename T>
struct TriedValue {
  using Type = Result<NonVoid<T>>;
};
template <typename T>
struct TriedValue<Result<T>> {
  using Type = Result<T>;
};

}  // namespace detail

// Waits for all parts. Result: a tuple of their results. If parts throw,
// WhenAll throws after all parts have ended; it throws the exception of the
// first of them in the order of the arguments.
template <Awaitable... A>
detail::AllAwaiter<detail::BranchTuple<A...>> WhenAll(A... parts) {
  static_assert(sizeof...(A) > 0);
  return detail::AllAwaiter(detail::BranchTuple<A...>(std::move(parts)...));
}
// For a vector of parts. Result: a vector of their results.
template <Awaitable A>
detail::AllAwaiter<detail::BranchVector<A>> WhenAll(std::vector<A> parts) {
  return detail::AllAwaiter(detail::BranchVector<A>(std::move(parts)));
}

// Waits for the first part to end. Result: a variant with that part's result,
// or its exception. The other parts are destroyed where they stand: only their
// destructors run. Commands and calls that they wait for are cancelled. A
// message that a part waited for stays for the next Receive.
//
// When the process is asked to end, every part is cancelled. WhenAny throws
// Cancelled after the last part has cleaned up, unless one of them ends in
// another way.
template <Awaitable... A>
detail::AnyAwaiter<detail::BranchTuple<A...>> WhenAny(A... parts) {
  static_assert(sizeof...(A) > 0);
  return detail::AnyAwaiter(detail::BranchTuple<A...>(std::move(parts)...));
}

// Turns an exception into an error of a Result: a Failure into its code and
// text, Cancelled into CANCELLED. Other exceptions pass through.
template <Awaitable A>
class [[nodiscard]] TryAwaiter {
 public:
  using Value = typename detail::TriedValue<typename A::Value>::Type;

  explicit TryAwaiter(A inner) : inner_(std::move(inner)) {}

  bool await_ready() { return inner_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    return inner_.await_suspend(caller);
  }
  Value await_resume() {
    try {
      if constexpr (std::is_void_v<typename A::Value>) {
        inner_.await_resume();
        return std::monostate();
      } else {
        return inner_.await_resume();
      }
    } catch (const Failure& failure) {
      return failure.status();
    }
  }

 private:
  A inner_;
};

// Waits for `awaitable` and returns its error as a Result. Use it to wait after
// an error, because co_await cannot stand in a catch block:
//
//   const auto paid = co_await Try(Pay(ctx));
//   if (!paid.ok()) co_await ctx.Shield(GiveBack(ctx));
template <Awaitable A>
TryAwaiter<A> Try(A awaitable) {
  return TryAwaiter<A>(std::move(awaitable));
}

template <Awaitable A>
class [[nodiscard]] TimeoutAwaiter
    : private detail::AnyAwaiter<detail::BranchTuple<A, SleepAwaiter>> {
  using Base = detail::AnyAwaiter<detail::BranchTuple<A, SleepAwaiter>>;
  static constexpr bool kHasValue = !std::is_void_v<typename A::Value>;

 public:
  using Value = std::conditional_t<
      kHasValue, std::optional<detail::NonVoid<typename A::Value>>, bool>;

  TimeoutAwaiter(A awaitable, SleepAwaiter sleep)
      : Base(detail::BranchTuple<A, SleepAwaiter>(std::move(awaitable),
                                                  std::move(sleep))) {}

  using Base::await_ready;
  using Base::await_suspend;
  Value await_resume() {
    auto first = Base::await_resume();
    if constexpr (kHasValue) {
      if (first.index() == 1) return std::nullopt;
      return std::get<0>(std::move(first));
    } else {
      return first.index() == 0;
    }
  }
};

template <Awaitable A>
TimeoutAwaiter<A> Context::WithTimeout(A awaitable, Duration duration) {
  return {std::move(awaitable), Sleep(duration)};
}

}  // namespace actord
