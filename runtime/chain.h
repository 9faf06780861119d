// What goes before a chain of messages that are published as one.
//
// The messages of a chain lie anywhere, each linked to the next. Whoever takes
// them on another processor would wait for each line before it knew where the
// next one is. So what a step sends to one process, if it is not short, begins
// with one more envelope that says where they are, and they are fetched at the
// same time.
//
// The head counts as no message and is charged to no limit: it is two lines of
// memory for 5 to 12 messages, of a line each at least.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/envelope.h"
#include "runtime/processor.h"

namespace actord::runtime {

// Shorter chains go without.
inline constexpr size_t kShortestToFetch = 4;
// Of one in a head.
inline constexpr size_t kAddressBytes = sizeof(uintptr_t);

// The envelope to go before the `count` messages from `first` on, which are
// linked, and to which it is linked. The caller's.
inline Envelope* NewChainHead(BufferCache& buffers, Envelope* first,
                              size_t count) {
  // The link leads to the first.
  const size_t others = count - 1;
  Envelope* const head =
      Envelope::CreateFor(buffers, kEventChain, others * kAddressBytes);
  head->SetNext(first);
  auto* const addresses = reinterpret_cast<Envelope**>(head->content());
  const Envelope* message = first;
  for (size_t i = 0; i < others; ++i) {
    addresses[i] = message->Next();
    message = addresses[i];
  }
  return head;
}

// Fetches the messages behind it.
inline void FetchChain(const Envelope& head) {
  const auto* const addresses =
      reinterpret_cast<Envelope* const*>(head.content());
  const size_t others = head.payload_bytes / kAddressBytes;
  for (size_t i = 0; i < others; ++i) PrefetchForRead(addresses[i]);
}

}  // namespace actord::runtime
