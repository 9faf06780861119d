#include "handlers/loader/plugin_file.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

// The table of segments. Precondition: CheckWholeElf succeeded.
std::vector<ElfW(Phdr)> SegmentsOf(int file) {
  ElfW(Ehdr) header = {};
  if (pread(file, &header, sizeof(header), 0) !=
      static_cast<ssize_t>(sizeof(header))) {
    return {};
  }
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  const size_t bytes = segments.size() * sizeof(segments[0]);
  if (pread(file, segments.data(), bytes, static_cast<off_t>(header.e_phoff)) !=
      static_cast<ssize_t>(bytes)) {
    return {};
  }
  return segments;
}

// Reads a text that ends with a zero byte; "": there is none.
std::string TextAt(int file, uint64_t offset) {
  constexpr size_t kMaxBytes = 4096;
  std::string text(kMaxBytes, '\0');
  const ssize_t size =
      pread(file, text.data(), text.size(), static_cast<off_t>(offset));
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  const size_t end = text.find('\0');
  return end == std::string::npos ? "" : text.substr(0, end);
}

// The offset in the file of the byte that the linker puts at this address;
// nullopt: no byte of the file is there.
std::optional<uint64_t> OffsetOf(const std::vector<ElfW(Phdr)>& segments,
                                 uint64_t address) {
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

// Whether a list of directories, separated by colons, has a relative directory.
bool HasRelative(std::string_view directories) {
  if (directories.find("$ORIGIN") != std::string_view::npos ||
      directories.find("${ORIGIN}") != std::string_view::npos) {
    return true;
  }
  for (;;) {
    const size_t colon = directories.find(':');
    if (!directories.starts_with('/')) return true;
    if (colon == std::string_view::npos) return false;
    directories.remove_prefix(colon + 1);
  }
}

// The entries of the dynamic section.
std::vector<ElfW(Dyn)> DynamicOf(int file,
                                 const std::vector<ElfW(Phdr)>& segments) {
  constexpr size_t kMaxEntries = 4096;
  std::vector<ElfW(Dyn)> entries;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    entries.resize(
        std::min<uint64_t>(kMaxEntries, segment.p_filesz / sizeof(ElfW(Dyn))));
    const size_t bytes = entries.size() * sizeof(ElfW(Dyn));
    if (pread(file, entries.data(), bytes,
              static_cast<off_t>(segment.p_offset)) !=
        static_cast<ssize_t>(bytes)) {
      entries.clear();
    }
  }
  return entries;
}

}  // namespace

absl::Status CheckLibraryPaths(int file) {
  const std::vector<ElfW(Phdr)> segments = SegmentsOf(file);
  const std::vector<ElfW(Dyn)> entries = DynamicOf(file, segments);
  std::optional<uint64_t> texts;
  for (const ElfW(Dyn) & entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) texts = OffsetOf(segments, entry.d_un.d_ptr);
  }
  for (const ElfW(Dyn) & entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    const bool is_path = entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH;
    if (!texts || (!is_path && entry.d_tag != DT_NEEDED)) continue;
    const std::string text = TextAt(file, *texts + entry.d_un.d_val);
    const bool is_relative =
        is_path ? HasRelative(text)
                : text.find('/') != std::string::npos && !text.starts_with('/');
    if (is_relative) {
      return NotLoadable(
          std::string(is_path ? "its RUNPATH is" : "it needs the library") +
          " '" + text +
          "', which is relative to a directory, and the daemon loads a copy "
          "from another directory; link with absolute paths, or statically");
    }
  }
  return absl::OkStatus();
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
