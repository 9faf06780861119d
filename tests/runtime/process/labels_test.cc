#include "runtime/process/listed/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(LabelRules, SayWhichKeysAndValuesThereAre) {
  for (const std::string& key :
       {std::string("a"), std::string("7"), std::string("example.com/team"),
        std::string("a_b-c"), std::string(63, 'x')}) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("-a"), std::string("a/"), std::string("A"),
        std::string("a b"), std::string("a=b"), std::string("ä"),
        std::string("a\0b", 3), std::string(64, 'x')}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
  for (const std::string& value :
       {std::string(), std::string("Ä b=c,d"), std::string(63, 'x')}) {
    EXPECT_TRUE(IsLabelValue(value)) << value;
  }
  for (const std::string& value :
       {std::string(64, 'x'), std::string("\xff"), std::string("a\nb"),
        std::string("\0", 1), std::string("\x7f"), std::string("\xc2\x85"),
        std::string("\xe2\x80\xa8")}) {
    EXPECT_FALSE(IsLabelValue(value)) << value;
  }
}

TEST(Labels, AreKeptInTheOrderOfTheirKeys) {
  const absl::StatusOr<Labels> labels =
      Labels::Of("labels", Pairs{{"tenant", "acme"}, {"env", ""}});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->Texts(), ElementsAre("env=", "tenant=acme"));
  EXPECT_EQ(Labels::OfTexts(labels->Texts()).value(), *labels);
  EXPECT_GT(labels->ChargeBytes(), 16u);
  EXPECT_EQ(Labels().ChargeBytes(), 0u);
}

TEST(Labels, RefuseWhatBreaksARule) {
  const auto why = [](Pairs pairs) {
    const absl::Status status = Labels::Of("labels", std::move(pairs)).status();
    EXPECT_EQ(ReasonOf(status), reason::kInvalidField);
    return std::string(status.message());
  };
  EXPECT_THAT(why({{"Tenant", "a"}}), HasSubstr("\"Tenant\" is not a label"));
  EXPECT_THAT(why({{"a", "x\ny"}}), HasSubstr("the value of \"a\""));
  EXPECT_THAT(why({{"a", "1"}, {"a", "2"}}), HasSubstr("given twice"));
  Pairs nine;
  for (char key = 'a'; key <= 'i'; ++key) {
    nine.emplace_back(std::string(1, key), "");
  }
  EXPECT_THAT(why(nine), HasSubstr("there are 9 labels; the limit is 8"));
  nine.pop_back();
  EXPECT_TRUE(Labels::Of("labels", nine).ok());
  EXPECT_FALSE(Labels::OfTexts({"=x"}).ok());
}

TEST(LabelSelector, MatchesAKeyWithAValueOrWithAny) {
  const Labels labels =
      Labels::Of("labels", Pairs{{"tenant", "a=b"}, {"urgent", ""}}).value();
  const auto matches = [&](const std::vector<std::string>& texts) {
    std::vector<LabelSelector> selectors;
    for (const std::string& text : texts) {
      const auto selector = ReadLabelSelector("labels", text);
      EXPECT_TRUE(selector.ok()) << selector.status();
      selectors.push_back(*selector);
    }
    return labels.Match(selectors);
  };
  EXPECT_TRUE(matches({}));
  EXPECT_TRUE(matches({"tenant"}));
  EXPECT_TRUE(matches({"tenant=a=b", "urgent"}));
  EXPECT_TRUE(matches({"urgent="}));
  EXPECT_FALSE(matches({"tenant="}));
  EXPECT_FALSE(matches({"tenant=a"}));
  EXPECT_FALSE(matches({"tenan"}));
  EXPECT_FALSE(matches({"urgent", "other"}));
  EXPECT_FALSE(Match({{.key = "tenant", .value = {}}}, nullptr));
  EXPECT_TRUE(Match({}, nullptr));
  for (const char* text : {"", "=a", "Tenant", "tenant=\n"}) {
    EXPECT_EQ(ReasonOf(ReadLabelSelector("labels", text).status()),
              reason::kInvalidField)
        << text;
  }
}

}  // namespace
}  // namespace actord::runtime
