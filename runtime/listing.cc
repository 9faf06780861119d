// Describes processes while they run: Describe and ListProcesses. A reader
// takes no lock; it reads a process as a sequence lock does, by generation.
#include <optional>
#include <utility>

#include "runtime/core.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/thread.h"

namespace actord::runtime {
namespace {

ProcessState StateOf(const Process& process, uint64_t word) {
  if (process.running.load(std::memory_order_relaxed)) {
    return ProcessState::kRunning;
  }
  if (Activity::Runnable(word)) return ProcessState::kReady;
  return (word & Activity::kBlocked) != 0 ? ProcessState::kBlocked
                                          : ProcessState::kIdle;
}

// Reads the type and a method of that type: see Process::method.
std::pair<const ProcessType*, uint16_t> TypeOf(const Process& process) {
  while (true) {
    const ProcessType* type = process.type.load(std::memory_order_acquire);
    const uint16_t method = process.method.load(std::memory_order_acquire);
    if (method != Process::kNoMethod &&
        type == process.type.load(std::memory_order_acquire)) {
      return {type, method};
    }
    YieldThread();
  }
}

// The name of the type of a volatile process. nullopt: the process has not
// begun, or has ended.
std::optional<std::string> ReadTypeName(const FoundProcess& found) {
  const ProcessType* const type = found->type.load(std::memory_order_acquire);
  const uint64_t word = found->activity.load(std::memory_order_acquire);
  // The type belongs to the found process if no process ended or began
  // meanwhile, as in ReadSlot.
  if (type == nullptr || (word & Activity::kEnded) != 0 ||
      found->generation.load(std::memory_order_relaxed) != found.generation) {
    return std::nullopt;
  }
  return type->name;
}

// Describes the process in this slot, without its names and labels. Nullopt:
// the slot has no process, or the process changed during the read, or it has
// none of the bits `wanted` of Wanted, unless that is 0.
std::optional<ProcessInfo> ReadSlot(const ProcessTable& processes,
                                    uint32_t slot, uint8_t wanted = 0) {
  const Process& process = processes.At(slot);
  // Both loads are seq_cst, in this order: lifecycle_log.h, (2). The word is
  // read once more, because only its value after the load of the generation
  // counts.
  static_cast<void>(process.activity.load(std::memory_order_seq_cst));
  FailPoint();
  const uint32_t generation =
      process.generation.load(std::memory_order_seq_cst);
  FailPoint();
  const uint64_t word = process.activity.load(std::memory_order_acquire);
  // A reserved slot does not count as a process yet: the step that spawns may
  // fail.
  if ((generation & 1) == 0 || (word & Activity::kEnded) != 0) {
    return std::nullopt;
  }
  // After the word, so that the proof in lifecycle_log.h holds: labels are
  // there before the process is visible.
  if (wanted != 0 &&
      (process.wanted.load(std::memory_order_acquire) & wanted) == 0) {
    return std::nullopt;
  }
  ProcessInfo info;
  info.pid = processes.PidOf(process, generation);
  info.parent = process.parent.Load();
  const auto [type, method] = TypeOf(process);
  info.state = StateOf(process, word);
  // Acquire, like the loads below, for the check at the end.
  info.owner = process.owner.load(std::memory_order_acquire);
  info.priority = process.priority.load(std::memory_order_acquire);
  info.started_unix_ns =
      process.started_unix_ns.load(std::memory_order_acquire);
  info.steps = process.steps.load(std::memory_order_acquire);
  info.mailbox_messages = Activity::Messages(word);
  info.mailbox_bytes = Activity::Units(word) * kBufferUnitBytes;
  info.yields = process.yields_count.load(std::memory_order_acquire);
  info.cancel_requested =
      process.cancel_requested.load(std::memory_order_acquire);
  // Works like a sequence lock: the loads above are acquire, so they come
  // before this load. Their values belong together if no process ended or began
  // meanwhile. Only then the method is a method of that type.
  if (process.generation.load(std::memory_order_relaxed) != generation) {
    return std::nullopt;
  }
  if (type != nullptr) {
    info.process_type = type->name;
    info.method = type->descriptor->methods[method].name;
    if (type->plugin != rules::kBuiltinPlugin) {
      info.plugin = type->plugin;
      info.plugin_version = type->version;
    }
  }
  return info;
}

// The description of a dormant process, from the store.
ProcessInfo InfoOf(const StoredProcess& stored) {
  const records::RuntimeImage& image = stored.entry.runtime;
  return {.pid = stored.pid,
          .parent = image.parent,
          .owner = image.owner,
          .process_type = stored.entry.process_type,
          .method = stored.entry.method,
          .state = ProcessState::kDormant,
          .priority = image.priority,
          .started_unix_ns = image.started_unix_ns,
          .steps = image.turn.step,
          .mailbox_messages = 0,
          .mailbox_bytes = 0,
          .yields = 0,
          .cancel_requested = false,
          .quarantine_reason = {},
          .place = 0};
}

bool Matches(const ProcessFilter& filter, const ProcessInfo& info) {
  return Sees(filter.by, info.owner) &&
         (filter.process_type.empty() ||
          filter.process_type == info.process_type) &&
         (!filter.state || *filter.state == info.state) &&
         (filter.parent.empty() || filter.parent == info.parent) &&
         Match(filter.labels, info.labels);
}

// Describes a durable process. nullopt: it is not alive, or has not begun.
std::optional<ProcessInfo> ReadDurable(const ProcessTable& processes,
                                       DurableProcesses& durable,
                                       const Pid& pid) {
  // The process may become dormant and come back between two reads, but not
  // every time.
  constexpr int kMaxMoves = 1000;
  for (int move = 0; move < kMaxMoves && processes.Lives(pid); ++move) {
    if (const FoundProcess found = processes.FindAwake(pid)) {
      std::optional<ProcessInfo> info = ReadSlot(processes, found->index());
      if (info && info->pid == pid) {
        if (durable.quarantine().Has(pid)) {
          info->state = ProcessState::kQuarantined;
          info->plugin.clear();
          info->plugin_version.clear();
        }
        return info;
      }
      const FoundProcess again = processes.FindAwake(pid);
      if (again == found.process && again.generation == found.generation) {
        return std::nullopt;  // it has not begun
      }
    } else if (processes.IsDormant(pid)) {
      const absl::StatusOr<StoredProcess> stored =
          durable.store().ReadProcess(pid, DurableStore::WithoutState);
      if (stored.ok()) return InfoOf(*stored);
    }
  }
  return std::nullopt;
}

// Fills a page of a list.
class PageWriter {
 public:
  PageWriter(const ProcessFilter& filter, size_t page_size,
             const LabelTable& labels, const Names& names)
      : filter_(filter),
        page_size_(page_size),
        labels_(labels),
        names_(names) {}

