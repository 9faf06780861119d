// Text of limited length, without a heap, and the sentence about the crash and
// its place.
//
// Thread-safety: plain values and functions of their arguments. Everything may
// be called in a signal handler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/crash/running_code.h"

namespace actord::daemon {

// Drops the text for which it has no room.
template <size_t kBytes>
class FixedText {
 public:
  void push_back(char c) {
    if (size_ < kBytes) bytes_[size_++] = c;
  }
  void append(const char* begin, const char* end) {
    for (; begin != end; ++begin) push_back(*begin);
  }
  FixedText& operator<<(std::string_view text) {
    append(text.data(), text.data() + text.size());
    return *this;
  }
  FixedText& operator<<(uint64_t number) { return Digits(number, 10); }
  FixedText& Hex(uint64_t number) {
    *this << "0x";
    return Digits(number, 16);
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  FixedText& Digits(uint64_t number, unsigned radix) {
    std::array<char, 20> digits;
    size_t first = digits.size();
    do {
      digits[--first] = "0123456789abcdef"[number % radix];
      number /= radix;
    } while (number != 0);
    return *this << std::string_view(&digits[first], digits.size() - first);
  }

  std::array<char, kBytes> bytes_;
  size_t size_ = 0;
};

// One message of a report. In JSON a byte becomes at most six, and the line
// with its other members still fits into one write to a pipe (PIPE_BUF).
inline constexpr size_t kCrashTextBytes = 660;
using CrashText = FixedText<kCrashTextBytes>;

// The facts about a fault that a signal handler gets.
struct Fault {
  int number = 0;  // of the signal
  int code = 0;    // si_code
  // The process and user that sent the signal, if IsSent.
  int sender = 0;
  unsigned sender_user = 0;
  uintptr_t address = 0;
  // The registers of the thread; 0: not known on this kind of processor.
  uintptr_t instruction = 0;
  uintptr_t stack_pointer = 0;

  // Another program sent the signal. `self`: the ID of this process.
  [[nodiscard]] bool IsSent(int self) const;
  // The stack of the thread was used up: the address is so near to the stack
  // pointer that it should have been on the stack.
  [[nodiscard]] bool IsStackOverflow() const;
};

// The end of a path, which is more useful than its beginning: at most
// `max_bytes`, without splitting a character.
[[nodiscard]] std::string_view EndOfPath(std::string_view path,
                                         size_t max_bytes);

// "SIGSEGV".
[[nodiscard]] std::string_view SignalName(int number);

// Appends, for example, "crash: SIGSEGV at address 0x0".
void AppendFault(const Fault& fault, int self, CrashText& text);
// Appends, for example, " in plugin "orders" 1.4.0: Step of process type
// "order", PID 1.5f3a90c2.2a.1".
void AppendPlace(const std::optional<runtime::RunningCode>& code,
                 CrashText& text);

}  // namespace actord::daemon
