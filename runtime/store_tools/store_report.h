// What a store holds, and what is wrong with it.
//
// Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace actord::runtime {

struct StoreReport {
  struct Journal {
    uint16_t format = 0;
    uint64_t incarnation = 0;
    // Positions: of the first record that is kept, and behind the last one.
    uint64_t first = 0;
    uint64_t end = 0;
    uint64_t groups = 0;
    uint64_t segments = 0;
    // Of them: made ahead, and without a group.
    uint64_t spare_segments = 0;
    uint64_t bytes = 0;
  };
  // As the next start would have it: the state store, and the records behind
  // its applied position.
  struct State {
    // The position of the first record that is not in the state store's files.
    uint64_t applied = 0;
    // The state needs no record before this position.
    uint64_t trim = 0;
    uint64_t processes = 0;
    uint64_t messages = 0;  // in mailboxes: messages, calls and other events
    uint64_t dead_letters = 0;
    uint64_t outcomes = 0;
    uint64_t request_ids = 0;
    uint64_t message_ids = 0;
    uint64_t call_ids = 0;       // message ids of calls, answered or not
    uint64_t yield_answers = 0;  // that are remembered
    uint64_t names = 0;
    uint64_t groups = 0;
    uint64_t yields = 0;
    uint64_t history_steps = 0;  // of processes of replay types
  };
  struct ProcessType {
    std::string name;
    bool is_replay = false;
    uint64_t processes = 0;
  };
  struct OwnerOf {
    uint16_t number = 0;
    std::string name;
    uint64_t processes = 0;
  };
  // A version of a plugin that processes of the store are of, or were.
  struct PluginVersion {
    uint32_t number = 0;
    std::string sha256;  // in hexadecimal
    std::string name;
    std::string version;
    uint64_t processes = 0;
    // The store has the file.
    bool is_kept = false;
  };
  struct Finding {
    // False: a note. The next start mends it, or it does no harm.
    bool is_damage = true;
    // What is wrong, where, and what to do.
    std::string text;
  };

  std::string directory;
  Journal journal;
  State state;
  std::vector<ProcessType> types;
  std::vector<OwnerOf> owners;
  std::vector<PluginVersion> plugins;
  std::vector<Finding> findings;
  // Damage that is not among the findings, because there are too many.
  uint64_t more_damage = 0;

  [[nodiscard]] bool is_damaged() const {
    if (more_damage != 0) return true;
    for (const Finding& finding : findings) {
      if (finding.is_damage) return true;
    }
    return false;
  }
  void Add(Finding finding) {
    constexpr size_t kMost = 100;
    if (findings.size() < kMost) {
      findings.push_back(std::move(finding));
    } else if (finding.is_damage) {
      ++more_damage;
    }
  }
};

}  // namespace actord::runtime
