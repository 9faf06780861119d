#include "daemon/crash/backtrace_lines.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "daemon/crash/symbol_file.h"

namespace actord::daemon {
namespace {

constexpr char kOwnProgram[] = "/proc/self/exe";
constexpr size_t kMaxObjectPathBytes = 300;

uintptr_t ToNumber(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

// Appends the path of the program's own file.
void AppendOwnPath(CrashText& text) {
  std::array<char, 4096> path;
  const ssize_t bytes = readlink(kOwnProgram, path.data(), path.size());
  text << EndOfPath({path.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0},
                    kMaxObjectPathBytes);
}

bool IsInFile(void* address) {
  dl_find_object found;
  return _dl_find_object(address, &found) == 0;
}

// `address`: the address of an instruction.
void AppendPlaceInFile(void* address, CrashText& text) {
  dl_find_object found;
  if (_dl_find_object(address, &found) != 0) {
    text << "at ";
    text.Hex(ToNumber(address)) << ", which is in no file";
    return;
  }
  const link_map& file = *found.dlfo_link_map;
  // The name of the program itself is empty.
  const bool is_program = file.l_name == nullptr || file.l_name[0] == '\0';
  const uint64_t in_file = ToNumber(address) - file.l_addr;
  text << "at ";
  if (is_program) {
    AppendOwnPath(text);
  } else {
    text << EndOfPath(file.l_name, kMaxObjectPathBytes);
  }
  text << "+";
  text.Hex(in_file);
  const std::optional<Symbol> symbol =
      FindSymbol(is_program ? kOwnProgram : file.l_name, in_file);
  if (!symbol) return;
  text << " (" << symbol->view() << "+";
  text.Hex(symbol->offset) << ")";
}

}  // namespace

void PrepareBacktraces() {
  void* frame = nullptr;
  backtrace(&frame, 1);
}

Backtrace::Backtrace(const Fault& fault) {
  const int taken =
      backtrace(addresses_.data(), static_cast<int>(addresses_.size()));
  const auto begin = addresses_.begin();
  const auto end = begin + std::max(taken, 0);
  const auto found = std::find_if(begin, end, [&fault](void* address) {
    return ToNumber(address) == fault.instruction;
  });
  if (found == end) {
    TakeCallerOf(fault);
    return;
  }
  first_ = static_cast<size_t>(found - begin);
  const auto left = static_cast<size_t>(end - found);
  size_ = std::min(left, kMaxFrames);
  is_cut_ = left > size_ || end == addresses_.end();
}

// The unwinder has not reached the fault, because the thread has jumped to an
// address without code. A call pushes the address after itself onto the stack.
void Backtrace::TakeCallerOf(const Fault& fault) {
  addresses_[0] = reinterpret_cast<void*>(fault.instruction);
  size_ = 1;
#ifdef __x86_64__
  if (fault.stack_pointer == 0 || IsInFile(addresses_[0])) return;
  void* caller = nullptr;
  std::memcpy(&caller, reinterpret_cast<const void*>(fault.stack_pointer),
              sizeof(caller));
  if (!IsInFile(caller)) return;
  addresses_[1] = caller;
  size_ = 2;
#endif
}

void Backtrace::Append(size_t index, CrashText& text) const {
  text << "crash: #" << uint64_t{index} << " ";
  char* address = static_cast<char*>(addresses_[first_ + index]);
  // For a caller, the backtrace has the address after the call, which may
  // belong to the next line or function.
  if (index > 0) --address;
  AppendPlaceInFile(address, text);
}

}  // namespace actord::daemon
