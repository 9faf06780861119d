// Reads files, standard input and payload arguments. Every read ends early when
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
#include "client/cli/invocation.h"

namespace actord::client {

// A file, or standard input. Errors name it; CANCELLED after an interruption.
class InputFile {
 public:
  // `path` "-" is `stdin_fd`, which stays open. Borrows `cancellation`.
  static absl::StatusOr<InputFile> Open(const std::string& path, int stdin_fd,
                                        Cancellation& cancellation);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  // Reads the rest of the file; more than `max_bytes` is an error.
  absl::StatusOr<std::string> ReadAll(size_t max_bytes);
  // Reads the next line without its line end; nullopt at the end of the file. A
  // line longer than `max_bytes` is an error.
  absl::StatusOr<std::optional<std::string>> ReadLine(size_t max_bytes);

  // The name of the file in errors.
  [[nodiscard]] const std::string& name() const { return name_; }
  // The part of the file that was read, 0 to 1; nullopt if its size is unknown.
  [[nodiscard]] std::optional<double> Progress() const;

 private:
  InputFile(std::string name, int fd, bool owned, Cancellation& cancellation);
  // Appends available bytes to the buffer. False: the end of the file.
  absl::StatusOr<bool> Fill();

  std::string name_;
  int fd_;
  bool owned_;
  Cancellation* cancellation_;
  // 0: unknown.
  uint64_t size_bytes_ = 0;
  uint64_t read_bytes_ = 0;
  std::string buffer_;
  // The bytes of `buffer_` before this index were returned.
  size_t at_ = 0;
};

// Maximum size of one payload or line. The daemon's limit is lower; this limit
// keeps a wrong file name from filling the memory.
inline constexpr size_t kMaxInputBytes = size_t{64} << 20;

// Reads a payload argument: literal text, "@path" for a file, "-" for standard
// input. If `content_type` is "", GuessContentType guesses it.
absl::StatusOr<v1::Payload> ReadPayload(const std::string& argument,
                                        const std::string& content_type,
                                        int stdin_fd,
                                        Cancellation& cancellation);

// The same for a command. Warns on standard error if the data begins like JSON,
// is not JSON, and is sent as text/plain because no content type was given.
absl::StatusOr<v1::Payload> ReadPayload(Invocation& invocation,
                                        const std::string& argument,
                                        const std::string& content_type);

// Returns "" (which means JSON) for JSON and for empty data, text/plain for
// other UTF-8, and application/octet-stream otherwise.
std::string GuessContentType(const std::string& data);

}  // namespace actord::client
