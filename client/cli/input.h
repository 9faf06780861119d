// Reads files, standard input and payload arguments; all of it ends early when
// the command is interrupted.
//
// Thread-safety: not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "actord/v1/payload.pb.h"
#include "client/calls/cancellation.h"

namespace actord::client {

// A file, or standard input. Errors name it; CANCELLED after an interruption.
class InputFile {
 public:
  // `path` "-" is `stdin_fd`, which stays open. `cancellation` is borrowed.
  static absl::StatusOr<InputFile> Open(const std::string& path, int stdin_fd,
                                        Cancellation& cancellation);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  // The rest of it; more than `max_bytes` is an error.
  absl::StatusOr<std::string> ReadAll(size_t max_bytes);
  // The next line without its end, or nullopt at the end of the file. A line
  // longer than `max_bytes` is an error.
  absl::StatusOr<std::optional<std::string>> ReadLine(size_t max_bytes);

  // What errors call it.
  [[nodiscard]] const std::string& name() const { return name_; }
  // How much of it was read, 0 to 1; nullopt when its size is not known.
  [[nodiscard]] std::optional<double> Progress() const;

 private:
  InputFile(std::string name, int fd, bool owned, Cancellation& cancellation);
  // Appends what there is to the buffer. False: the end of the file.
  absl::StatusOr<bool> Fill();

  std::string name_;
  int fd_;
  bool owned_;
  Cancellation* cancellation_;
  uint64_t size_bytes_ = 0;  // 0: not known
  uint64_t read_bytes_ = 0;
  std::string buffer_;
  size_t at_ = 0;  // what lies before in `buffer_` was handed out
};

// The most that is read for one payload or line. The daemon's own limit is
// lower; this keeps a wrong file name from filling the memory.
inline constexpr size_t kMaxInputBytes = size_t{64} << 20;

// A payload argument: text as it is, "@path" a file, "-" standard input.
// `content_type` "": told from the data, see GuessContentType.
absl::StatusOr<v1::Payload> ReadPayload(const std::string& argument,
                                        const std::string& content_type,
                                        int stdin_fd,
                                        Cancellation& cancellation);

// "" (which means JSON) for JSON and for nothing, text/plain for other UTF-8,
// otherwise application/octet-stream.
std::string GuessContentType(const std::string& data);

}  // namespace actord::client