  [[nodiscard]] const ProcessFilter& filter() const { return filter_; }
  [[nodiscard]] const LabelTable& labels() const { return labels_; }

  // False: the page ends before this place.
  bool LooksAt(uint32_t place, size_t cost) {
    if (looked_at_ >= kMaxLookedAt) {
      page_.next_slot = place;
      return false;
    }
    looked_at_ += cost;
    return true;
  }
  // False: the page is full.
  // `wanted`: the bits of Wanted that the process may have; its labels and its
  // name are looked up only if it has these bits.
  bool Add(uint32_t place, std::optional<ProcessInfo> info, uint8_t wanted) {
    if (!info) return true;
    if ((wanted & Wanted::kLabelled) != 0) {
      info->labels = labels_.Find(info->pid);
    }
    if (!Matches(filter_, *info)) return true;
    if (page_.processes.size() == page_size_) {
      page_.next_slot = place;
      return false;
    }
    if ((wanted & Wanted::kNamed) != 0) {
      info->names = names_.NamesOf(info->pid, 1);
    }
    info->place = place;
    page_.processes.push_back(*std::move(info));
    return true;
  }
  ProcessPage TakePage() { return std::move(page_); }

 private:
  const ProcessFilter& filter_;
  const size_t page_size_;
  const LabelTable& labels_;
  const Names& names_;
  size_t looked_at_ = 0;
  ProcessPage page_;
};

// The places of a list: first the slots of the process table, for volatile
// processes, and then the slots of the homes. So a durable process has only one
// place, wherever it is in memory.
constexpr uint32_t kHomesPlace = SlotTable<Process>::kMaxSlots;
// The cost of a read from the store, in units of a read of a slot.
constexpr size_t kReadCost = 64;

bool ListVolatile(const ProcessTable& processes, uint32_t first,
                  PageWriter& page) {
  const uint32_t slots = processes.SlotsInUse();
  const uint8_t needs =
      page.filter().labels.empty() ? uint8_t{0} : Wanted::kLabelled;
  for (uint32_t slot = first; slot < slots; ++slot) {
    if (!page.LooksAt(slot, 1)) return false;
    const Process& process = processes.At(slot);
    if (process.is_durable()) continue;
    std::optional<ProcessInfo> info = ReadSlot(processes, slot, needs);
    if (info && IsHomePid(info->pid)) continue;
    // If these are the bits of the slot's next process, the page may lack a
    // name or have one of no process; the tables go by the PID.
    const uint8_t wanted = process.wanted.load(std::memory_order_relaxed);
    if (!page.Add(slot, std::move(info), wanted)) return false;
  }
  return true;
}

bool ListDurable(const ProcessTable& processes, DurableProcesses& durable,
                 uint32_t first, PageWriter& page) {
  const Homes& homes = *processes.homes();
  const ProcessFilter& filter = page.filter();
  const bool needs_dormant =
      !filter.state || *filter.state == ProcessState::kDormant;
  uint32_t slot = first % Homes::kMaxSlots;
  for (uint32_t home = first / Homes::kMaxSlots; home < kHomes; ++home) {
    const uint32_t slots = homes.SlotsInUse(home);
    for (; slot < slots; ++slot) {
      const uint32_t place = kHomesPlace + home * Homes::kMaxSlots + slot;
      std::optional<Pid> pid = homes.PidIn(home, slot);
      // The labels of a dormant process are in memory, so its entry is read
      // from the store only if they match.
      if (pid && !filter.labels.empty() &&
          !Match(filter.labels, page.labels().Find(*pid))) {
        pid.reset();
      }
      const bool is_dormant = pid && processes.IsDormant(*pid);
      if (!page.LooksAt(place, is_dormant && needs_dormant ? kReadCost : 1)) {
        return false;
      }
      if (!pid || (is_dormant && !needs_dormant)) continue;
      if (!page.Add(place, ReadDurable(processes, durable, *pid),
                    Wanted::kAll)) {
        return false;
      }
    }
    slot = 0;
  }
  return true;
}

}  // namespace

void Runtime::Core::DescribeMore(ProcessInfo& info) const {
  info.names = names.NamesOf(info.pid, ProcessInfo::kMaxDescribed);
  info.labels = labels.Find(info.pid);
  Ties::Described tied = ties.TiesOf(info.pid, ProcessInfo::kMaxDescribed);
  info.links = std::move(tied.links);
  info.monitors = std::move(tied.monitors);
  info.monitored_by = std::move(tied.monitored_by);
}

absl::StatusOr<ProcessInfo> Runtime::Core::Describe(const Pid& pid,
                                                    Owner by) const {
  if (processes.HasHome(pid)) {
    std::optional<ProcessInfo> info = ReadDurable(processes, *durable, pid);
    if (info && Sees(by, info->owner)) {
      if (info->state == ProcessState::kQuarantined) {
        info->quarantine_reason = durable->quarantine().ReasonOf(pid);
      }
      DescribeMore(*info);
      return *std::move(info);
    }
    return processes.WhyNotFound(pid, processes.Lives(pid) ? by : Owner::kAny);
  }
  const FoundProcess found = processes.Find(pid, by);
  if (found) {
    std::optional<ProcessInfo> info = ReadSlot(processes, found->index());
    if (info && info->pid == pid && Sees(by, info->owner)) {
      DescribeMore(*info);
      return *std::move(info);
    }
  }
  // It has just ended, or has not begun yet: `by` may know which.
  return processes.WhyNotFound(pid, found ? Owner::kAny : by);
}

absl::StatusOr<std::string> Runtime::Core::TypeNameOf(const Pid& pid,
                                                      Owner by) const {
  if (!processes.HasHome(pid)) {
    const FoundProcess found = processes.Find(pid, by);
    std::optional<std::string> name =
        found ? ReadTypeName(found) : std::nullopt;
    if (name) return *std::move(name);
  }
  absl::StatusOr<ProcessInfo> info = Describe(pid, by);
  if (!info.ok()) return info.status();
  return std::move(info->process_type);
}

ProcessPage Runtime::Core::ListProcesses(const ProcessFilter& filter,
                                         uint32_t first_slot,
                                         size_t page_size) const {
  PageWriter page(filter, page_size, labels, names);
  if (first_slot < kHomesPlace) {
    if (!ListVolatile(processes, first_slot, page)) return page.TakePage();
    first_slot = kHomesPlace;
  }
  if (processes.homes() != nullptr) {
    ListDurable(processes, *durable, first_slot - kHomesPlace, page);
  }
  return page.TakePage();
}

absl::StatusOr<ProcessInfo> Runtime::Describe(const Pid& pid, Owner by) const {
  return core_->Describe(pid, by);
}

absl::StatusOr<std::string> Runtime::TypeNameOf(const Pid& pid,
                                                Owner by) const {
  return core_->TypeNameOf(pid, by);
}

EndedPage Runtime::ListEnded(const EndedFilter& filter, uint64_t before,
                             size_t page_size) const {
  return core_->results.List(filter, before, page_size,
                             core_->catalog.type_names());
}

ProcessPage Runtime::ListProcesses(const ProcessFilter& filter,
                                   uint32_t first_slot,
                                   size_t page_size) const {
  return core_->ListProcesses(filter, first_slot, page_size);
}

}  // namespace actord::runtime
