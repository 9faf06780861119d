#include "runtime/journal/segments.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

namespace {

// Zeros are written in pieces of at most this size.
constexpr size_t kFillBytes = 1 << 20;

}  // namespace

Segments::Segments(const JournalOptions& options, const StoreId& store)
    : options_(options),
      store_(store),
      folder_(FolderOf(options)),
      wanted_(options.spare_segments),
      entered_ns_(options.clock->MonotonicNs()) {}

std::string Segments::FolderOf(const JournalOptions& options) {
  return absl::StrCat(options.directory, "/journal");
}

void Segments::Adopt(std::vector<std::shared_ptr<Segment>> segments,
                     size_t current) {
  const MutexLock lock(mutex_);
  list_.assign(segments.begin(), segments.end());
  current_ = current;
  entered_ns_ = options_.clock->MonotonicNs();
}

std::shared_ptr<Segment> Segments::Current() const {
  const MutexLock lock(mutex_);
  return list_[current_];
}

std::shared_ptr<Segment> Segments::First() const {
  const MutexLock lock(mutex_);
  return list_.front();
}

std::shared_ptr<Segment> Segments::Advance(const Link& link) {
  const uint64_t now = options_.clock->MonotonicNs();
  const MutexLock lock(mutex_);
  if (Spares() < 2) return nullptr;  // (2)
  const uint64_t used_ns = std::max<uint64_t>(now - entered_ns_, 1);
  wanted_ = std::clamp<size_t>(kAheadNs / used_ns + 1, options_.spare_segments,
                               kMostSpares);
  entered_ns_ = now;
  const std::shared_ptr<Segment>& next = list_[current_ + 1];
  next->first_link = link;
  ++current_;
  ACTORD_ASSERT(Spares() > 0, "segments.h (2)");
  return next;
}

std::shared_ptr<Segment> Segments::Holding(uint64_t lsn) const {
  const MutexLock lock(mutex_);
  for (size_t i = current_ + 1; i-- > 0;) {
    if (list_[i]->first_link.lsn <= lsn) return list_[i];
  }
  return nullptr;
}

std::vector<std::shared_ptr<const Segment>> Segments::InUse() const {
  const MutexLock lock(mutex_);
  const auto begin = list_.begin();
  return {begin, begin + static_cast<std::ptrdiff_t>(current_) + 1};
}

std::shared_ptr<Segment> Segments::After(const Segment& segment) const {
  const MutexLock lock(mutex_);
  for (size_t i = 0; i <= current_; ++i) {
    if (list_[i]->place > segment.place) return list_[i];
  }
  return nullptr;
}

bool Segments::HasAny() const {
  const MutexLock lock(mutex_);
  return !list_.empty();
}

bool Segments::HasSpares() const {
  const MutexLock lock(mutex_);
  return !list_.empty() && Spares() >= options_.spare_segments;
}

bool Segments::WantsWork() const {
  const MutexLock lock(mutex_);
  return Spares() < wanted_ || dropped_.size() > options_.spare_segments;
}

Segments::Counts Segments::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

void Segments::DropBefore(uint64_t place) {
  const MutexLock lock(mutex_);
  while (current_ > 0 && list_.front()->place < place) {
    dropped_.push_back(std::move(list_.front()));
    list_.pop_front();
    --current_;
  }
}

std::shared_ptr<Segment> Segments::TakeDropped(size_t keep) {
  const MutexLock lock(mutex_);
  if (dropped_.size() <= keep) return nullptr;
  std::shared_ptr<Segment> segment = std::move(dropped_.front());
  dropped_.pop_front();
  return segment;
}

absl::Status Segments::CleanUp(const Segment& segment) {
  absl::Status status = options_.files->Unlink(segment.path);
  if (absl::IsNotFound(status)) return absl::OkStatus();
  return status;
}

