// One life of the program: a store on the disk, and a runtime over it.
//
// Thread-safety: one thread. Ownership: borrows disk and outside, and what it
// keeps beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/core.h"
#include "runtime/durable/opened_store.h"
#include "runtime/runtime.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/sim/store/outside.h"
#include "tests/support/script_handler.h"

namespace actord::sim {

// The numbers that a seed draws for all of its lives.
struct StoreStyle {
  int workers = 1;
  int max_blocked_threads = 0;
  uint64_t round_bytes = 0;
  uint64_t round_ns = 0;
  uint64_t max_unsynced_bytes = 0;
  uint64_t linger_ns = 0;
  uint32_t lone_groups = 0;
  absl::Duration passivate_after = absl::InfiniteDuration();
};

// What puts processes of a life into quarantine, until Mend.
enum class Trouble {
  kNone,
  kNoPlugin,         // the plugin of the scribes is missing
  kRefusesRestores,  // Restore of the scribes fails
};

class StoreLife {
 public:
  StoreLife(Outside& outside, runtime::MemoryStateStore& state,
            const StoreStyle& style);
  // Ends the program: as a stop if it is not dead.
  ~StoreLife();
  StoreLife(const StoreLife&) = delete;
  StoreLife& operator=(const StoreLife&) = delete;

  // Opens the store.
  absl::Status Open();
  // The options of this store on this disk, without a state store.
  static runtime::OpenedStore::Options OptionsOf(runtime::SimulatedDisk& disk,
                                                 const runtime::Clock& clock,
                                                 const StoreStyle& style);
  // Recovers the processes and serves, with the newest version of the scribes.
  absl::Status Serve(uint64_t number, Trouble trouble);
  // Puts the next version of the scribes in force, and tells their processes.
  // Does nothing if there is none, or while another thread does it.
  void Upgrade();
  // Removes the trouble. Processes in quarantine stay there.
  void Mend();
  [[nodiscard]] Trouble trouble() const { return trouble_; }
  // Starts the witness of this life.
  void StartWitness();
  void Stop(runtime::ShutdownMode mode);
  // Ends the runtime. Waiting callers are called back, or never.
  void EndRuntime();

  // A dormant process with a timer that is due; it comes back in a moment.
  [[nodiscard]] std::optional<runtime::Pid> FindLateTimer();

  [[nodiscard]] runtime::Runtime& runtime() { return *runtime_; }
  [[nodiscard]] runtime::OpenedStore& store() { return *store_; }

 private:
  void FillCatalog();
  void AddEffect(std::string command, uint32_t mode);
  // Puts the newest version of the scribes in force. False: the program has
  // ended.
  bool Load();
  void AddFormer(uint32_t version);

  Outside& outside_;
  runtime::MemoryStateStore& state_;
  const StoreStyle style_;
  Trouble trouble_ = Trouble::kNone;
  // Restore has failed for a part of this life.
  bool had_refused_ = false;
  bool serves_ = false;
  bool is_loading_ = false;
  // The versions of the scribes that the catalog has, and the ones whose files
  // the store knows.
  std::set<uint32_t> added_;
  std::set<uint32_t> kept_;
  runtime::Catalog catalog_;
  std::vector<std::unique_ptr<testing::ScriptHandler>> handlers_;
  class Builtin;
  std::unique_ptr<Builtin> builtin_;
  std::unique_ptr<runtime::OpenedStore> store_;
  std::unique_ptr<runtime::Runtime> runtime_;
  runtime::Runtime::Core* core_ = nullptr;  // of runtime_
};

}  // namespace actord::sim
