// A chain: an envelope with the addresses of messages that one step sends to
// one process.
//
// The messages lie anywhere in memory. If they were linked to each other, a
// consumer on another processor would wait for each cache line before it knew
// the address of the next message. So the mailbox holds the chain in place of
// the messages: the consumer fetches all of them at once, and needs none of
// them to find the envelope behind the chain.
//
// The chain is not counted as a message and is charged to no limit: it takes
// two cache lines for 4 to 11 messages, each of which takes at least one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/process/envelope.h"

namespace actord::runtime {

// Fewer messages than this are linked instead.
inline constexpr size_t kShortestChain = 4;
// Size of one address in a chain.
inline constexpr size_t kAddressBytes = sizeof(uintptr_t);

// A chain of `count` messages, which hold `units` in all. The caller owns the
// chain, and writes the addresses into MessagesOf.
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
