// The one place where code of plugins is called and where its exceptions end.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "runtime/hold.h"

namespace actord::runtime {

// Calls `function`. nullopt: it returned. Otherwise: what it threw.
template <typename Function>
std::optional<std::string> CallForeign(Function&& function) {
  try {
    std::forward<Function>(function)();
    return std::nullopt;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled; not ours to stop
  } catch (const std::exception& exception) {
    return std::string("threw: ") + exception.what();
  } catch (...) {
    return "threw something that is no std::exception";
  }
}

// The same from a thread that runs workers, which may lose its worker
// meanwhile. `name`: a literal.
template <typename Function>
std::optional<std::string> CallForeign(Hold& hold, const Process& process,
                                       const char* name, Function&& function) {
  hold.Enter(process, name);
  auto thrown = CallForeign(std::forward<Function>(function));
  hold.Leave();
  return thrown;
}

}  // namespace actord::runtime
