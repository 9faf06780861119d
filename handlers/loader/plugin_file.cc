#include "handlers/loader/plugin_file.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace actord::handlers {
namespace {

absl::Status Unreadable() {
  return absl::InvalidArgumentError(
      "cannot be read: " +
      std::error_code(errno, std::generic_category()).message());
}

absl::Status NotLoadable(const std::string& why) {
  return absl::InvalidArgumentError(
      "not a shared object that can be loaded here: " + why);
}

// True if `size` bytes at `offset` are within a file of `file_bytes`.
bool IsWithin(uint64_t offset, uint64_t size, uint64_t file_bytes) {
  return offset <= file_bytes && size <= file_bytes - offset;
}

absl::Status CutShort(uint64_t file_bytes) {
  return NotLoadable("it is cut short at " + std::to_string(file_bytes) +
                     " bytes; install it under another name and rename it");
}

}  // namespace

absl::StatusOr<FileIdentity> IdentityOf(int file) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return Unreadable();
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError("not a file");
  return FileIdentity{info.st_dev, info.st_ino};
}

absl::Status CheckWholeElf(int file) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return Unreadable();
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  ElfW(Ehdr) header = {};
  if (pread(file, &header, sizeof(header), 0) !=
          static_cast<ssize_t>(sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return NotLoadable("it does not begin as an ELF file");
  }
  const int native_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != native_class ||
      header.e_phentsize != sizeof(ElfW(Phdr))) {
    return NotLoadable("it is an ELF file of another kind");
  }
  // Linkers put the section headers last, so this check finds a truncated file.
  if (!IsWithin(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize,
                file_bytes)) {
    return CutShort(file_bytes);
  }
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + uint64_t{i} * sizeof(ElfW(Phdr));
    ElfW(Phdr) segment = {};
    if (!IsWithin(at, sizeof(segment), file_bytes) ||
        pread(file, &segment, sizeof(segment), static_cast<off_t>(at)) !=
            static_cast<ssize_t>(sizeof(segment)) ||
        !IsWithin(segment.p_offset, segment.p_filesz, file_bytes)) {
      return CutShort(file_bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace actord::handlers
