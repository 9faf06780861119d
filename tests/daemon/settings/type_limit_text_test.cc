#include "daemon/settings/type_limit_text.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

TEST(TypeLimitText, ReadsBackToTheSame) {
  const auto limit = ParseTypeLimitText("order 10000");
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_EQ(limit->process_type, "order");
  EXPECT_EQ(limit->max_processes, 10'000u);
  EXPECT_EQ(FormatTypeLimitText(*limit), "order 10000");
  EXPECT_EQ(FormatTypeLimitText(*ParseTypeLimitText("  a.b   7 ")), "a.b 7");
}

TEST(TypeLimitText, RefusesInvalidTexts) {
  for (const char* text :
       {"", " ", "order", "10000", "order 1 2", "order -1", "order x",
        "order 1k", "order 99999999999999999999"}) {
    const auto limit = ParseTypeLimitText(text);
    EXPECT_EQ(limit.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace actord::daemon
