#include "runtime/system/fresh_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace actord::runtime {
namespace {

TEST(BringPages, BringsTheWholePagesOfItsMemoryAndNoOthers) {
  constexpr size_t kPages = 8;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // Pages stay small: touching one page must not bring its neighbours.
  (void)madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  if (madvise(memory, 0, MADV_POPULATE_WRITE) != 0) {
    GTEST_SKIP() << "the kernel does not know how";
  }
  auto* const bytes = static_cast<std::byte*>(memory);
  BringPages(bytes + page + 1, page - 1);  // no whole page
  BringPages(bytes + 2 * page + 1, 4 * page - 1);
  std::array<unsigned char, kPages> resident{};
  ASSERT_EQ(mincore(memory, kPages * page, resident.data()), 0);
  for (size_t i = 0; i < kPages; ++i) {
    EXPECT_EQ((resident[i] & 1) != 0, i >= 3 && i < 6) << "page " << i;
  }
  EXPECT_EQ(bytes[3 * page], std::byte{0});
  EXPECT_EQ(munmap(memory, kPages * page), 0);
}

}  // namespace
}  // namespace actord::runtime
