// The events that one turn has taken from its process.
//
// Thread-safety: belongs to the thread of the turn.
#pragma once

#include <cstddef>
#include <cstdint>

namespace actord::runtime {

// When the turn ends, these counts are subtracted from the activity word
// (activity.h, (2)).
struct Turn {
  uint64_t word;  // the activity word at the start of the turn
  uint32_t generation;
  uint64_t messages_taken = 0;
  uint64_t units = 0;  // units of the messages taken
  size_t count = 0;    // envelopes in the batch of the Inbox
  size_t dropped = 0;  // completions that no step gets

  void Took(uint64_t messages, uint64_t of_units) {
    messages_taken += messages;
    units += of_units;
  }
};

}  // namespace actord::runtime
