// actord/waiting.h: the coroutines of a process that wait, in lists. Used by
// coroutine.h; authors of plugins do not need it.
//
// Thread-safety: all of a list belongs to one process. Ownership: a list owns
// nothing; a Waiter lives in the frame of its coroutine and leaves its list
// when it is destroyed.
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
// when they are needed: a wait is often over before it has begun.
class Waiter {
 public:
  Waiter() = default;
  // Only before it waits.
  Waiter(Waiter&&) noexcept {}
  Waiter& operator=(Waiter&&) = delete;
  inline ~Waiter();

  std::coroutine_handle<> handle;
  [[nodiscard]] bool waits() const { return list_ != nullptr; }

  // What woke it, while it is being resumed.
  const actord_event* event;
  // The process was asked to end meanwhile.
  bool cancelled = false;

 private:
  friend class WaiterList;

  WaiterList* list_ = nullptr;
  Waiter* next_;
  Waiter* previous_;
};

// A ring, so that both ends are at hand.
class WaiterList {
 public:
  WaiterList() = default;
  WaiterList(const WaiterList&) = delete;
  WaiterList& operator=(const WaiterList&) = delete;

  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Waiter* front() const { return head_; }
  // nullptr: there is none.
  [[nodiscard]] Waiter* After(const Waiter& waiter) const {
    return waiter.next_ == head_ ? nullptr : waiter.next_;
  }

  void PushBack(Waiter& waiter) { InsertBefore(nullptr, waiter); }
  // nullptr: at the end.
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
  // Precondition: it is in this list.
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
  // nullptr: it is empty.
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

// For a message.
class Receiver : public Waiter {
 public:
  // Null: any.
  const std::string* topic = nullptr;

  [[nodiscard]] bool WantsAny() const { return topic == nullptr; }
  [[nodiscard]] bool Wants(std::string_view of_message) const {
    return WantsAny() || *topic == of_message;
  }
};

// For the end of a watched process.
class ExitReceiver : public Waiter {
 public:
  // 0 with any: any.
  Tag monitor = 0;
  bool any = true;

  [[nodiscard]] bool Wants(Tag of_exit) const {
    return any || monitor == of_exit;
  }
};

// For the completion of a command or a call.
class Caller : public Waiter {
 public:
  Tag tag = 0;
};

// For a moment.
class Sleeper : public Waiter {
 public:
  Time deadline = {};
  Duration duration = {};
};

}  // namespace actord::detail
