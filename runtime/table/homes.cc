#include "runtime/table/homes.h"

#include <algorithm>

#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

uint64_t NameOf(const Pid& pid) {
  return uint64_t{pid.incarnation} << 32 | pid.generation;
}

constexpr uint64_t PackedOf(const ProcessSlot& resident) {
  return uint64_t{resident.slot} << 32 | resident.generation;
}

constexpr uint64_t kDormantResident = PackedOf({ProcessSlot::kDormant, 0});

// Null: there is no such chunk, and `make` is false.
template <typename Chunk>
Chunk* ChunkAt(std::atomic<Chunk*>& place) {
  Chunk* chunk = place.load(std::memory_order_acquire);
  if (chunk != nullptr) return chunk;
  auto made = std::make_unique<Chunk>();
  if (place.compare_exchange_strong(chunk, made.get(),
                                    std::memory_order_acq_rel)) {
    return made.release();
  }
  return chunk;
}

}  // namespace

Homes::Homes(uint32_t epoch)
    : epoch_(epoch),
      homes_(std::make_unique<std::array<Home, kHomes>>()),
      named_(std::make_unique<
             std::array<std::atomic<NamedChunk*>, kResidentChunks>>()) {
  ACTORD_ASSERT(epoch != 0, "homes.h: an epoch is not 0");
}

Homes::~Homes() {
  for (Home& home : *homes_) {
    for (auto& chunk : home.chunks) {
      delete chunk.load(std::memory_order_relaxed);
    }
  }
  for (auto& chunk : *named_) delete chunk.load(std::memory_order_relaxed);
}

std::optional<Pid> Homes::Draw(uint32_t home_number) {
  ACTORD_ASSERT(home_number < kHomes, "homes.h: there is such a home");
  if (used_.fetch_add(1, std::memory_order_relaxed) < max_) {
    if (const std::optional<Pid> pid = DrawFrom(home_number)) return pid;
  }
  used_.fetch_sub(1, std::memory_order_relaxed);
  return std::nullopt;
}

std::optional<Pid> Homes::DrawFrom(uint32_t home_number) {
  Home& home = (*homes_)[home_number];
  const MutexLock lock(home.mutex);
  if (!home.free.empty()) {
    const ProcessSlot free = home.free.back();
    home.free.pop_back();
    return HomePid(home_number, epoch_, free.slot, free.generation);
  }
  while (home.next < home.kept.size() && home.kept[home.next]) ++home.next;
  if (home.next >= kMaxSlots) return std::nullopt;
  return HomePid(home_number, epoch_, home.next++, 1);
}

