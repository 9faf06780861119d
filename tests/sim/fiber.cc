#include "tests/sim/fiber.h"

#include <cxxabi.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "tests/support/sanitizers.h"

namespace actord::sim {
namespace {

constexpr bool kHasAsan = ACTORD_ADDRESS_SANITIZER != 0;

// AddressSanitizer makes stack frames larger.
constexpr size_t kStackBytes = kHasAsan ? 1 << 20 : 256 << 10;

}  // namespace

Fiber::Fiber() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  // A guard page that stops a stack overflow.
  mprotect(memory, 4096, PROT_NONE);
  stack_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

void Fiber::Begin(std::function<void()> run) {
  run_ = std::move(run);
  started_ = false;
  ended_ = false;
  exceptions_ = {};
  fake_stack_inside_ = nullptr;
}

void Fiber::Enter(unsigned int high, unsigned int low) {
  reinterpret_cast<Fiber*>((uint64_t{high} << 32) | low)->Run();
}

void Fiber::BeginSwitchInside() {
  if constexpr (kHasAsan) {
    __sanitizer_start_switch_fiber(&fake_stack_outside_, stack_, kStackBytes);
  }
}

void Fiber::EndSwitchInside() {
  if constexpr (kHasAsan) {
    __sanitizer_finish_switch_fiber(fake_stack_inside_, &outside_bottom_,
                                    &outside_bytes_);
  }
}

void Fiber::BeginSwitchOutside(bool for_good) {
  if constexpr (kHasAsan) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_inside_,
                                   outside_bottom_, outside_bytes_);
  }
}

void Fiber::EndSwitchOutside() {
  if constexpr (kHasAsan) {
    __sanitizer_finish_switch_fiber(fake_stack_outside_, nullptr, nullptr);
  }
}

void Fiber::Run() {
  EndSwitchInside();
  run_();
  run_ = nullptr;
  ended_ = true;
  BeginSwitchOutside(/*for_good=*/true);
  _longjmp(outside_, 1);
}

void Fiber::SwapExceptionState() {
  auto* of_thread = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  std::swap(*of_thread, exceptions_);
}

void Fiber::Resume() {
  SwapExceptionState();
  BeginSwitchInside();
  if (_setjmp(outside_) == 0) {
    if (started_) _longjmp(inside_, 1);
    started_ = true;
    getcontext(&entry_);
    entry_.uc_stack.ss_sp = stack_;
    entry_.uc_stack.ss_size = kStackBytes;
    entry_.uc_link = nullptr;
    const auto self = reinterpret_cast<uint64_t>(this);
    makecontext(&entry_, reinterpret_cast<void (*)()>(&Enter), 2,
                static_cast<unsigned int>(self >> 32),
                static_cast<unsigned int>(self));
    swapcontext(&entered_from_, &entry_);
  }
  EndSwitchOutside();
  SwapExceptionState();
}

void Fiber::Leave() {
  BeginSwitchOutside(/*for_good=*/false);
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
  EndSwitchInside();
}

}  // namespace actord::sim
