// A stack for code that may pause in the middle and continue later, on the
// thread that runs it.
//
// Entered by makecontext, then switched by _setjmp and _longjmp, which make no
// system call, as in QEMU's coroutine-ucontext.c. AddressSanitizer is informed
// of each switch.
//
// Thread-safety: one thread. Ownership: owns its stack. Objects on the stack of
// a fiber that has not ended are not destroyed.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace actord::sim {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Sets the function to run. Precondition: the fiber is new or has ended.
  void Begin(std::function<void()> run);
  // Runs the function until it calls Leave or ends. Call it from the thread's
  // own stack.
  void Resume();
  // Returns to the caller of Resume. Call it from within the fiber.
  void Leave();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  // The C++ library's per-thread state of exceptions in flight.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void Enter(unsigned int high, unsigned int low);
  void Run();
  void SwapExceptionState();
  // Each switch to or from the fiber is between a Begin and an End.
  void BeginSwitchInside();
  void EndSwitchInside();
  void BeginSwitchOutside(bool for_good);
  void EndSwitchOutside();

  std::byte* stack_;
  std::function<void()> run_;
  ucontext_t entry_{};
  ucontext_t entered_from_{};
  jmp_buf inside_;
  jmp_buf outside_;
  bool started_ = false;
  bool ended_ = true;
  ExceptionState exceptions_;
  // AddressSanitizer's data of each side while it does not run, and the
  // position of the stack from which the fiber was entered.
  void* fake_stack_inside_ = nullptr;
  void* fake_stack_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  size_t outside_bytes_ = 0;
};

}  // namespace actord::sim