bool Homes::Keep(const Pid& pid) {
  if (!IsHomePid(pid) || HomeOf(pid) >= kHomes || pid.slot >= kMaxSlots ||
      pid.incarnation == 0 || pid.incarnation >= epoch_ ||
      (pid.generation & 1) == 0) {
    return false;
  }
  Home& home = (*homes_)[HomeOf(pid)];
  const MutexLock lock(home.mutex);
  ACTORD_ASSERT(pid.slot >= home.next, "homes.h: Keep comes before Draw");
  if (home.kept.size() <= pid.slot) home.kept.resize(pid.slot + 1);
  home.kept[pid.slot] = true;
  used_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Homes::Entry& Homes::MakeEntry(Home& home, uint32_t slot) {
  return (*ChunkAt(home.chunks[slot / kChunkEntries]))[slot % kChunkEntries];
}

Homes::Named& Homes::MakeNamed(uint32_t slot) {
  return (*ChunkAt((*named_)[slot / kChunkEntries]))[slot % kChunkEntries];
}

void Homes::NameResident(const Pid& pid, const ProcessSlot& resident) {
  Named& named = MakeNamed(resident.slot);
  named.generation.store(0, std::memory_order_relaxed);
  named.pid.Store(pid);
  named.generation.store(resident.generation, std::memory_order_release);
  FailPoint();
}

void Homes::Enter(const Pid& pid, const ProcessSlot& resident) {
  ACTORD_ASSERT(MayHaveLived(pid) && (resident.generation & 1) != 0,
                "homes.h: the generation of a resident is odd");
  NameResident(pid, resident);
  Entry& entry = MakeEntry((*homes_)[HomeOf(pid)], pid.slot);
  entry.name.store(0, std::memory_order_relaxed);
  entry.resident.store(PackedOf(resident), std::memory_order_release);
  FailPoint();
  entry.name.store(NameOf(pid), std::memory_order_release);
}

void Homes::EnterDormant(const Pid& pid) {
  ACTORD_ASSERT(MayHaveLived(pid), "homes.h: Keep has had the PID");
  Entry& entry = MakeEntry((*homes_)[HomeOf(pid)], pid.slot);
  entry.resident.store(kDormantResident, std::memory_order_relaxed);
  entry.name.store(NameOf(pid), std::memory_order_release);
  dormant_.fetch_add(1, std::memory_order_relaxed);
}

void Homes::Sleep(const Pid& pid, uint32_t note) {
  ACTORD_ASSERT(Find(pid) && !Find(pid)->is_dormant(),
                "homes.h: the process is resident");
  Home& home = (*homes_)[HomeOf(pid)];
  home.sleeps.fetch_add(1, std::memory_order_relaxed);
  // Release: a thread that sees the even generation of the slot sees this
  // place.
  MakeEntry(home, pid.slot)
      .resident.store(PackedOf({ProcessSlot::kDormant, note}),
                      std::memory_order_release);
  dormant_.fetch_add(1, std::memory_order_relaxed);
  FailPoint();
}

uint32_t Homes::NoteOf(const Pid& pid) const {
  const std::optional<ProcessSlot> place = Find(pid);
  ACTORD_ASSERT(place && place->is_dormant(),
                "homes.h: the process is dormant");
  return place->generation;
}

void Homes::Wake(const Pid& pid, const ProcessSlot& resident) {
  ACTORD_ASSERT(Find(pid) && Find(pid)->is_dormant(),
                "homes.h: the process is dormant");
  ACTORD_ASSERT((resident.generation & 1) != 0,
                "homes.h: the generation of a resident is odd");
  MakeEntry((*homes_)[HomeOf(pid)], pid.slot)
      .resident.store(PackedOf(resident), std::memory_order_release);
  dormant_.fetch_sub(1, std::memory_order_relaxed);
}

void Homes::RefuseWakes() {
  refuses_wakes_.store(true, std::memory_order_relaxed);
  FailPoint();
  for (Home& home : *homes_) {
    const MutexLock lock(home.residency);
  }
}

void Homes::Leave(const Pid& pid) {
  used_.fetch_sub(1, std::memory_order_relaxed);
  Home& home = (*homes_)[HomeOf(pid)];
  MakeEntry(home, pid.slot).name.store(0, std::memory_order_release);
  FailPoint();
  // A slot of this opening has its next generation. The generations of earlier
  // openings begin anew, because their epochs were lower.
  const bool is_new = pid.incarnation == epoch_;
  if (is_new && pid.generation >= UINT32_MAX - 2) return;  // used up
  const uint32_t next = is_new ? pid.generation + 2 : 1;
  const MutexLock lock(home.mutex);
  home.free.push_back({pid.slot, next});
}

const Homes::Entry* Homes::FindEntry(const Pid& pid) const {
  if (HomeOf(pid) >= kHomes || pid.slot >= kMaxSlots) return nullptr;
  const EntryChunk* const chunk =
      (*homes_)[HomeOf(pid)].chunks[pid.slot / kChunkEntries].load(
          std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[pid.slot % kChunkEntries];
}

std::optional<ProcessSlot> Homes::Find(const Pid& pid) const {
  const Entry* const entry = IsHomePid(pid) ? FindEntry(pid) : nullptr;
  const uint64_t name = NameOf(pid);
  if (entry == nullptr || pid.generation == 0 ||
      entry->name.load(std::memory_order_acquire) != name) {
    return std::nullopt;
  }
  FailPoint();
  const uint64_t resident = entry->resident.load(std::memory_order_acquire);
  FailPoint();
  if (entry->name.load(std::memory_order_relaxed) != name) return std::nullopt;
  return ProcessSlot{static_cast<uint32_t>(resident >> 32),
                     static_cast<uint32_t>(resident)};
}

std::optional<Pid> Homes::PidOf(const ProcessSlot& resident) const {
  const NamedChunk* const chunk =
      (*named_)[resident.slot / kChunkEntries].load(std::memory_order_acquire);
  if (chunk == nullptr) return std::nullopt;
  const Named& named = (*chunk)[resident.slot % kChunkEntries];
  if (named.generation.load(std::memory_order_acquire) != resident.generation) {
    return std::nullopt;
  }
  const Pid pid = named.pid.Load();
  FailPoint();
  return named.generation.load(std::memory_order_relaxed) == resident.generation
             ? std::optional(pid)
             : std::nullopt;
}

bool Homes::MayHaveLived(const Pid& pid) const {
  return IsHomePid(pid) && HomeOf(pid) < kHomes && pid.slot < kMaxSlots &&
         pid.incarnation != 0 && pid.incarnation <= epoch_ &&
         (pid.generation & 1) != 0;
}

bool Homes::HasEnded(const Pid& pid) const {
  return MayHaveLived(pid) && !Find(pid).has_value();
}

uint32_t Homes::SlotsInUse(uint32_t home_number) const {
  const Home& home = (*homes_)[home_number];
  const MutexLock lock(home.mutex);
  return std::max(home.next, static_cast<uint32_t>(home.kept.size()));
}

std::optional<Pid> Homes::PidIn(uint32_t home, uint32_t slot) const {
  const EntryChunk* const chunk =
      (*homes_)[home].chunks[slot / kChunkEntries].load(
          std::memory_order_acquire);
  if (chunk == nullptr) return std::nullopt;
  const uint64_t name =
      (*chunk)[slot % kChunkEntries].name.load(std::memory_order_acquire);
  if (name == 0) return std::nullopt;
  return HomePid(home, static_cast<uint32_t>(name >> 32), slot,
                 static_cast<uint32_t>(name));
}

}  // namespace actord::runtime
