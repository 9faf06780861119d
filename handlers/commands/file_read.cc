#include "handlers/commands/file_read.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

// Reads to the end, but at most `max_bytes` + 1: the size that a file states
// may be outdated by the time it is read.
Status ReadAll(int fd, size_t size_hint, size_t max_bytes, std::string& bytes) {
  constexpr size_t kChunkBytes = 64 << 10;
  bytes.resize(std::min(size_hint, max_bytes) + 1);
  size_t done = 0;
  while (done <= max_bytes) {
    if (done == bytes.size()) {
      bytes.resize(std::min(done + kChunkBytes, max_bytes + 1));
    }
    const ssize_t n = read(fd, bytes.data() + done, bytes.size() - done);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) {
      return {Code::kUnavailable,
              std::error_code(errno, std::generic_category()).message()};
    }
    if (n > 0) done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return {};
}

}  // namespace

Reply FileRead::Handle(const Command& command) const {
  JsonReader json(command.payload(), R"({"path": text})", {"path"});
  const std::string path = json.Text("path");
  if (!json.status().ok()) return json.status();

  UniqueFd file;
  if (Status status = directories_.OpenFile(path, file); !status.ok()) {
    return status;
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Status(Code::kFailedPrecondition,
                  "'" + path + "' is not a regular file");
  }
  std::string bytes;
  Status status =
      ReadAll(file.get(), static_cast<size_t>(info.st_size), max_bytes_, bytes);
  if (!status.ok()) {
    return Status(status.code(), "'" + path + "': " + status.message());
  }
  if (bytes.size() > max_bytes_) {
    return Status(Code::kResourceExhausted,
                  "'" + path + "' is larger than the limit of " +
                      std::to_string(max_bytes_) + " bytes");
  }
  return Reply(std::move(bytes), "application/octet-stream");
}

}  // namespace actord::handlers
