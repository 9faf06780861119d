#include "daemon/crash/crash_text.h"

#include <actord/text.h>

#include <csignal>

namespace actord::daemon {
namespace {

// The maximum distance of a stack overflow from the stack pointer: a function
// touches the new part of its stack first at the end that is near to the stack
// pointer. Memory so near is otherwise accessible.
constexpr uintptr_t kNearBytes = uintptr_t{64} << 10;

// Limits that leave room for the PID at the end. A name has at most
// kMaxNameBytes.
constexpr size_t kMaxVersionBytes = 64;
constexpr size_t kMaxFileBytes = 256;

void AppendQuoted(std::string_view text, CrashText& out) {
  out << "\"" << text << "\"";
}

void AppendPid(const runtime::Pid& pid, CrashText& text) {
  std::array<char, runtime::kPidTextMaxBytes> digits;
  const size_t size = runtime::CopyPidText(ToAbi(pid), digits.data());
  text << std::string_view(digits.data(), size);
}

}  // namespace

bool Fault::IsSent(int self) const {
  // The kernel's own faults have positive codes.
  return code <= 0 && sender != self;
}

bool Fault::IsStackOverflow() const {
  const bool has_address =
      number == SIGSEGV && code > 0 && code != SI_KERNEL && stack_pointer != 0;
  return has_address && address + kNearBytes >= stack_pointer &&
         address <= stack_pointer + kNearBytes;
}

std::string_view EndOfPath(std::string_view path, size_t max_bytes) {
  if (path.size() <= max_bytes) return path;
  path.remove_prefix(path.size() - max_bytes);
  while (!path.empty() && ContinuesUtf8(path[0])) path.remove_prefix(1);
  return path;
}

std::string_view SignalName(int number) {
  switch (number) {
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGSEGV:
      return "SIGSEGV";
    default:
      return "a signal";
  }
}

void AppendFault(const Fault& fault, int self, CrashText& text) {
  text << "crash: " << SignalName(fault.number);
  if (fault.IsSent(self)) {
    if (fault.sender == 0) {
      text << " sent by a process of another PID namespace";
    } else {
      text << " sent by process " << static_cast<uint64_t>(fault.sender)
           << " of user " << uint64_t{fault.sender_user};
    }
    return;
  }
  if (fault.code <= 0) return;
  if (fault.code == SI_KERNEL) {
    text << " at an unknown address";
    return;
  }
  const bool is_of_code = fault.number == SIGFPE || fault.number == SIGILL;
  text << (is_of_code ? " at instruction " : " at address ");
  text.Hex(fault.address);
  if (fault.IsStackOverflow()) text << " (stack overflow)";
}

void AppendPlace(const std::optional<runtime::RunningCode>& code,
                 CrashText& text) {
  if (!code) {
    text << " outside of plugin code";
    return;
  }
  if (!code->file.empty()) {
    text << " in plugin file ";
    AppendQuoted(EndOfPath(code->file, kMaxFileBytes), text);
  } else {
    text << " in plugin ";
    AppendQuoted(code->plugin, text);
    text << " " << CutUtf8(code->version, kMaxVersionBytes);
  }
  text << ": " << code->function;
  if (!code->command.empty()) {
    text << " of command ";
    AppendQuoted(code->command, text);
  }
  if (!code->process_type.empty()) {
    text << (code->command.empty() ? " of" : ",") << " process type ";
    AppendQuoted(code->process_type, text);
  }
  if (!code->pid.empty()) {
    text << ", PID ";
    AppendPid(code->pid, text);
  }
}

}  // namespace actord::daemon
