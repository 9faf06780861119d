// Finds the function of an address in the file of a program or a library, with
// system calls alone: dladdr takes the dynamic linker's lock, which another
// thread may hold for as long as a plugin is being loaded, and knows exported
// functions only. A plugin exports none.
//
// Thread-safety: a function of its arguments, which may be called in a signal
// handler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace actord::daemon {

struct Symbol {
  static constexpr size_t kMaxNameBytes = 240;

  // As in the file, so mangled for C++. A longer name is cut.
  std::array<char, kMaxNameBytes> name;
  size_t name_bytes = 0;
  // From the beginning of the function.
  uint64_t offset = 0;

  [[nodiscard]] std::string_view view() const {
    return {name.data(), name_bytes};
  }
};

// `address`: as in the file, so relative to where the file was loaded. Searches
// the symbol table or, if the file was stripped, the table of exported symbols.
// nullopt: the file cannot be read, or has no such function.
[[nodiscard]] std::optional<Symbol> FindSymbol(const char* path,
                                               uint64_t address);

}  // namespace actord::daemon
