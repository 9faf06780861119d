// What a shutdown wants of the turns.
//
// Thread-safety: written by the shutdown, read by any turn; relaxed, as a
// process whose turn reads an old value is sent an event as well.
#pragma once

#include <atomic>
#include <functional>

namespace actord::runtime {

struct ShutdownOrders {
  // Called after each end while one of the orders is given.
  const std::function<void()> on_end;
  std::atomic<bool> cancel{false};     // processes that begin are cancelled
  std::atomic<bool> terminate{false};  // processes end, wherever they are
};

}  // namespace actord::runtime
