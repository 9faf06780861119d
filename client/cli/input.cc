#include "client/cli/input.h"

#include <actord/text.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "client/output/exit_status.h"
#include "client/output/json.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;

// Unit: bytes.
constexpr size_t kMaxReasonBytes = 120;
constexpr char kPlainText[] = "text/plain";

bool LooksLikeJson(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos &&
         (text[first] == '{' || text[first] == '[');
}

// With the place of the first error. A long quotation is left out.
std::string WhyNotJson(const std::string& text) {
  std::string why(CheckJson(text).message());
  if (why.size() > kMaxReasonBytes) why.resize(why.find(", near"));
  return why;
}

absl::Status FileError(const std::string& name, int error) {
  return UsageError(name + ": " + std::generic_category().message(error));
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path, int stdin_fd,
                                          Cancellation& cancellation) {
  if (path == "-") {
    return InputFile("standard input", stdin_fd, false, cancellation);
  }
  // Non-blocking, because opening a FIFO without a writer would block.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(path, errno);
  return InputFile(path, fd, true, cancellation);
}

InputFile::InputFile(std::string name, int fd, bool owned,
                     Cancellation& cancellation)
    : name_(std::move(name)),
      fd_(fd),
      owned_(owned),
      cancellation_(&cancellation) {
  struct stat info {};
  if (fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) {
    size_bytes_ = static_cast<uint64_t>(info.st_size);
  }
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)),
      fd_(other.fd_),
      owned_(std::exchange(other.owned_, false)),
      cancellation_(other.cancellation_),
      size_bytes_(other.size_bytes_),
      read_bytes_(other.read_bytes_),
      buffer_(std::move(other.buffer_)),
      at_(other.at_) {}

InputFile::~InputFile() {
  if (owned_) close(fd_);
}

absl::StatusOr<bool> InputFile::Fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  for (;;) {
    std::array<pollfd, 2> waits = {
        {{.fd = fd_, .events = POLLIN, .revents = 0},
         {.fd = cancellation_->fd(), .events = POLLIN, .revents = 0}}};
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      return FileError(name_, errno);
    }
    if (waits[1].revents != 0) return absl::CancelledError("interrupted");
    if (waits[0].revents == 0) continue;
    const size_t before = buffer_.size();
    buffer_.resize(before + kChunkBytes);
    const ssize_t count = read(fd_, buffer_.data() + before, kChunkBytes);
    const int error = errno;
    buffer_.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count >= 0) {
      read_bytes_ += static_cast<uint64_t>(count);
      return count > 0;
    }
    if (error != EINTR && error != EAGAIN) return FileError(name_, error);
  }
}

absl::StatusOr<std::string> InputFile::ReadAll(size_t max_bytes) {
  for (;;) {
    if (buffer_.size() - at_ > max_bytes) {
      return UsageError(name_ + ": longer than " + ShortBytes(max_bytes));
    }
    const absl::StatusOr<bool> more = Fill();
    if (!more.ok()) return more.status();
    if (!*more) return std::exchange(buffer_, {});
  }
}

absl::StatusOr<std::optional<std::string>> InputFile::ReadLine(
    size_t max_bytes) {
  size_t searched = at_;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(at_, end - at_);
      at_ = end + 1;
      return line;
    }
    if (buffer_.size() - at_ > max_bytes) {
      return UsageError(name_ + ": a line longer than " +
                        ShortBytes(max_bytes));
    }
    // Fill moves the remaining bytes to the front.
    searched = buffer_.size() - at_;
    const absl::StatusOr<bool> more = Fill();
    if (!more.ok()) return more.status();
    if (*more) continue;
    if (buffer_.empty()) return std::nullopt;
    // The last line has no line end.
    return std::exchange(buffer_, {});
  }
}

std::optional<double> InputFile::Progress() const {
  if (size_bytes_ == 0) return std::nullopt;
  const uint64_t handed_out = read_bytes_ - (buffer_.size() - at_);
  return std::min(
      1.0, static_cast<double>(handed_out) / static_cast<double>(size_bytes_));
}

absl::StatusOr<v1::Payload> ReadPayload(const std::string& argument,
                                        const std::string& content_type,
                                        int stdin_fd,
                                        Cancellation& cancellation) {
  v1::Payload payload;
  if (argument == "-" || (!argument.empty() && argument[0] == '@')) {
    const std::string path = argument == "-" ? "-" : argument.substr(1);
    auto file = InputFile::Open(path, stdin_fd, cancellation);
    if (!file.ok()) return file.status();
    auto data = file->ReadAll(kMaxInputBytes);
    if (!data.ok()) return data.status();
    payload.set_data(*std::move(data));
  } else {
    payload.set_data(argument);
  }
  payload.set_content_type(
      content_type.empty() ? GuessContentType(payload.data()) : content_type);
  return payload;
}

absl::StatusOr<v1::Payload> ReadPayload(Invocation& invocation,
                                        const std::string& argument,
                                        const std::string& content_type) {
  const Environment& environment = invocation.environment();
  auto payload = ReadPayload(argument, content_type, environment.stdin_fd,
                             environment.cancellation);
  if (payload.ok() && content_type.empty() &&
      payload->content_type() == kPlainText && LooksLikeJson(payload->data())) {
    invocation.Complain("the text looks like JSON, but is " +
                        WhyNotJson(payload->data()) +
                        "; it is sent as text/plain");
  }
  return payload;
}

std::string GuessContentType(const std::string& data) {
  if (data.empty() || CheckJson(data).ok()) return "";
  return IsUtf8(data) ? kPlainText : "application/octet-stream";
}

}  // namespace actord::client
