#include "daemon/crash/symbol_file.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace actord::daemon {
namespace {

// A function of this program, which exports nothing.
[[gnu::noinline]] int HiddenFunction(int number) { return number * 3 + 1; }

uint64_t AddressInFile(const void* address) {
  dl_find_object found{};
  EXPECT_EQ(_dl_find_object(const_cast<void*>(address), &found), 0);
  return reinterpret_cast<uintptr_t>(address) -
         static_cast<uint64_t>(found.dlfo_link_map->l_addr);
}

TEST(FindSymbol, KnowsFunctionsThatAreNotExported) {
  const auto* const function = reinterpret_cast<const char*>(&HiddenFunction);
  const auto symbol = FindSymbol("/proc/self/exe", AddressInFile(function) + 1);
  ASSERT_TRUE(symbol);
  EXPECT_NE(symbol->view().find("HiddenFunction"), std::string_view::npos)
      << symbol->view();
  EXPECT_EQ(symbol->offset, 1u);
}

TEST(FindSymbol, KnowsExportedFunctionsOfStrippedFiles) {
  const void* const function = dlsym(RTLD_DEFAULT, "getenv");
  Dl_info info{};
  ASSERT_NE(dladdr(function, &info), 0);
  if (info.dli_fname == nullptr ||
      std::string(info.dli_fname).find("libc.so") == std::string::npos) {
    GTEST_SKIP() << "a sanitizer has put its own function before this one";
  }
  const auto symbol = FindSymbol(info.dli_fname, AddressInFile(function));
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->offset, 0u);
}

TEST(FindSymbol, FindsNoSymbolForAnotherAddressOrFile) {
  EXPECT_FALSE(FindSymbol("/proc/self/exe", 0));
  EXPECT_FALSE(FindSymbol("/proc/self/exe", UINT64_MAX));
  EXPECT_FALSE(FindSymbol("/nowhere", 0x1000));
  EXPECT_FALSE(FindSymbol("/dev/null", 0x1000));
  EXPECT_FALSE(FindSymbol("/proc/self/status", 0x1000));
}

// Every prefix of a file, and a file whose tables point anywhere.
TEST(FindSymbol, BearsDamagedFiles) {
  const std::string path =
      ::testing::TempDir() + "symbol_file_test." + std::to_string(getpid());
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string bytes(4096, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (size_t size = 0; size < 200; ++size) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        << bytes.substr(0, size);
    EXPECT_FALSE(FindSymbol(path.c_str(), 0x1000));
  }
  // The offset of the sections: somewhere in the file, with their number and
  // size kept.
  for (uint64_t offset = 0; offset < 4000; offset += 37) {
    std::string damaged = bytes;
    std::memcpy(&damaged[offsetof(ElfW(Ehdr), e_shoff)], &offset,
                sizeof(offset));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    EXPECT_FALSE(FindSymbol(path.c_str(), UINT64_MAX));
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace actord::daemon
