#include "runtime/journal/committer.h"

#include "runtime/system/assert.h"

namespace actord::runtime {

void Committer::Begin(const Link& link, uint64_t next_place,
                      uint64_t incarnation) {
  segment_ = segments_.Current();
  link_ = link;
  place_ = next_place;
  incarnation_ = incarnation;
}

bool Committer::FindRoom(uint64_t bytes) {
  if (HasRoom(bytes)) return true;
  std::shared_ptr<Segment> next = segments_.Advance(link_);
  if (next == nullptr) return false;
  segment_ = std::move(next);
  place_ = segment_->first_group_place();
  return true;
}

absl::Status Committer::Write(uint32_t records) {
  GroupHeader header;
  header.place = place_;
  header.incarnation = incarnation_;
  header.records = records;
  const std::string& bytes = writer_.Finish(store_, link_, header);
  ACTORD_ASSERT(place_ + bytes.size() <= segment_->end(),
                "committer.h: the segment has room for the group");
  counts_.since_ns.store(clock_.MonotonicNs(), std::memory_order_relaxed);
  if (auto status = segment_->file->Write(place_ - segment_->place, bytes);
      !status.ok()) {
    return status;
  }
  if (auto status = segment_->file->SyncData(); !status.ok()) return status;
  counts_.since_ns.store(0, std::memory_order_relaxed);
  place_ += bytes.size();
  link_ = {header.place, place_, header.chain, header.lsn + header.bytes};
  is_sealed_ = records == 0;
  Count(counts_.groups, 1);
  Count(counts_.records, records);
  Count(counts_.record_bytes, header.bytes);
  Count(counts_.written_bytes, bytes.size());
  if (records == 0) Count(counts_.seals, 1);
  return absl::OkStatus();
}

}  // namespace actord::runtime
