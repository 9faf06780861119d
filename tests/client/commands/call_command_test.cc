// Tests "actorctl call --start".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using testing::HasSubstr;

class CallCommand : public Commands {};

TEST_F(CallCommand, SendsTheProcessToStart) {
  daemon_.calls[{"@visits", "add"}] = {"42"};
  const CliResult result =
      Run({"call", "@visits", "2", "--topic", "add", "--start", "counter",
           "--input", "40", "--method", "run", "-l", "tenant=acme",
           "--priority", "3", "--durable"});
  EXPECT_EQ(result.out, "42") << result.err;
  const v1::SubmitRequest start = daemon_.log().calls.at(0).start_if_absent();
  EXPECT_EQ(start.process_type(), "counter");
  EXPECT_EQ(start.input().data(), "40");
  EXPECT_EQ(start.method(), "run");
  EXPECT_EQ(start.labels().at("tenant"), "acme");
  EXPECT_EQ(start.priority(), 3);
  EXPECT_EQ(start.durability(), v1::DURABILITY_DURABLE);
  EXPECT_EQ(start.name(), "");
}

TEST_F(CallCommand, StartsNothingByItself) {
  daemon_.calls[{"@visits", "get"}] = {"42"};
  EXPECT_EQ(Run({"call", "@visits", "--topic", "get"}).out, "42");
  EXPECT_FALSE(daemon_.log().calls.at(0).has_start_if_absent());
}

TEST_F(CallCommand, RefusesOptionsThatDoNotFit) {
  const struct {
    std::vector<std::string> words;
    const char* complaint;
  } cases[] = {
      {{"call", "p-1", "--start", "counter"}, "call @NAME --start counter"},
      {{"call", "@a", "--input", "1"}, "--start"},
      {{"call", "@a", "--durable"}, "--start"},
      {{"call", "@a", "--start", "counter", "--durable", "--volatile"},
       "--volatile"},
      {{"call", "@a", "-", "--start", "counter", "--input", "-"},
       "standard input cannot be both"},
      {{"call", "@a", "--start", "counter", "-l", "tenant"},
       "is not KEY=VALUE"},
  };
  for (const auto& c : cases) {
    const CliResult result = Run(c.words);
    EXPECT_NE(result.status, ExitStatus::kDone) << c.complaint;
    EXPECT_THAT(result.err, HasSubstr(c.complaint));
    EXPECT_TRUE(daemon_.log().calls.empty());
  }
}

}  // namespace
}  // namespace actord::client
