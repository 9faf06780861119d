// Counts the open calls of the JSON API, which have a limit.
//
// Thread-safety: any thread. Ownership: the places share the count.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace actord::daemon {

class OpenCalls {
 public:
  // One open call, until the end of the object.
  class Place {
   public:
    Place() = default;
    explicit Place(std::shared_ptr<std::atomic<size_t>> count)
        : count_(std::move(count)) {}
    ~Place() {
      if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
    }
    Place(Place&&) = default;
    Place& operator=(Place&&) = delete;

   private:
    std::shared_ptr<std::atomic<size_t>> count_;
  };

  explicit OpenCalls(size_t max) : max_(max) {}

  // nullopt: there are as many as the limit permits.
  std::optional<Place> Take() {
    if (count_->fetch_add(1, std::memory_order_relaxed) >= max_) {
      count_->fetch_sub(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return std::optional<Place>(std::in_place, count_);
  }
  [[nodiscard]] size_t max() const { return max_; }
  [[nodiscard]] size_t count() const {
    return count_->load(std::memory_order_relaxed);
  }

 private:
  const size_t max_;
  // Relaxed: it is only compared with the limit.
  const std::shared_ptr<std::atomic<size_t>> count_ =
      std::make_shared<std::atomic<size_t>>(0);
};

}  // namespace actord::daemon
