// The one place where code of plugins is called and where its exceptions end.
#pragma once

#include <actord/excerpt.h>
#include <cxxabi.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "runtime/scheduler/hold.h"

namespace actord::runtime {

// What a call threw, in words; null: it returned. (A pointer is a register; an
// optional text would be three words of every step's stack.)
using Thrown = std::unique_ptr<const std::string>;

template <typename Function>
Thrown CallForeign(Function&& function) {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled; not ours to stop
  } catch (const std::exception& exception) {
    // For people: a page of it is enough, as of a failure.
    return std::make_unique<const std::string>("threw: " +
                                               Excerpt(exception.what(), 4096));
  } catch (...) {
    return std::make_unique<const std::string>(
        "threw something that is no std::exception");
  }
}

// The same from a thread that runs workers, which may lose its worker
// meanwhile. `name`: a literal.
template <typename Function>
Thrown CallForeign(Hold& hold, const Process& process, const char* name,
                   Function&& function) {
  hold.Enter(process, name);
  Thrown thrown = CallForeign(std::forward<Function>(function));
  hold.Leave();
  return thrown;
}

}  // namespace actord::runtime
