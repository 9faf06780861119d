#include "runtime/files/file_system.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {

namespace {

absl::StatusCode CodeOfIoError(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return absl::StatusCode::kResourceExhausted;
    case EIO:
      return absl::StatusCode::kDataLoss;
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status IoError(int error_number, std::string_view what,
                     std::string_view path) {
  return {CodeOfIoError(error_number),
          absl::StrCat(ToAbsl(what), " ", ToAbsl(path), ": ",
                       std::strerror(error_number))};
}

bool IsNoRoom(const absl::Status& status) {
  return absl::IsResourceExhausted(status);
}

absl::Status File::Write(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const absl::StatusOr<size_t> written = WriteSome(offset, bytes);
    if (!written.ok()) return written.status();
    if (*written == 0 || *written > bytes.size()) {
      return absl::InternalError("a write has written no byte, or too many");
    }
    offset += *written;
    bytes.remove_prefix(*written);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> File::Read(uint64_t offset, size_t bytes, char* into) {
  size_t done = 0;
  while (done < bytes) {
    const absl::StatusOr<size_t> read =
        ReadSome(offset + done, bytes - done, into + done);
    if (!read.ok()) return read.status();
    if (*read == 0) break;
    done += *read;
  }
  return done;
}

}  // namespace actord::runtime
