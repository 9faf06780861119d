// A stack of its own for code that may stop in the middle and go on later, on
// the thread that runs it.
//
// Entered by makecontext, afterwards switched by _setjmp and _longjmp, which
// make no system call: as QEMU's coroutine-ucontext.c does it. AddressSanitizer
// is told of each switch.
//
// Thread-safety: one thread. Ownership: owns its stack; a fiber that has not
// ended leaves what lies on it.
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

  // Gives it something to run. Precondition: it is fresh or has ended.
  void Begin(std::function<void()> run);
  // Runs it until it calls Leave or ends. From the thread's own stack.
  void Resume();
  // Back to whoever called Resume. From within the fiber.
  void Leave();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  // What the C++ library keeps for each thread about exceptions under way.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void Enter(unsigned int high, unsigned int low);
  void Run();
  void SwapExceptionState();
  // Each switch to and from the fiber lies between a Begin and an End.
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
  // AddressSanitizer's: of either side while it does not run, and where the
  // stack is from which the fiber was entered.
  void* fake_stack_inside_ = nullptr;
  void* fake_stack_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  size_t outside_bytes_ = 0;
};

}  // namespace actord::sim
