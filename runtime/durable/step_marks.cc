#include "runtime/durable/step_marks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/journal/crc32c.h"

namespace actord::runtime {

// The file: the header, kMaxCounted entries, and a mark for each thread.
struct StepMarks::Header {
  static constexpr uint64_t kMagic = 0x314b'5241'4d54'4341;  // "ACTMARK1"
  static constexpr uint32_t kKilled = 0;
  static constexpr uint32_t kExit = 1;
  static constexpr uint32_t kCrash = 2;
  // A crash outside of a durable step.
  static constexpr uint32_t kElsewhere = UINT32_MAX;

  uint64_t magic = kMagic;
  uint32_t threads = 0;
  uint32_t counted = 0;
  uint32_t crc = 0;  // of the counted entries
  // How the program has ended. The program writes it at its end.
  std::atomic<uint32_t> end = kKilled;
  int32_t signal = 0;
  uint32_t mark = 0;
  uint64_t unused[4] = {};
};

struct StepMarks::Counted {
  uint32_t pid[4] = {};
  uint64_t step = 0;
  uint64_t code = 0;
  uint32_t crashes = 0;
  int32_t signal = 0;
  uint64_t unused[3] = {};
};

namespace {

constexpr size_t kMaxCounted = 256;
constexpr size_t kMarksAt = 64 + kMaxCounted * 64;

// For the signal handler, which has no argument: the marks of the program, and
// the mark of the thread.
constinit std::atomic<StepMarks*> all_marks{nullptr};
constinit thread_local StepMarks::Mark* mark_here = nullptr;
constinit std::atomic<uint64_t> last_instance{0};

void Store(const Pid& pid, uint32_t (&words)[4]) {
  words[0] = pid.node;
  words[1] = pid.incarnation;
  words[2] = pid.slot;
  words[3] = pid.generation;
}

Pid PidIn(const uint32_t (&words)[4]) {
  return {words[0], words[1], words[2], words[3]};
}

// The contents of a file; empty: there is no file.
absl::StatusOr<std::string> ReadAll(FileSystem& files,
                                    const std::string& path) {
  const auto file = files.Open(path, OpenMode::kRead);
  if (absl::IsNotFound(file.status())) return std::string();
  if (!file.ok()) return file.status();
  const absl::StatusOr<uint64_t> size = (*file)->Size();
  if (!size.ok()) return size.status();
  constexpr uint64_t kMostBytes = 64 << 20;
  std::string bytes(std::min(*size, kMostBytes), '\0');
  const absl::StatusOr<size_t> read =
      (*file)->Read(0, bytes.size(), bytes.data());
  if (!read.ok()) return read.status();
  bytes.resize(*read);
  return bytes;
}

// Replaces a file, durably.
absl::Status WriteAll(FileSystem& files, const std::string& directory,
                      const std::string& path, std::string_view bytes) {
  const std::string unfinished = path + ".new";
  if (absl::Status status = files.Unlink(unfinished);
      !status.ok() && !absl::IsNotFound(status)) {
    return status;
  }
  const auto file = files.Open(unfinished, OpenMode::kCreate);
  if (!file.ok()) return file.status();
  absl::Status status = (*file)->Write(0, bytes);
  if (status.ok()) status = (*file)->SyncData();
  if (!status.ok()) {
    files.Unlink(unfinished).IgnoreError();
    return status;
  }
  status = files.Rename(unfinished, path);
  return status.ok() ? files.SyncDirectory(directory) : status;
}

}  // namespace

// The members of the header in their order. The bytes read from a file are not
// aligned, so they are copied.
struct StepMarks::Fields {
  uint64_t magic = 0;
  uint32_t threads = 0;
  uint32_t counted = 0;
  uint32_t crc = 0;
  uint32_t end = 0;
  int32_t signal = 0;
  uint32_t mark = 0;
};

std::vector<StepMarks::Suspect> StepMarks::SuspectsIn(std::string_view bytes) {
  std::vector<Suspect> suspects;
  if (bytes.size() < kMarksAt) return suspects;
  Fields was;
  std::memcpy(static_cast<void*>(&was), bytes.data(), sizeof was);
  if (was.magic != Header::kMagic || was.counted > kMaxCounted ||
      bytes.size() - kMarksAt < uint64_t{was.threads} * sizeof(Mark) ||
      was.crc !=
          Crc32c(bytes.substr(sizeof(Header), was.counted * sizeof(Counted)))) {
    return suspects;
  }
  for (uint32_t i = 0; i < was.counted; ++i) {
    Counted one;
    std::memcpy(static_cast<void*>(&one),
                bytes.data() + sizeof(Header) + i * sizeof one, sizeof one);
    suspects.push_back({.pid = PidIn(one.pid),
                        .step = one.step,
                        .code = one.code,
                        .crashes = one.crashes,
                        .signal = one.signal,
                        .is_new = false});
  }
  for (uint32_t i = 0; i < was.threads; ++i) {
    struct {
      uint32_t used, pid[4];
      uint64_t step, code;
    } mark = {};
    std::memcpy(&mark, bytes.data() + kMarksAt + i * sizeof(Mark), sizeof mark);
    const bool is_meant = was.end == Header::kKilled ||
                          (was.end == Header::kCrash && was.mark == i);
    if (mark.used != 1 || !is_meant) continue;
    Count({.pid = PidIn(mark.pid),
           .step = mark.step,
           .code = mark.code,
           .crashes = 1,
           .signal = was.end == Header::kCrash ? was.signal : 0,
           .is_new = true},
          suspects);
  }
  if (suspects.size() > kMaxCounted) {
    suspects.erase(suspects.begin(), suspects.end() - kMaxCounted);
  }
  return suspects;
}

void StepMarks::Count(Suspect&& suspect, std::vector<Suspect>& suspects) {
  const auto found =
      std::find_if(suspects.begin(), suspects.end(),
                   [&](const Suspect& one) { return one.pid == suspect.pid; });
  if (found != suspects.end()) {
    const bool has_got_on = suspect.signal == 0 && suspect.step > found->step;
    if (found->code == suspect.code && !has_got_on) {
      suspect.crashes = found->crashes + 1;
    }
    suspects.erase(found);
  }
  suspects.push_back(suspect);
}

std::string StepMarks::FileOf(const std::vector<Suspect>& suspects,
                              size_t threads) {
  std::string bytes(kMarksAt + threads * sizeof(Mark), '\0');
  for (size_t i = 0; i < suspects.size(); ++i) {
    const Suspect& one = suspects[i];
    Counted counted;
    Store(one.pid, counted.pid);
    counted.step = one.step;
    counted.code = one.code;
    counted.crashes = one.crashes;
    counted.signal = one.signal;
    std::memcpy(bytes.data() + sizeof(Header) + i * sizeof counted, &counted,
                sizeof counted);
  }
  Fields fields;
  fields.magic = Header::kMagic;
  fields.threads = static_cast<uint32_t>(threads);
  fields.counted = static_cast<uint32_t>(suspects.size());
  fields.crc = Crc32c(std::string_view(bytes).substr(
      sizeof(Header), suspects.size() * sizeof(Counted)));
  fields.end = Header::kKilled;
  std::memcpy(bytes.data(), &fields, sizeof fields);
  return bytes;
}

absl::StatusOr<std::unique_ptr<StepMarks>> StepMarks::Open(
    const Options& options) {
  static_assert(sizeof(Header) == 64 && sizeof(Counted) == 64);
  const std::string path = absl::StrCat(options.directory, "/running");
  const absl::StatusOr<std::string> old = ReadAll(*options.files, path);
  if (!old.ok()) return old.status();
  std::unique_ptr<StepMarks> marks(
      new StepMarks(options.max_crashes, options.threads));
  marks->suspects_ = SuspectsIn(*old);
  absl::Status status = WriteAll(*options.files, options.directory, path,
                                 FileOf(marks->suspects_, options.threads));
  if (status.ok()) status = marks->Map(path);
  if (!status.ok()) return status;
  all_marks.store(marks.get(), std::memory_order_release);
  return marks;
}

absl::Status StepMarks::Map(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return IoError(errno, "open", path);
  bytes_ = kMarksAt + threads_ * sizeof(Mark);
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = errno;
  (void)close(descriptor);
  if (memory == MAP_FAILED) return IoError(error, "mmap", path);
  memory_ = memory;
  return absl::OkStatus();
}

StepMarks::~StepMarks() {
  StepMarks* self = this;
  (void)all_marks.compare_exchange_strong(self, nullptr);
  if (memory_ != nullptr) (void)munmap(memory_, bytes_);
}

StepMarks::Header& StepMarks::header() const {
  return *static_cast<Header*>(memory_);
}

StepMarks::Mark* StepMarks::marks() const {
  return reinterpret_cast<Mark*>(static_cast<char*>(memory_) + kMarksAt);
}

StepMarks::Mark* StepMarks::Take() {
  const size_t number = taken_.fetch_add(1, std::memory_order_relaxed);
  return number < threads_ ? marks() + number : nullptr;
}

StepMarks::StepMarks(uint32_t max_crashes, size_t threads)
    : max_crashes_(max_crashes),
      threads_(threads),
      instance_(last_instance.fetch_add(1, std::memory_order_relaxed) + 1) {}

StepMarks::Mark* StepMarks::OfThisThread() {
  thread_local uint64_t instance = 0;
  thread_local Mark* mine = nullptr;
  if (instance != instance_) {
    mine = Take();
    instance = instance_;
  }
  return mine;
}

StepMarks::Running::Running(Mark* mark, const Pid& pid, uint64_t step,
                            uint64_t code)
    : mark_(mark) {
  if (mark == nullptr) return;
  Store(pid, mark->pid);
  mark->step = step;
  mark->code = code;
  mark->used.store(1, std::memory_order_release);
  mark_here = mark;
}

StepMarks::Running::~Running() {
  if (mark_ == nullptr) return;
  mark_here = nullptr;
  mark_->used.store(0, std::memory_order_release);
}

const StepMarks::Suspect* StepMarks::Find(const Pid& pid, uint64_t code) const {
  for (const Suspect& suspect : suspects_) {
    if (suspect.pid == pid && suspect.code == code) return &suspect;
  }
  return nullptr;
}

std::string StepMarks::SignalText(int signal) {
  const char* const name = signal == 0 ? nullptr : sigabbrev_np(signal);
  if (name != nullptr) return absl::StrCat("SIG", name);
  return signal == 0 ? "SIGKILL or a loss of power"
                     : absl::StrCat("signal ", signal);
}

void StepMarks::Forget(const Pid& pid) {
  const MutexLock lock(forgetting_);
  const auto found =
      std::find_if(suspects_.begin(), suspects_.end(),
                   [&](const Suspect& one) { return one.pid == pid; });
  if (found == suspects_.end()) return;
  auto* const counted =
      reinterpret_cast<Counted*>(static_cast<char*>(memory_) + sizeof(Header));
  counted[found - suspects_.begin()].crashes = 0;
  header().crc = Crc32c({static_cast<const char*>(memory_) + sizeof(Header),
                         suspects_.size() * sizeof(Counted)});
}

void StepMarks::EndCleanly() {
  if (taken_.load(std::memory_order_relaxed) == 0) return;
  header().counted = 0;
  header().crc = Crc32c({});
  header().end.store(Header::kExit, std::memory_order_release);
}

void StepMarks::NoteExit() {
  header().end.store(Header::kExit, std::memory_order_release);
}

void StepMarks::NoteCrash(int signal) {
  StepMarks* const all = all_marks.load(std::memory_order_acquire);
  if (all == nullptr) return;
  Header& header = all->header();
  header.signal = signal;
  header.mark = mark_here == nullptr
                    ? Header::kElsewhere
                    : static_cast<uint32_t>(mark_here - all->marks());
  header.end.store(Header::kCrash, std::memory_order_release);
}

}  // namespace actord::runtime
