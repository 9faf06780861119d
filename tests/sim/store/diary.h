// The diary of a durable process of the simulator: everything that it has seen
// and done. The diary is the state of the process, the answer to the call
// `get`, and the result. So a reader of it knows which inputs are in the state.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/pid.h"

namespace actord::sim {

struct Entry {
  enum Kind : uint16_t {
    kBegun = 1,  // number: of the submission; 0: a child
    kCame,       // a message: the sender, its number; value: amount
    kSent,       // a message: the receiver, its number; value: amount
    kTold,       // a message to the witness: its number
    kYielded,    // number: the tag; code: a Command; value: the deadline of a
                 // sleep, in nanoseconds of the store's clock
    kCompleted,  // number: the tag; code: the status; value: the result
    kSpawned,    // a child
    kMonitored,  // the process; number: the tag
    kExit,       // whose; number: the tag; code: the reason
    kAsked,      // a call: the caller, its number
    kLife,       // it has begun again
  };
  uint16_t kind = 0;
  uint16_t version = 0;  // of the code that has written it
  uint32_t code = 0;
  runtime::Pid peer = {};  // empty: a client
  uint64_t number = 0;
  uint64_t value = 0;

  friend bool operator==(const Entry&, const Entry&) = default;
};

enum class Command : uint32_t {
  kSleep,      // timer.sleep
  kTaskOnce,   // task.once: an external task with one attempt
  kTaskAgain,  // task.again: an external task with some attempts
  kEffect,     // effect.*: a handler of a plugin, which counts its calls
  kRegister,   // name.register
  kAsk,        // a call to another process
};

constexpr uint32_t CodeOf(Command command) {
  return static_cast<uint32_t>(command);
}

struct Diary {
  // A call that is not answered yet: its id, and the number to answer with.
  struct Owed {
    uint64_t call = 0;
    uint64_t number = 0;

    friend bool operator==(const Owed&, const Owed&) = default;
  };
  static constexpr size_t kMostPeers = 6;

  // Of the code that has the state.
  uint16_t version = 0;
  int64_t balance = 0;
  runtime::Pid witness;  // empty: none is known
  std::vector<runtime::Pid> peers;
  std::vector<Owed> owed;
  std::vector<Entry> entries;

  void Add(Entry entry) {
    entry.version = version;
    entries.push_back(entry);
  }
  void Meet(const runtime::Pid& peer);
  // The number of entries of this kind about this process.
  [[nodiscard]] uint64_t Count(Entry::Kind kind,
                               const runtime::Pid& peer) const;
  [[nodiscard]] const Entry* Find(Entry::Kind kind, uint64_t number) const;
  // Whether code of `newer` refuses the state. The answer never changes.
  [[nodiscard]] bool IsRefusedBy(uint16_t newer) const;
  // Whether a scribe of the replay type puts an upgrade off.
  [[nodiscard]] bool IsBusy() const { return entries.size() % 3 == 0; }
  // Yields without a completion.
  [[nodiscard]] size_t Outstanding() const;

  [[nodiscard]] std::string Encode() const;
  friend bool operator==(const Diary&, const Diary&) = default;
  // False: these bytes are no diary.
  static bool Decode(std::string_view bytes, Diary& diary);
};

// The content of a message to a durable process.
struct Errand {
  // Of a client, by which the client names it for ever; 0: of a process.
  uint64_t client = 0;
  uint64_t number = 0;  // in the order of this sender, for this receiver
  int64_t amount = 0;
  uint32_t budget = 0;  // for what the receiver does because of it
  uint32_t unused = 0;
  runtime::Pid witness;
  runtime::Pid peer;  // somebody that the receiver may turn to
};

template <typename T>
std::string BytesOfValue(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
// False: the bytes are not those of a T.
template <typename T>
bool ReadValue(std::string_view bytes, T& value);

}  // namespace actord::sim
