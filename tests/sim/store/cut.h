// One moment of all durable processes: as a store holds it, or as they tell it.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/durable/opened_store.h"
#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"
#include "tests/sim/store/diary.h"

namespace actord::sim {

struct Cut {
  struct Process {
    // Not set: it is not known, because the process was terminated or is of a
    // replay type.
    std::optional<Diary> diary;
    bool has_ended = false;
    // Of a process that has ended.
    std::optional<runtime::EndKind> end;
    // Of one that lives, and only in a store: it was told to end, it is of the
    // replay type, its Init has returned, and the file whose code has its
    // state.
    bool is_cancelled = false;
    bool is_replayed = false;
    bool is_started = false;
    uint32_t plugin = 0;
    // Its last Init has refused.
    bool was_refused = false;
    // The messages in the mailbox, as kCame.
    std::vector<Entry> mail;
    // The dead letters to it, in their order: messages as kCame.
    std::vector<Entry> letters;
    // The completions and exits that it has not consumed, by tag.
    std::multiset<uint64_t> completions;
    std::multiset<uint64_t> exits;
    // The tags of the yields that are outstanding.
    std::multiset<uint64_t> yields;

    friend bool operator==(const Process&, const Process&) = default;
  };
  // All that live or have an outcome.
  std::map<runtime::Pid, Process> processes;
  // The store says what waits; otherwise `mail` and the like are empty.
  bool is_of_store = false;

  // Null: it is not known, or has no diary.
  [[nodiscard]] const Diary* DiaryOf(const runtime::Pid& pid) const;
  // The events that the process has consumed, and the ones that wait, in order.
  static std::vector<Entry> Came(const Process& process);

  friend bool operator==(const Cut&, const Cut&) = default;

  static absl::StatusOr<Cut> Of(runtime::OpenedStore& store);
};

}  // namespace actord::sim
