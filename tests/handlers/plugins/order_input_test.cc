// The errors of the example plugin `order` for inputs that it refuses: each
// names the field, its value, and what would be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/handlers/plugins/plugged.h"

namespace {

using actord::Code;
using actord::testing::Plugged;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kForm =
    R"(an object such as {"order": "A-17", "amount_cents": 4200})";
constexpr const char* kText = R"(a text, such as "A-17")";
constexpr const char* kCents = "a whole number of cents, at least 1";
constexpr const char* kHold = "a whole number of milliseconds, 0 to 7 days";
constexpr const char* kTimeout = "a whole number of milliseconds, 1 to 7 days";

struct Refused {
  const char* input;
  const char* is;
  const char* rule;
};

constexpr Refused kRefused[] = {
    {"[1]", "the input is [1]", kForm},
    {"{}", "order is missing", kText},
    {R"({"order":1,"amount_cents":1})", "order is 1", kText},
    {R"({"order":"o"})", "amount_cents is missing", kCents},
    {R"({"order":"o","amount_cents":0})", "amount_cents is 0", kCents},
    {R"({"order":"o","amount_cents":-5})", "amount_cents is -5", kCents},
    {R"({"order":"o","amount_cents":4.5})", "amount_cents is 4.5", kCents},
    {R"({"order":"o","amount_cents":true})", "amount_cents is true", kCents},
    {R"({"order":"o","amount_cents":"42"})", R"(amount_cents is "42")", kCents},
    {R"({"order":"o","amount_cents":18446744073709551615})",
     "amount_cents is 18446744073709551615", kCents},
    {R"({"order":"o","amount_cents":1,"hold_ms":-1})", "hold_ms is -1", kHold},
    {R"({"order":"o","amount_cents":1,"hold_ms":null})", "hold_ms is null",
     kHold},
    {R"({"order":"o","amount_cents":1,"payment_timeout_ms":0})",
     "payment_timeout_ms is 0", kTimeout},
    {R"({"order":"o","amount_cents":1,"payment_timeout_ms":1e12})",
     "payment_timeout_ms is 1000000000000.0", kTimeout}};

TEST(OrderInput, RefusalNamesTheFieldAndWhatIsRight) {
  Plugged harness("order");
  for (const auto& [input, is, rule] : kRefused) {
    EXPECT_EQ(
        harness.ExpectRefused(Code::kInvalidArgument, "order", "run", input),
        std::string(is) + ": it must be " + rule);
  }
}

TEST(OrderInput, RefusalOfOtherTextShowsTheForm) {
  Plugged harness("order");
  for (const char* input : {"", "{\"order\":", "A-17 4200"}) {
    EXPECT_THAT(
        harness.ExpectRefused(Code::kInvalidArgument, "order", "run", input),
        AllOf(HasSubstr("the payload is "), HasSubstr("JSON"),
              HasSubstr(std::string("; expected ") + kForm)))
        << input;
  }
}

}  // namespace
