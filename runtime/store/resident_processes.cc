#include "runtime/store/resident_processes.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "runtime/store/state_keys.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

void NewMail::Add(uint64_t position, Mail&& mail) {
  if (2 * first_ >= entries_.size()) ForgetTaken();
  const bool is_last = empty() || entries_.back().position < position;
  const auto at =
      is_last
          ? entries_.end()
          : std::lower_bound(entries_.begin() + static_cast<ptrdiff_t>(first_),
                             entries_.end(), position,
                             [](const Entry& entry, uint64_t before) {
                               return entry.position < before;
                             });
  ACTORD_ASSERT(at == entries_.end() || at->position != position,
                "resident_processes.h: there is no mail at the position");
  entries_.insert(at, {position, std::move(mail)});
}

std::optional<Mail> NewMail::Take(uint64_t position) {
  const auto begin = entries_.begin() + static_cast<ptrdiff_t>(first_);
  const auto found = std::lower_bound(begin, entries_.end(), position,
                                      [](const Entry& entry, uint64_t before) {
                                        return entry.position < before;
                                      });
  if (found == entries_.end() || found->position != position) return {};
  std::optional<Mail> mail = std::move(found->mail);
  if (found == begin) {
    ++first_;
  } else {
    entries_.erase(found);
  }
  return mail;
}

std::vector<NewMail::Entry> NewMail::TakeAll() {
  ForgetTaken();
  return std::exchange(entries_, {});
}

void NewMail::ForgetTaken() {
  entries_.erase(entries_.begin(),
                 entries_.begin() + static_cast<ptrdiff_t>(first_));
  first_ = 0;
}

absl::StatusOr<Resident*> ResidentProcesses::Find(const Pid& pid) {
  const auto found = residents_.find(pid);
  if (found != residents_.end()) {
    found->second->is_used = true;
    return found->second.get();
  }
  absl::StatusOr<std::optional<ProcessEntry>> entry =
      batch_.Read<ProcessEntry>(KeyOf(KeyKind::kProcess, pid));
  if (!entry.ok()) return entry.status();
  if (!entry->has_value()) return nullptr;
  Resident& resident = Add(pid);
  resident.entry = std::move(**entry);
  resident.in_store = true;
  resident.may_have_stored_mail = true;
  return &resident;
}

Resident& ResidentProcesses::Add(const Pid& pid) {
  const auto [place, is_new] = residents_.try_emplace(pid);
  ACTORD_ASSERT(is_new, "resident_processes.h: Find has found none");
  place->second = std::make_unique<Resident>();
  place->second->pid = pid;
  return *place->second;
}

void ResidentProcesses::Remove(const Pid& pid) {
  const auto found = residents_.find(pid);
  if (found == residents_.end()) return;
  ACTORD_ASSERT(found->second->new_mail.empty(),
                "resident_processes.h: the process has no new mail");
  if (found->second->in_store) {
    batch_.Erase(KeyOf(KeyKind::kProcess, pid));
    batch_.Erase(KeyOf(KeyKind::kImage, pid));
  }
  residents_.erase(found);
}

void ResidentProcesses::WriteChanged(std::vector<StateWrite>& writes) {
  // In the order of their keys, which is the cheapest for the store.
  std::vector<Resident*> used;
  for (const auto& [pid, resident] : residents_) {
    if (std::exchange(resident->is_used, false)) used.push_back(resident.get());
  }
  std::ranges::sort(used, {}, [](const Resident* one) {
    return std::tuple(one->pid.node, one->pid.incarnation, one->pid.slot,
                      one->pid.generation);
  });
  for (Resident* const one : used) {
    if (std::exchange(one->changed, false)) {
      writes.push_back(
          {KeyOf(KeyKind::kProcess, one->pid), ValueOf(one->entry)});
    }
    one->in_store = true;
  }
  for (Resident* const one : used) {
    const bool drops_image = std::exchange(one->drops_image, false);
    if (!one->image.has_value()) {
      if (drops_image) {
        writes.push_back({KeyOf(KeyKind::kImage, one->pid), std::nullopt});
      }
      continue;
    }
    writes.push_back({KeyOf(KeyKind::kImage, one->pid), ValueOf(*one->image)});
    one->image.reset();
  }
  for (Resident* const one : used) WriteMail(*one, writes);
  Forget(used);
}

void ResidentProcesses::Forget(const std::vector<Resident*>& used) {
  if (residents_.size() <= kMaxKept) return;
  absl::flat_hash_map<Pid, std::unique_ptr<Resident>> kept;
  kept.reserve(used.size());
  for (Resident* const one : used) {
    const auto found = residents_.find(one->pid);
    kept.emplace(one->pid, std::move(found->second));
  }
  residents_ = std::move(kept);
}

void ResidentProcesses::WriteMail(Resident& resident,
                                  std::vector<StateWrite>& writes) {
  if (resident.new_mail.empty()) return;
  for (const NewMail::Entry& entry : resident.new_mail.TakeAll()) {
    std::string key = KeyOf(KeyKind::kMail, resident.pid, entry.position);
    if (!entry.mail.body.has_value()) {
      writes.push_back({KeyOf(KeyKind::kBody, entry.position), key});
    }
    writes.push_back({std::move(key), ValueOf(entry.mail)});
  }
  resident.may_have_stored_mail = true;
}

}  // namespace actord::runtime
