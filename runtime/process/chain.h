// A chain: messages that one step sends to one process, in one envelope that
// says where they are.
//
// The messages lie anywhere. Linked to each other, whoever takes them on
// another processor would wait for each line before it knew where the next one
// is. So the mailbox holds, in their place, one more envelope with their
// addresses: whoever takes it has them fetched all at once, and needs none of
// them to find what comes behind.
//
// The chain counts as no message and is charged to no limit: it is two lines of
// memory for 4 to 11 messages, of a line each at least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/process/envelope.h"

namespace actord::runtime {

// Fewer messages are linked.
inline constexpr size_t kShortestChain = 4;
// Of one in a chain.
inline constexpr size_t kAddressBytes = sizeof(uintptr_t);

// A chain of `count` messages, which hold so many units; the caller writes
// their addresses into MessagesOf. The caller's.
inline Envelope* NewChain(BufferCache& buffers, size_t count, uint64_t units) {
  Envelope* const chain =
      Envelope::CreateFor(buffers, kEventChain, count * kAddressBytes);
  chain->completion.tag = units;
  return chain;
}
inline std::span<Envelope*> MessagesOf(Envelope& chain) {
  return {reinterpret_cast<Envelope**>(chain.content()),
          chain.payload_bytes / kAddressBytes};
}
inline uint64_t UnitsOf(const Envelope& chain) { return chain.completion.tag; }

}  // namespace actord::runtime
