// The contents of a store, and the findings about it.
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
    // Positions of the first record that is kept, and after the last record.
    uint64_t first = 0;
    uint64_t end = 0;
    uint64_t groups = 0;
    uint64_t segments = 0;
    // The segments among them that were made ahead and hold no group.
    uint64_t spare_segments = 0;
    uint64_t bytes = 0;
  };
  // The state that the next start would have: the state store, and the records
  // after its applied position.
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
    uint64_t yield_answers = 0;  // remembered
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
  // A version of a plugin that processes of the store have or had.
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
    // False: a note. The next start repairs it, or it does no harm.
    bool is_damage = true;
    // The mistake, its place, and the remedy.
    std::string text;
  };

  std::string directory;
  Journal journal;
  State state;
  std::vector<ProcessType> types;
  std::vector<OwnerOf> owners;
  std::vector<PluginVersion> plugins;
  std::vector<Finding> findings;
  // Number of findings of damage that are left out, because there are too many.
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
