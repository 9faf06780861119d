// Calls plugin code and catches its exceptions. No other code does that.
#pragma once

#include <actord/excerpt.h>
#include <actord/text.h>
#include <cxxabi.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "runtime/scheduler/hold.h"

namespace actord::runtime {

// The text of the exception of a call; null: the call returned. (A pointer is a
// register; an optional text would be three words of every step's stack.)
using Thrown = std::unique_ptr<const std::string>;

// A part of each step. performance-notes: Inlined by force.
template <typename Function>
[[gnu::always_inline]] inline Thrown CallForeign(Function&& function) {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled, and must not be stopped here
  } catch (const std::exception& exception) {
    // The text is for people; a page is enough, as for a failure.
    return std::make_unique<const std::string>(
        "threw: " + Excerpt(exception.what(), kMaxErrorTextBytes));
  } catch (...) {
    return std::make_unique<const std::string>(
        "threw something that is no std::exception");
  }
}

// CallForeign on a thread that runs workers and may lose its worker during the
// call. `name`: a literal.
template <typename Function>
[[gnu::always_inline]] inline Thrown CallForeign(Hold& hold,
                                                 const Process& process,
                                                 const char* name,
                                                 Function&& function) {
  hold.Enter(process, name);
  Thrown thrown = CallForeign(std::forward<Function>(function));
  hold.Leave();
  return thrown;
}

}  // namespace actord::runtime
