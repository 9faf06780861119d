#include "runtime/settings/command_pattern.h"

#include <gtest/gtest.h>

namespace actord::runtime {
namespace {

TEST(CommandPattern, OverlapsWhatSharesACommand) {
  struct Case {
    const char* a;
    const char* b;
    bool overlap;
  };
  const Case cases[] = {{"a", "a", true},     {"a", "b", false},
                        {"a.*", "a.b", true}, {"a.*", "a", false},
                        {"a.*", "a*", true},  {"a.b*", "a.*", true},
                        {"*", "x*", true},    {"a*", "b*", false}};
  for (const Case& c : cases) {
    EXPECT_EQ(PatternsOverlap(c.a, c.b), c.overlap) << c.a << " " << c.b;
    EXPECT_EQ(PatternsOverlap(c.b, c.a), c.overlap) << c.b << " " << c.a;
  }
}

}  // namespace
}  // namespace actord::runtime
