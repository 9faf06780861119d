// actord/result.h: errors as values (Result) and as exceptions (Failure).
//
// Thread-safety: plain values. Ownership: each owns its content; error()
// returns a view.
#pragma once

#include <actord/owned.h>
#include <actord/values.h>

#include <concepts>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace actord {

// An error as an exception. Uncaught in Main, it fails the process with this
// code and text.
class Failure : public std::exception {
 public:
  explicit Failure(Status status) : status_(std::move(status)) {}
  Failure(Code code, std::string message) : status_(code, std::move(message)) {}

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const char* what() const noexcept override {
    return status_.message().c_str();
  }

 private:
  Status status_;
};

// Thrown by every wait of a process that is asked to end. The message is the
// reason of the cancel. Uncaught in Main, it ends the process as cancelled.
class Cancelled : public Failure {
 public:
  explicit Cancelled(std::string reason)
      : Failure(Code::kCancelled, std::move(reason)) {}
};

// A value, or an error.
template <typename T = OwnedPayload>
class [[nodiscard]] Result {
 public:
  using ValueType = T;

  Result() requires std::default_initializable<T>
  = default;
  template <typename U>
  requires(std::convertible_to<U, T> &&
           !std::same_as<std::remove_cvref_t<U>, Result> &&
           !std::convertible_to<U, Status>)
      Result(U&& value)  // NOLINT: implicit by intent
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  // kOk is not an error; it is read as kUnknown.
  Result(Status status)  // NOLINT: implicit by intent
      : state_(std::in_place_index<1>,
               status.ok() ? Status(Code::kUnknown, status.message())
                           : std::move(status)) {}
  Result(const Error& error)  // NOLINT: implicit by intent
      : Result(Status(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  // False if there is a value. Otherwise a view of this Result.
  [[nodiscard]] Error error() const {
    if (ok()) return {};
    const Status& status = std::get<1>(state_);
    return {status.code(), status.message(), status.holder()};
  }
  [[nodiscard]] Status status() const {
    return ok() ? Status() : std::get<1>(state_);
  }

  // The value. Throws the error as a Failure if there is none.
  T& value() & {
    Check();
    return std::get<0>(state_);
  }
  const T& value() const& {
    Check();
    return std::get<0>(state_);
  }
  T value() && {
    Check();
    return std::get<0>(std::move(state_));
  }
  // Precondition: ok().
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

 private:
  void Check() const {
    if (!ok()) throw Failure(std::get<1>(state_));
  }

  std::variant<T, Status> state_;
};

}  // namespace actord
