// One event on its way: the node of the mailbox and, in the same buffer, the
// event as the plugin sees it and its bytes. Written once by the sender, read
// in place by the process.
//
// Ownership: whoever holds the pointer; the mailbox while it is queued.
// Thread-safety: one thread at a time; handed over through the mailbox.
#pragma once

#include <actord/abi.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "runtime/buffer_pool.h"
#include "runtime/payload.h"

namespace actord::runtime {

// Internal event types beside ACTORD_EVENT_*; a process never sees them.
inline constexpr uint32_t kEventTerminate = 1u << 31;

inline constexpr uint32_t kNoYieldSlot = UINT32_MAX;

struct Envelope {
  // In a mailbox: written by the producer that follows, read by the consumer.
  // Elsewhere: the link of whichever list holds the envelope.
  std::atomic<Envelope*> next{nullptr};
  // Of the process that the sender looked up: another one drops it.
  uint32_t generation = 0;
  // Of the whole buffer; what a mailbox is charged.
  uint32_t buffer_units = 0;
  // COMPLETION: the record of the yield, or kNoYieldSlot.
  uint32_t yield_slot = kNoYieldSlot;
  uint32_t reserved = 0;
  actord_event event{};

  // An event with copies of `topic` and `payload` in one buffer.
  static Envelope* Create(BufferCache& cache, uint32_t type,
                          std::string_view topic,
                          const actord_payload& payload) {
    const size_t content =
        topic.size() + payload.bytes.size + payload.content_type.size;
    const size_t bytes = BufferCache::RoundUp(sizeof(Envelope) + content);
    auto* envelope = new (cache.Allocate(bytes)) Envelope;
    envelope->buffer_units = static_cast<uint32_t>(bytes / kBufferUnitBytes);
    envelope->event.type = type;
    char* free = reinterpret_cast<char*>(envelope + 1);
    envelope->event.payload.bytes = Copy(View(payload.bytes), free);
    envelope->event.topic = Copy(topic, free);
    envelope->event.payload.content_type =
        Copy(View(payload.content_type), free);
    return envelope;
  }

  static void Destroy(BufferCache& cache, Envelope* envelope) {
    cache.Deallocate(envelope,
                     size_t{envelope->buffer_units} * kBufferUnitBytes);
  }

  Envelope* Next() const { return next.load(std::memory_order_relaxed); }
  void SetNext(Envelope* envelope) {
    next.store(envelope, std::memory_order_relaxed);
  }

 private:
  static actord_bytes Copy(std::string_view from, char*& to) {
    if (from.empty()) return {nullptr, 0};
    std::memcpy(to, from.data(), from.size());
    const actord_bytes copy{to, from.size()};
    to += from.size();
    return copy;
  }
};

// A private list, first in first out.
class EnvelopeList {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Envelope* head() const { return head_; }

  void PushBack(Envelope* envelope) {
    envelope->SetNext(nullptr);
    if (head_ == nullptr) {
      head_ = envelope;
    } else {
      tail_->SetNext(envelope);
    }
    tail_ = envelope;
  }

  Envelope* PopFront() {
    Envelope* envelope = head_;
    if (envelope != nullptr) head_ = envelope->Next();
    return envelope;
  }

 private:
  Envelope* head_ = nullptr;
  Envelope* tail_ = nullptr;  // valid while head_ is set
};

}  // namespace actord::runtime
