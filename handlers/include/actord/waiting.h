// actord/waiting.h: lists of the waiting coroutines of a process. Used by
// coroutine.h; authors of plugins do not need it.
//
// Thread-safety: all lists and waiters belong to one process. Ownership: a list
// owns nothing. A Waiter lives in the frame of its coroutine and leaves its
// list when it is destroyed.
#pragma once

#include <actord/process.h>
#include <actord/values.h>

#include <coroutine>
#include <string>
#include <string_view>
#include <utility>

namespace actord::detail {

class WaiterList;

// A coroutine that waits for one thing. Members without an initialiser are set
// only when they are needed, because many waits end before they begin.
class Waiter {
 public:
  Waiter() = default;
  // Precondition: it does not wait yet.
  Waiter(Waiter&&) noexcept {}
  Waiter& operator=(Waiter&&) = delete;
  inline ~Waiter();

  std::coroutine_handle<> handle;
  [[nodiscard]] bool waits() const { return list_ != nullptr; }

  // The event that woke it. Valid while it is being resumed.
  const actord_event* event;
  // The process was asked to end while it waited.
  bool cancelled = false;

 private:
  friend class WaiterList;

  WaiterList* list_ = nullptr;
  Waiter* next_;
  Waiter* previous_;
};

// A circular list, so that both ends are reachable at once.
class WaiterList {
 public:
  WaiterList() = default;
  WaiterList(const WaiterList&) = delete;
  WaiterList& operator=(const WaiterList&) = delete;

  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Waiter* front() const { return head_; }
  // nullptr: `waiter` is the last one.
  [[nodiscard]] Waiter* After(const Waiter& waiter) const {
    return waiter.next_ == head_ ? nullptr : waiter.next_;
  }

  void PushBack(Waiter& waiter) { InsertBefore(nullptr, waiter); }
  // Inserts at the end if `place` is nullptr.
  void InsertBefore(Waiter* place, Waiter& waiter) {
    waiter.list_ = this;
    if (head_ == nullptr) {
      head_ = waiter.next_ = waiter.previous_ = &waiter;
      return;
    }
    Waiter* const next = place == nullptr ? head_ : place;
    waiter.next_ = next;
    waiter.previous_ = next->previous_;
    waiter.previous_->next_ = next->previous_ = &waiter;
    if (place == head_) head_ = &waiter;
  }
  // Precondition: `waiter` is in this list.
  void Remove(Waiter& waiter) {
    if (waiter.next_ == &waiter) {
      head_ = nullptr;
    } else {
      waiter.previous_->next_ = waiter.next_;
      waiter.next_->previous_ = waiter.previous_;
      if (head_ == &waiter) head_ = waiter.next_;
    }
    waiter.list_ = nullptr;
  }
  // nullptr: the list is empty.
  Waiter* PopFront() {
    Waiter* const first = head_;
    if (first != nullptr) Remove(*first);
    return first;
  }

 private:
  Waiter* head_ = nullptr;
};

inline Waiter::~Waiter() {
  if (list_ != nullptr) list_->Remove(*this);
}

// Waits for a message.
class Receiver : public Waiter {
 public:
  // Null: any topic.
  const std::string* topic = nullptr;

  [[nodiscard]] bool WantsAny() const { return topic == nullptr; }
  [[nodiscard]] bool Wants(std::string_view of_message) const {
    return WantsAny() || *topic == of_message;
  }
};

// Waits for the end of a monitored or linked process.
class ExitReceiver : public Waiter {
 public:
  // Ignored if `any` is set.
  Tag monitor = 0;
  bool any = true;

  [[nodiscard]] bool Wants(Tag of_exit) const {
    return any || monitor == of_exit;
  }
};

// Waits for the completion of a command or call.
class Caller : public Waiter {
 public:
  Tag tag = 0;
};

// Waits for a deadline.
class Sleeper : public Waiter {
 public:
  Time deadline = {};
  Duration duration = {};
};

}  // namespace actord::detail
