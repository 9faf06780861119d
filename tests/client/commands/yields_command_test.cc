// Which command "actorctl complete" completes, by the text in place of its
// token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenArgument : public Commands {
 protected:
  void Add(const std::string& token, const std::string& command) {
    v1::Yield& yield = daemon_.yields.emplace_back();
    yield.set_token(token);
    yield.set_command(command);
    yield.set_process_type("order");
  }
  // The token of the only completion.
  std::string Completed() {
    const auto completions = daemon_.log().completions;
    return completions.size() == 1 ? completions[0].token() : "";
  }
};

TEST_F(TokenArgument, BeginningIsEnoughIfOneCommandHasIt) {
  Add("1.2b.3.1.1", "payment.charge");
  Add("1.2b.30.1.1", "payment.refund");
  const CliResult result = Run({"complete", "1.2b.30", "true"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_EQ(result.out, "ACCEPTED\n");
  EXPECT_EQ(result.err, "1.2b.30.1.1 (payment.refund of order)\n");
  EXPECT_EQ(Completed(), "1.2b.30.1.1");
}

TEST_F(TokenArgument, DashIsTheOnlyCommand) {
  EXPECT_EQ(Run({"complete", "-", "true"}).status, ExitStatus::kNotFound);
  Add("1.2b.3.1.1", "payment.charge");
  EXPECT_EQ(Run({"complete", "-", "true", "-o", "name"}).out, "1.2b.3.1.1\n");
  EXPECT_EQ(Completed(), "1.2b.3.1.1");
}

TEST_F(TokenArgument, SeveralCommandsAreListedAndNoneIsCompleted) {
  for (int i = 1; i <= 7; ++i) {
    Add("1.2b.3.1." + std::to_string(i), "payment.charge");
  }
  for (const char* typed : {"-", "1.2b", "1.2b.3.1."}) {
    const CliResult result = Run({"complete", typed, "true"});
    EXPECT_EQ(result.status, ExitStatus::kUsage) << typed;
    EXPECT_THAT(result.err, AllOf(HasSubstr("actorctl: 7 "),
                                  HasSubstr("1.2b.3.1.1 (payment.charge of "
                                            "order), 1.2b.3.1.2 "),
                                  HasSubstr("1.2b.3.1.5 "), HasSubstr(", ..."),
                                  Not(HasSubstr("1.2b.3.1.6"))));
  }
  EXPECT_TRUE(daemon_.log().completions.empty());
}

TEST_F(TokenArgument, UnknownBeginningIsNotFound) {
  Add("1.2b.3.1.1", "payment.charge");
  const CliResult result = Run({"complete", "2", "true"});
  EXPECT_EQ(result.status, ExitStatus::kNotFound);
  EXPECT_THAT(result.err, HasSubstr("a token that begins with \"2\""));
}

TEST_F(TokenArgument, WholeTokenAsksNothing) {
  for (const char* token : {"1.2b.3.1.1", "1.2b.3.1.1.2", "no token"}) {
    Run({"complete", token, "true"});
    EXPECT_EQ(daemon_.log().completions.back().token(), token);
  }
  EXPECT_TRUE(daemon_.log().yield_lists.empty());
}

TEST_F(TokenArgument, FindsOnEveryPage) {
  for (int i = 0; i < 2500; ++i) Add("1.2b.1.1." + std::to_string(i), "a.b");
  Add("2.2b.1.1.1", "a.b");
  EXPECT_EQ(Run({"complete", "2", "true"}).status, ExitStatus::kDone);
  EXPECT_EQ(Completed(), "2.2b.1.1.1");
  EXPECT_EQ(daemon_.log().yield_lists.size(), 3u);
}

TEST_F(Commands, CompleteSaysWhyItIsNotAccepted) {
  using Answer = v1::CompleteYieldResponse;
  const struct {
    Answer::Answer answer;
    ExitStatus status;
    const char* out;
    const char* err;
  } cases[] = {
      {Answer::ANSWER_ACCEPTED, ExitStatus::kDone, "ACCEPTED\n", ""},
      {Answer::ANSWER_DUPLICATE, ExitStatus::kDone, "DUPLICATE\n", ""},
      {Answer::ANSWER_CONFLICT, ExitStatus::kFailed, "CONFLICT\n",
       "actorctl: the command has already been completed with another result "
       "or error; this completion was dropped; see \"actorctl describe "
       "1.2b.3.1\"\n"},
      {Answer::ANSWER_SUPERSEDED, ExitStatus::kFailed, "SUPERSEDED\n",
       "actorctl: the command has been taken again: a newer attempt has a "
       "token of its own; this completion was dropped; see \"actorctl yields "
       "--pid 1.2b.3.1\"\n"},
      {Answer::ANSWER_EXPIRED, ExitStatus::kFailed, "EXPIRED\n",
       "actorctl: the command has already ended without this completion: it "
       "timed out, its attempts were used up, or its process ended or "
       "cancelled it; see \"actorctl describe 1.2b.3.1\"\n"},
      {Answer::ANSWER_UNKNOWN, ExitStatus::kNotFound, "UNKNOWN\n",
       "actorctl: the daemon knows no such command: it never was, or it ended "
       "too long ago; see \"actorctl describe 1.2b.3.1\"\n"},
  };
  for (const auto& c : cases) {
    daemon_.answer = c.answer;
    const CliResult result = Run({"complete", "1.2b.3.1.1", "true"});
    EXPECT_EQ(result.status, c.status) << c.out;
    EXPECT_EQ(result.out, c.out);
    EXPECT_EQ(result.err, c.err);
  }
}

}  // namespace
}  // namespace actord::client
