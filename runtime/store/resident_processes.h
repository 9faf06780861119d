// The processes that records have touched since the last batch, decoded. Their
// entries and images are written once a batch, no matter how many steps changed
// them. A message that arrives and is consumed between two batches is never
// encoded.
//
// Thread-safety: one thread at a time. Lifetime: ends before the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/process/pid.h"
#include "runtime/store/state_batch.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

// The mail that a process has received since the last batch, and not consumed.
class NewMail {
 public:
  struct Entry {
    uint64_t position = 0;
    Mail mail;
  };

  // Precondition: there is no mail at the position.
  void Add(uint64_t position, Mail&& mail);
  // Unset: there is no mail at the position.
  std::optional<Mail> Take(uint64_t position);
  // Takes all mail, in the order of the positions.
  std::vector<Entry> TakeAll();
  // Calls `use` with each entry, in the order of their positions.
  void ForEach(absl::FunctionRef<void(const Entry&)> use) const {
    for (size_t i = first_; i < entries_.size(); ++i) use(entries_[i]);
  }
  [[nodiscard]] bool empty() const { return first_ == entries_.size(); }

 private:
  void ForgetTaken();

  // In the order of positions. Entries before `first_` are taken: mail is
  // consumed from the front.
  std::vector<Entry> entries_;
  size_t first_ = 0;
};

struct Resident {
  Pid pid;
  ProcessEntry entry;
  std::optional<ImageEntry> image;  // set: changed since the last batch
  bool drops_image = false;         // unless a later image is set
  NewMail new_mail;
  bool is_used = true;  // since the last batch
  bool changed = false;
  bool in_store = false;
  // False: the store has no mail of the process.
  bool may_have_stored_mail = false;

  records::RuntimeImage& runtime() { return entry.runtime; }
  [[nodiscard]] Owner owner() const { return entry.runtime.owner; }
};

class ResidentProcesses {
 public:
  explicit ResidentProcesses(StateBatch& batch) : batch_(batch) {}

  // Null: no such process lives. The pointer is valid until Remove or
  // WriteChanged.
  absl::StatusOr<Resident*> Find(const Pid& pid);
  // Precondition: Find has found none.
  Resident& Add(const Pid& pid);
  // Precondition: the process has no new mail.
  void Remove(const Pid& pid);
  // Adds the writes of everything that has changed.
  void WriteChanged(std::vector<StateWrite>& writes);

 private:
  static void WriteMail(Resident& resident, std::vector<StateWrite>& writes);
  // Drops the processes that the last batch did not use, if there are more
  // than kMaxKept.
  void Forget(const std::vector<Resident*>& used);

  static constexpr size_t kMaxKept = 65'536;

  StateBatch& batch_;
  absl::flat_hash_map<Pid, std::unique_ptr<Resident>> residents_;
};

}  // namespace actord::runtime
