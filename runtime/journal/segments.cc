#include "runtime/journal/segments.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

namespace {

// Zeros are written in pieces of at most this size.
constexpr size_t kFillBytes = 1 << 20;

// The status of a call, after its file is gone if there was no room for it: the
// next attempt makes the file anew.
absl::Status Undone(FileSystem& files, const std::string& path,
                    const absl::Status& status) {
  if (!IsNoRoom(status)) return status;
  const absl::Status undo = files.Unlink(path);
  return undo.ok() ? status : undo;
}

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
  return Spares() < Wanted() || dropped_.size() > Kept() ||
         (is_short_ && Spares() > options_.spare_segments);
}

void Segments::SetShort(bool is_short) {
  const MutexLock lock(mutex_);
  is_short_ = is_short;
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

std::shared_ptr<Segment> Segments::TakeOld(bool is_wanted) {
  std::shared_ptr<Segment> segment;
  if (dropped_.size() > (is_wanted ? 0 : Kept())) {
    segment = std::move(dropped_.front());
    dropped_.pop_front();
  } else if (is_short_ && !list_.empty() &&
             Spares() > options_.spare_segments) {
    segment = std::move(list_.back());
    list_.pop_back();
  }
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
  uint64_t keep_free_bytes = options_.keep_free_bytes;
  std::shared_ptr<Segment> old;
  {
    const MutexLock lock(mutex_);
    if (!list_.empty()) place = list_.back()->end();
    is_wanted = list_.empty() || Spares() < Wanted();
    if (!list_.empty() && Spares() >= options_.spare_segments) {
      keep_free_bytes =
          std::max(keep_free_bytes, options_.keep_free_of_spares_bytes);
    }
    old = TakeOld(is_wanted);
  }
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
      recycles ? Recycle(*old, place) : Make(place, keep_free_bytes);
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

absl::Status Segments::CheckSpace(uint64_t keep_free_bytes) const {
  if (keep_free_bytes == 0) return absl::OkStatus();
  const absl::StatusOr<DiskSpace> space = options_.files->Space(folder_);
  if (!space.ok()) return space.status();
  if (space->available >= options_.segment_bytes + keep_free_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      folder_, ": a segment of ", options_.segment_bytes, " bytes would leave ",
      "less than ", keep_free_bytes, " bytes free"));
}

absl::StatusOr<std::shared_ptr<Segment>> Segments::Make(
    uint64_t place, uint64_t keep_free_bytes) {
  if (auto status = CheckSpace(keep_free_bytes); !status.ok()) return status;
  const std::string unfinished =
      absl::StrCat(folder_, "/", SegmentName(place), ToAbsl(kUnfinishedSuffix));
  absl::StatusOr<std::unique_ptr<File>> file =
      options_.files->Open(unfinished, OpenMode::kCreate);
  if (!file.ok()) return file.status();
  if (auto status = Fill(**file); !status.ok()) {
    return Undone(*options_.files, unfinished, status);
  }
  return Complete(*std::move(file), unfinished, place);
}

absl::Status Segments::Fill(File& file) {
  const uint64_t bytes = options_.segment_bytes;
  if (auto status = file.Allocate(bytes); !status.ok()) return status;
  // From the system, whose zero pages take no memory. Kept for good.
  static const void* const zeros = std::calloc(1, kFillBytes);
  if (zeros == nullptr) throw std::bad_alloc();
  for (uint64_t offset = 0; offset < bytes; offset += kFillBytes) {
    const uint64_t count = std::min<uint64_t>(kFillBytes, bytes - offset);
    if (auto status =
            file.Write(offset, {static_cast<const char*>(zeros), count});
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
    return Undone(*options_.files, old.path, status);
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
  absl::Status status = file->Write(0, header);
  if (status.ok()) status = file->SyncData();
  if (status.ok()) status = options_.files->Rename(unfinished, segment->path);
  if (!status.ok()) return Undone(*options_.files, unfinished, status);
  segment->file = std::move(file);
  status = options_.files->SyncDirectory(folder_);
  if (!status.ok()) return status;
  return segment;
}

}  // namespace actord::runtime
