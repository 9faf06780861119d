// The contents of a store, item by item, independent of the format of the state
// store, so that they can move from one store to another.
//
// Every body is in its item. Positions belong to the journal of the store from
// which the items were read; a new store begins behind all of them.
//
// Thread-safety: plain values. Ownership: values own their contents.
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
  // The end of a watched process that the process has not received yet.
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
  std::string id = {};    // unused for the answer to a yield
  YieldToken yield = {};  // for the answer to a yield
  RequestEntry entry = {};
  std::optional<CallAnswer> answer = {};  // for a call that is not open
};

using AnyItem = std::variant<StoreItem, OwnerItem, records::Plugin, ProcessItem,
                             LetterItem, OutcomeItem, IdItem>;

}  // namespace actord::runtime
