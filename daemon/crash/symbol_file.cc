#include "daemon/crash/symbol_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace actord::daemon {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Entry = ElfW(Sym);

// Protects against a file that claims a table without end.
constexpr uint64_t kMaxEntries = uint64_t{1} << 24;

class File {
 public:
  explicit File(const char* path)
      : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Reads up to `bytes` bytes, and returns their number.
  size_t ReadSome(void* to, size_t bytes, uint64_t at) const {
    const ssize_t count = pread(descriptor_, to, bytes, static_cast<off_t>(at));
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  template <typename T>
  bool Read(T& value, uint64_t at) const {
    return ReadSome(&value, sizeof(value), at) == sizeof(value);
  }

 private:
  const int descriptor_;
};

bool ReadSection(const File& file, const Header& header, uint64_t index,
                 Section& section) {
  return index < header.e_shnum &&
         file.Read(section, header.e_shoff + index * header.e_shentsize);
}

// The best table of symbols; false: there is none.
bool FindTable(const File& file, const Header& header, Section& table) {
  bool found = false;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Section section;
    if (!ReadSection(file, header, i, section)) break;
    if (section.sh_entsize != sizeof(Entry)) continue;
    if (section.sh_type == SHT_SYMTAB) {
      table = section;
      return true;
    }
    if (section.sh_type == SHT_DYNSYM) {
      table = section;
      found = true;
    }
  }
  return found;
}

bool Contains(const Entry& entry, uint64_t address) {
  // The bits of the type are the same in both ELF classes.
  const bool is_code =
      ELF64_ST_TYPE(entry.st_info) == STT_FUNC && entry.st_shndx != SHN_UNDEF;
  return is_code && address >= entry.st_value &&
         address - entry.st_value < std::max<uint64_t>(entry.st_size, 1);
}

bool FindEntry(const File& file, const Section& table, uint64_t address,
               Entry& found) {
  std::array<Entry, 128> chunk;
  const uint64_t count = std::min(table.sh_size / sizeof(Entry), kMaxEntries);
  for (uint64_t first = 0; first < count; first += chunk.size()) {
    const size_t wanted = std::min<uint64_t>(chunk.size(), count - first);
    const size_t bytes = file.ReadSome(chunk.data(), wanted * sizeof(Entry),
                                       table.sh_offset + first * sizeof(Entry));
    for (size_t i = 0; i < bytes / sizeof(Entry); ++i) {
      if (!Contains(chunk[i], address)) continue;
      found = chunk[i];
      return true;
    }
    if (bytes < wanted * sizeof(Entry)) return false;
  }
  return false;
}

}  // namespace

std::optional<Symbol> FindSymbol(const char* path, uint64_t address) {
  const File file(path);
  Header header;
  Section table;
  Section names;
  Entry entry;
  if (!file.Read(header, 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_shentsize != sizeof(Section) ||
      !FindTable(file, header, table) ||
      !FindEntry(file, table, address, entry) ||
      !ReadSection(file, header, table.sh_link, names)) {
    return std::nullopt;
  }
  Symbol symbol;
  const size_t bytes = file.ReadSome(symbol.name.data(), symbol.name.size(),
                                     names.sh_offset + entry.st_name);
  symbol.name_bytes = strnlen(symbol.name.data(), bytes);
  symbol.offset = address - entry.st_value;
  return symbol;
}

}  // namespace actord::daemon
