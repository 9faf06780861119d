// What the handlers in a harness see of the daemon.
//
// Thread-safety: of the test's thread only; another one aborts the test, with a
// text that says what to do about it. Ownership: borrows the world.
#pragma once

#include <actord/abi.h>

#include <thread>

#include "handlers/testing/world.h"

namespace actord::testing {

struct Harness::World::Host : actord_host {
  explicit Host(World& served);

  World& world;
  const std::thread::id thread = std::this_thread::get_id();
};

}  // namespace actord::testing
