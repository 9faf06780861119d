// A process's rare data: about upgrades to newer versions of its type, tried or
// done, and about the traces to which its yields belong. Most processes have no
// such data.
//
// Thread-safety: the turn of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process.h"
#include "runtime/tracing/trace_context.h"

namespace actord::runtime {

struct Upgrading {
  // Yields of former versions whose completions are on their way to the mailbox
  // and must not reach a step. (Other yields were closed when the process was
  // upgraded.) Each yield here counts as outstanding until its completion has
  // come.
  absl::flat_hash_set<uint64_t> fenced;
  // The version that the process declined, which counts the process in
  // `declined_live`; null: none.
  const ProcessType* declined = nullptr;
  // The number of the last version whose counter of declined upgrades has
  // counted the process; 0: there is none. AskAgain leaves it, and it is kept
  // while the process is dormant.
  uint32_t counted_in = 0;
  // The version for which its Snapshot said "not now"; null: none. The process
  // is asked again after each step.
  const ProcessType* put_off = nullptr;
  // The traces of outstanding yields and calls of traced steps, by their tags.
  absl::flat_hash_map<uint64_t, TraceContext> traces;
  // The trace of the next step without events, or of the end of a durable
  // process; nullopt: none.
  std::optional<TraceContext> due_trace;

  [[nodiscard]] bool empty() const {
    return fenced.empty() && declined == nullptr && put_off == nullptr &&
           counted_in == 0 && traces.empty() && !due_trace;
  }

  // The Upgrading of `process`; made if the process has none.
  static Upgrading& Of(Process& process) {
    if (process.upgrading == nullptr) process.upgrading = new Upgrading;
    return *process.upgrading;
  }
  // Frees the Upgrading of `process` if it is empty.
  static void Tidy(Process& process) {
    if (process.upgrading == nullptr || !process.upgrading->empty()) return;
    delete std::exchange(process.upgrading, nullptr);
  }
  static uint32_t CountedIn(const Process& process) {
    return process.upgrading == nullptr ? 0 : process.upgrading->counted_in;
  }
  // `number`: as `counted_in`.
  static void IsCountedIn(Process& process, uint32_t number) {
    if (number != 0) Of(process).counted_in = number;
  }
  // After this call, the process may be asked again for any version.
  static void AskAgain(Process& process) {
    if (process.upgrading == nullptr) return;
    if (const ProcessType* declined =
            std::exchange(process.upgrading->declined, nullptr)) {
      declined->declined_live.fetch_sub(1, std::memory_order_relaxed);
    }
    process.upgrading->put_off = nullptr;
    Tidy(process);
  }
  // AskAgain, for a process that no version in force has counted.
  static void ForgetAttempts(Process& process) {
    if (process.upgrading == nullptr) return;
    process.upgrading->counted_in = 0;
    AskAgain(process);
  }
  // Frees the Upgrading of a process that ends.
  static void Forget(Process& process) {
    ForgetAttempts(process);
    delete std::exchange(process.upgrading, nullptr);
  }
};

using YieldTags = absl::flat_hash_set<uint64_t>;

// The yields that a Restore may adopt, and the yields that it has adopted.
struct YieldAdoption {
  YieldTags outstanding;
  YieldTags adopted;
};

// Adds the yields whose completions wait in `urgent_taken`. The broker may have
// no record of them: for example for a yield that was answered at once, or
// whose completion was in the store at the start.
inline void AddCompletedYields(const Process& process, YieldTags& tags) {
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  for (const Envelope* envelope = process.urgent_taken.head();
       envelope != nullptr; envelope = process.urgent_taken.After(envelope)) {
    if (envelope->type == ACTORD_EVENT_COMPLETION &&
        envelope->generation == generation) {
      tags.insert(envelope->completion.tag);
    }
  }
}

}  // namespace actord::runtime
