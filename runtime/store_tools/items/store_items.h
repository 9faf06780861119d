// What a store holds, item by item, without the way in which the state store
// keeps it: to be taken out of one store and put into another.
//
// Every body is in its item. Positions are those of the journal of the store
// that the items were taken from; a new store begins behind all of them.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/journal/format.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/records/records.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

// The store as a whole. It comes first.
struct StoreItem {
  StoreId id = {};              // secret: fingerprints of requests rest on it
  uint64_t position = 0;        // behind all records
  uint64_t incarnation = 0;     // the highest of all starts
  uint64_t store_ns = 0;        // the store's clock
  uint64_t clock_unix_ns = 0;   // the last moment at which both clocks were
  uint64_t clock_store_ns = 0;  // written: the wall clock and the store's
  friend bool operator==(const StoreItem&, const StoreItem&) = default;
};

struct OwnerItem {
  Owner number = Owner::kNobody;
  std::string name = {};
};

struct ProcessItem {
  struct Event {
    uint64_t position = 0;
    Mail mail = {};
  };
  // An end that the process was not told.
  struct Exit {
    Pid of = {};
    uint64_t tag = 0;  // of the monitor; 0: a link
    ExitEntry entry = {};
  };
  // A step of a replay type since the image.
  struct Step {
    uint64_t position = 0;
    HistoryEntry entry = {};
  };

  Pid pid = {};
  ProcessEntry entry = {};
  std::optional<ImageEntry> image = {};
  std::vector<Event> mailbox = {};
  std::vector<Exit> exits = {};
  std::vector<Step> history = {};
};

struct LetterItem {
  uint64_t position = 0;
  Letter letter = {};
};

struct OutcomeItem {
  Pid pid = {};
  OutcomeEntry entry = {};
};

// A request id, a message id, a call or the answer to a yield.
struct IdItem {
  uint8_t kind = 0;  // kSubmitId and its neighbours (state_keys.h)
  Owner owner = Owner::kNobody;
  std::string id = {};    // not of the answer to a yield
  YieldToken yield = {};  // of the answer to a yield
  RequestEntry entry = {};
  std::optional<CallAnswer> answer = {};  // of a call that is not open
};

using AnyItem = std::variant<StoreItem, OwnerItem, records::Plugin, ProcessItem,
                             LetterItem, OutcomeItem, IdItem>;

}  // namespace actord::runtime