absl::StatusOr<bool> Segments::MakeOne() {
  bool is_wanted = false;
  uint64_t place = 0;
  {
    const MutexLock lock(mutex_);
    if (!list_.empty()) place = list_.back()->end();
    is_wanted = list_.empty() || Spares() < wanted_;
  }
  const std::shared_ptr<Segment> old =
      TakeDropped(is_wanted ? 0 : options_.spare_segments);
  if (!is_wanted) {
    if (old == nullptr) return false;
    if (auto status = CleanUp(*old); !status.ok()) return status;
    return true;
  }
  // A reader may still hold an old segment: its file is unlinked instead.
  const bool recycles = old != nullptr && old.use_count() == 1 &&
                        old->bytes == options_.segment_bytes;
  if (old != nullptr && !recycles) {
    if (auto status = CleanUp(*old); !status.ok()) return status;
  }
  absl::StatusOr<std::shared_ptr<Segment>> made =
      recycles ? Recycle(*old, place) : Make(place);
  if (!made.ok()) return made.status();
  const MutexLock lock(mutex_);
  ACTORD_ASSERT(list_.empty() || list_.back()->end() == (*made)->place,
                "segments.h: a segment begins where the one before it ends");
  list_.push_back(*std::move(made));
  if (recycles) {
    ++counts_.recycled;
  } else {
    ++counts_.made;
    counts_.zero_filled_bytes += options_.segment_bytes;
  }
  return true;
}

absl::Status Segments::CheckSpace() const {
  if (options_.keep_free_bytes == 0) return absl::OkStatus();
  const absl::StatusOr<DiskSpace> space = options_.files->Space(folder_);
  if (!space.ok()) return space.status();
  if (space->available >= options_.segment_bytes + options_.keep_free_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      folder_, ": a segment of ", options_.segment_bytes, " bytes would leave ",
      "less than ", options_.keep_free_bytes, " bytes free"));
}

absl::StatusOr<std::shared_ptr<Segment>> Segments::Make(uint64_t place) {
  if (auto status = CheckSpace(); !status.ok()) return status;
  const std::string unfinished =
      absl::StrCat(folder_, "/", SegmentName(place), ToAbsl(kUnfinishedSuffix));
  absl::StatusOr<std::unique_ptr<File>> file =
      options_.files->Open(unfinished, OpenMode::kCreate);
  if (!file.ok()) return file.status();
  if (auto status = Fill(**file); !status.ok()) {
    if (IsNoRoom(status)) {
      if (auto undo = options_.files->Unlink(unfinished); !undo.ok()) {
        return undo;
      }
    }
    return status;
  }
  return Complete(*std::move(file), unfinished, place);
}

absl::Status Segments::Fill(File& file) {
  const uint64_t bytes = options_.segment_bytes;
  if (auto status = file.Allocate(bytes); !status.ok()) return status;
  const std::string zeros(std::min<uint64_t>(kFillBytes, bytes), '\0');
  for (uint64_t offset = 0; offset < bytes; offset += zeros.size()) {
    const uint64_t count = std::min<uint64_t>(zeros.size(), bytes - offset);
    if (auto status =
            file.Write(offset, std::string_view(zeros).substr(0, count));
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Segment>> Segments::Recycle(const Segment& old,
                                                           uint64_t place) {
  const std::string unfinished =
      absl::StrCat(folder_, "/", SegmentName(place), ToAbsl(kUnfinishedSuffix));
  // From here on no segment has the old name. If a crash undoes this, META
  // still says that the file is before the journal's beginning.
  if (auto status = options_.files->Rename(old.path, unfinished);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<File>> file =
      options_.files->Open(unfinished, OpenMode::kReadWrite);
  if (!file.ok()) return file.status();
  return Complete(*std::move(file), unfinished, place);
}

absl::StatusOr<std::shared_ptr<Segment>> Segments::Complete(
    std::unique_ptr<File> file, const std::string& unfinished, uint64_t place) {
  auto segment = std::make_shared<Segment>();
  segment->path = absl::StrCat(folder_, "/", SegmentName(place));
  segment->place = place;
  segment->bytes = options_.segment_bytes;
  const std::string header =
      EncodeSegmentHeader({store_, place, segment->bytes});
  if (auto status = file->Write(0, header); !status.ok()) return status;
  if (auto status = file->SyncData(); !status.ok()) return status;
  segment->file = std::move(file);
  if (auto status = options_.files->Rename(unfinished, segment->path);
      !status.ok()) {
    return status;
  }
  if (auto status = options_.files->SyncDirectory(folder_); !status.ok()) {
    return status;
  }
  return segment;
}

}  // namespace actord::runtime
