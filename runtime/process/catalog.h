// What a daemon can run: process types and command handlers, each with the
// plugin it came from. Plugins may be added, and newer versions of them, while
// processes run.
//
// What is in force is a table that never changes: adding makes a new one and
// then replaces the one pointer to it. Old tables, types and handlers stay
// until the catalog is destroyed, so whoever has found one may keep it;
// `in_force` says whether a look-up would find it again.
//
// Thread-safety: any thread; those that add take turns. Ownership: borrows the
// descriptors and handler objects; the plugins that own them must outlive the
// runtime.
#pragma once

#include <actord/abi.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

// Whether two names are the same. (The standard's comparison orders them, by a
// call.)
inline bool IsSameName(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  constexpr size_t kWord = sizeof(uint64_t);
  if (size < kWord || size > 4 * kWord) {
    return size == 0 || std::memcmp(a.data(), b.data(), size) == 0;
  }
  // Most names: without a call, and word by word, as the one in the envelope
  // was written a moment ago (copy_bytes.h).
  const auto differ = [&](size_t at) {
    uint64_t of_a = 0;
    uint64_t of_b = 0;
    std::memcpy(&of_a, a.data() + at, kWord);
    std::memcpy(&of_b, b.data() + at, kWord);
    return of_a ^ of_b;
  };
  uint64_t difference = differ(0) | differ(size - kWord);
  if (size > 2 * kWord) difference |= differ(kWord) | differ(size - 2 * kWord);
  return difference == 0;
}

// One version of a process type.
struct ProcessType {
  const actord_process_type* descriptor = nullptr;
  // What the processes that live with this version are to become: the version
  // in force, or null: they stay as they are. Written by whoever adds a
  // version, with release, when all of it is in force; acquire by each turn.
  mutable std::atomic<const ProcessType*> upgrade_to{nullptr};
  // Release by whoever adds; relaxed is enough for a look into a memory of
  // what was found last.
  mutable std::atomic<bool> in_force{true};
  std::string name;
  std::string plugin;   // name of the plugin that brought it
  std::string version;  // of that plugin; "": not known
  // Of the descriptor; null: it has none.
  decltype(actord_process_type::snapshot) snapshot = nullptr;
  decltype(actord_process_type::restore) restore = nullptr;

  // Processes of former versions that went on in this one, or refused to.
  // Relaxed: counted before Process::type, or declined_live, says so.
  mutable std::atomic<uint64_t> upgraded{0};
  mutable std::atomic<uint64_t> declined{0};
  // Those of the latter that live and would not be asked again. Release, after
  // the counters of them; acquire.
  mutable std::atomic<uint64_t> declined_live{0};
  // The log says why the first one has. Relaxed.
  mutable std::atomic<bool> warned{false};

  // Index of the method; the first for "". kNoSuchMethod: there is none of that
  // name. (An optional would be put together in memory, of two parts that are
  // then read as one, for which the processor waits.)
  static constexpr uint32_t kNoSuchMethod = UINT32_MAX;
  [[nodiscard]] uint32_t FindMethod(std::string_view method) const;
};

struct CommandHandler {
  const actord_command_handler* descriptor = nullptr;
  void* self = nullptr;  // what `create` made
  std::string name;
  std::string plugin;
  // As ProcessType's.
  mutable std::atomic<bool> in_force{true};
};

// What one plugin brings, all at once.
struct CatalogEntries {
  struct Command {
    const actord_command_handler* descriptor = nullptr;
    void* self = nullptr;
  };
  std::string plugin = {};
  std::string version = {};
  std::vector<const actord_process_type*> process_types = {};
  std::vector<Command> commands = {};
  // Entries of this plugin that are in force give way to those of the same
  // name; otherwise they are taken.
  bool replace = false;
  // With `replace`: whether processes that live become of the new version,
  // where the old type can snapshot and the new one restore.
  bool upgrade_processes = false;
};

class Catalog {
 public:
  Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Checks the descriptors (sizes, names, pointers, limits of abi.h) and adds
  // all of them or none. Returns the types, in the order of the entries.
  // INVALID_ARGUMENT says what is wrong with a descriptor, ALREADY_EXISTS which
  // plugin has the name already.
  absl::StatusOr<std::vector<const ProcessType*>> Add(
      const CatalogEntries& entries);
  // One of them.
  absl::Status AddProcessType(const actord_process_type* descriptor,
                              std::string_view plugin);
  absl::Status AddCommand(const actord_command_handler* descriptor, void* self,
                          std::string_view plugin);

  // What is in force now. The results stay valid.
  [[nodiscard]] const ProcessType* FindProcessType(std::string_view name) const;
  [[nodiscard]] const CommandHandler* FindCommand(std::string_view name) const;
  [[nodiscard]] const std::vector<const ProcessType*>& process_types() const {
    return table().process_types;
  }
  [[nodiscard]] const std::vector<const CommandHandler*>& commands() const {
    return table().commands;
  }

 private:
  struct Table {
    std::vector<const ProcessType*> process_types;
    std::vector<const CommandHandler*> commands;
    // Keys: the names in what they lead to.
    absl::flat_hash_map<absl::string_view, const ProcessType*> type_by_name;
    absl::flat_hash_map<absl::string_view, const CommandHandler*>
        command_by_name;
  };

  // Acquire: pairs with Add, for the table and all that it points to.
  [[nodiscard]] const Table& table() const {
    return *table_.load(std::memory_order_acquire);
  }
  struct Change {
    std::vector<const ProcessType*> added;
    std::vector<const ProcessType*> replaced_types;
    std::vector<const CommandHandler*> replaced_commands;
  };
  // Into `table`, which nobody else has.
  void Put(const CatalogEntries& entries, Table& table, Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All former versions lead to `type`, as far as they can, or, not `wanted`,
  // nowhere.
  void UpgradeTo(const ProcessType& type, bool wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  // All that there ever were, by name; the last table is the one in force.
  absl::flat_hash_map<std::string,
                      std::vector<std::unique_ptr<const ProcessType>>>
      process_types_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const CommandHandler>> commands_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const Table>> tables_ ABSL_GUARDED_BY(mutex_);
  // Written under mutex_, with release.
  std::atomic<const Table*> table_;
};

}  // namespace actord::runtime
