// The daemon as seen by the handlers in a harness.
//
// Thread-safety: the test's thread only. A call on another thread aborts the
// test with a text that says what to do. Ownership: borrows the world.
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
