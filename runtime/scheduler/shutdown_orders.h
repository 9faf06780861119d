// The orders of a shutdown to the turns.
//
// Thread-safety: written by the shutdown, read by any turn. Relaxed: if a turn
// reads an old value, its process also gets an event.
#pragma once

#include <atomic>
#include <functional>

namespace actord::runtime {

struct ShutdownOrders {
  // Called after each end while one of the orders is given.
  const std::function<void()> on_end;
  std::atomic<bool> cancel{false};     // new processes are cancelled
  std::atomic<bool> terminate{false};  // processes end in their next turn
  std::atomic<bool> freeze{false};     // durable processes take no more turns
};

}  // namespace actord::runtime
