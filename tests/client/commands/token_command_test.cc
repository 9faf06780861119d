#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "identity/token_file.h"
#include "identity/token_table.h"
#include "nlohmann/json.hpp"
#include "tests/client/cli/cli_run.h"

namespace actord::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class TokenCommand : public testing::Test {
 protected:
  TokenCommand() {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    file_ = directory_ + "/tokens.toml";
  }
  ~TokenCommand() override { std::filesystem::remove_all(directory_); }

  // There is no daemon at this address.
  static CliResult Run(const std::vector<std::string>& arguments,
                       CliInput input = {}) {
    input.variables.emplace("ACTORD_ADDRESS", "127.0.0.1:1");
    return RunCli(arguments, input);
  }
  CliResult New(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"token", "new", "--file", file_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  // The token of a new client.
  std::string NewClient(const std::string& name = "app") {
    std::string token = New({"--name", name, "--role", "client"}).out;
    EXPECT_THAT(token, SizeIs(66));
    token.pop_back();
    return token;
  }
  static std::string IdOf(const std::string& token) {
    return token.substr(4, 8);
  }
  CliResult Revoke(const std::string& id) {
    return Run({"token", "revoke", "--file", file_, id});
  }
  [[nodiscard]] std::string Content() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& text) const { std::ofstream(file_) << text; }

  std::string directory_ = testing::TempDir() + "actorctl_token_XXXXXX";
  std::string file_;
};

TEST_F(TokenCommand, NewPrintsTheSecretAlone) {
  const CliResult result = New({"--name", "app", "--role", "client"});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  ASSERT_THAT(result.out, MatchesRegex("atk_[0-9a-z]{8}_[^\n]{52}\n"));
  const std::string token = result.out.substr(0, 65);
  EXPECT_EQ(result.err, "created " + file_ +
                            " with mode 0640\nadded the token " + IdOf(token) +
                            " of app to " + file_ +
                            "; its secret is shown this once\n");
  EXPECT_THAT(Content(), Not(HasSubstr(token.substr(13, 43))));
  const auto tokens = identity::ReadTokenFile(file_);
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  const identity::TokenTable table(*tokens);
  const auto answer = table.Find(token, absl::Now());
  ASSERT_NE(answer.token, nullptr);
  EXPECT_EQ(answer.token->identity.name, "app");
  EXPECT_EQ(answer.token->identity.role, identity::Role::kClient);
}

TEST_F(TokenCommand, NewTakesEveryOption) {
  const CliResult result =
      New({"--name", "shop", "--role", "admin", "--expires", "90d", "--submit",
           "order", "--submit", "invoice.*", "--send", "order", "--work",
           "payment.*", "--see", "own", "-o", "json"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_EQ(result.err, "");
  const json token = json::parse(result.out);
  EXPECT_EQ(token["token"].get<std::string>().substr(4, 8), token["id"]);
  const json list =
      json::parse(Run({"token", "list", "--file", file_, "-o", "json"}).out);
  ASSERT_THAT(list, SizeIs(1));
  json expected = token;
  expected.erase("token");
  EXPECT_EQ(list[0], expected);
  EXPECT_EQ(expected["submit"], json::array({"order", "invoice.*"}));
  EXPECT_EQ(expected["send"], json::array({"order"}));
  EXPECT_EQ(expected["work"], json::array({"payment.*"}));
  EXPECT_EQ(expected["see"], "own");
  EXPECT_THAT(expected["expires"].get<std::string>(),
              MatchesRegex("20..-..-..T..:..:..Z"));
}

TEST_F(TokenCommand, ListShowsTokensAndNoSecrets) {
  const std::string one = NewClient("one");
  const std::string two = NewClient("two");
  for (const char* format :
       {"table", "wide", "json", "jsonl", "yaml", "name"}) {
    const CliResult result =
        Run({"token", "list", "--file", file_, "-o", format});
    EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
    EXPECT_EQ(result.err, "");
    for (const std::string& token : {one, two}) {
      EXPECT_THAT(result.out, HasSubstr(IdOf(token)));
      EXPECT_THAT(result.out, Not(HasSubstr(token.substr(13, 43))));
    }
    EXPECT_THAT(result.out, Not(HasSubstr("sha256")));
  }
  EXPECT_EQ(Run({"token", "list", "--file", file_, "-o", "name"}).out,
            IdOf(one) + "\n" + IdOf(two) + "\n");
  EXPECT_THAT(
      Run({"token", "list", "--file", file_}).out,
      StartsWith("ID        NAME  ROLE    EXPIRES  SEE  SUBMIT  SEND  "
                 "WORK  QUOTAS\n" +
                 IdOf(one) +
                 "  one   client  never    own  *       *     -     -"));
}

TEST_F(TokenCommand, ListMarksWhatHasExpired) {
  NewClient();
  Write(Content() + "expires = 2001-02-03T04:05:06Z\n");
  EXPECT_THAT(Run({"token", "list", "--file", file_}).out,
              HasSubstr("2001-02-03T04:05:06Z (expired)"));
}

TEST_F(TokenCommand, RevokeRemovesOneToken) {
  const std::string one = NewClient();
  const std::string two = NewClient();
  const CliResult result = Revoke(IdOf(one));
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  EXPECT_EQ(result.out, "revoked " + IdOf(one) + " of app\n");
  EXPECT_EQ(Run({"token", "list", "--file", file_, "-o", "name"}).out,
            IdOf(two) + "\n");
}

TEST_F(TokenCommand, RevokeOfAnUnknownIdSuggestsTheRightOne) {
  const std::string token = NewClient();
  std::string near = IdOf(token);
  near[7] = near[7] == '0' ? '1' : '0';
  const struct {
    std::string id;
    std::string suggestion;
  } cases[] = {
      {near, "no token " + near + "; there is " + IdOf(token)},
      {"app", "no token app; this is a name, whose tokens have the IDs " +
                  IdOf(token)},
      {token,
       "no token atk_[redacted]; this is the secret of a token, whose ID "
       "is " +
           IdOf(token)},
  };
  for (const auto& c : cases) {
    const CliResult result = Revoke(c.id);
    EXPECT_EQ(result.status, ExitStatus::kNotFound);
    EXPECT_EQ(result.err, "actorctl: " + file_ + ": " + c.suggestion + "\n");
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(Run({"token", "list", "--file", file_, "-o", "name"}).out,
            IdOf(token) + "\n");
}

TEST_F(TokenCommand, WrongCommandLinesAreUsageErrorsAndChangeNothing) {
  const struct {
    std::vector<std::string> more;
    const char* complaint;
  } cases[] = {
      {{"--name", "a"}, "--role is required"},
      {{"--role", "client"}, "--name is required"},
      {{"--name", "a b", "--role", "client"},
       "--name: \"a b\" is not 1 to 128 characters of a-z, A-Z, 0-9 and _.-/:"},
      {{"--name", "a", "--role", "boss"},
       "--role: boss not in {viewer,client,worker,operator,admin}"},
      {{"--name", "a", "--role", "client", "--see", "none"},
       "--see: none not in {own,all}"},
      {{"--name", "a", "--role", "client", "--submit", "a*b"},
       "--submit: \"a*b\" is not a name of up to 128 characters, which may end "
       "in *"},
      {{"--name", "a", "--role", "client", "--submit", ""}, "--submit"},
      {{"--name", "a", "--role", "viewer", "--send", "x"},
       "--send: the role viewer does not permit it"},
      {{"--name", "a", "--role", "client", "--work", "x"},
       "--work: the role client does not permit it"},
      {{"--name", "a", "--role", "client", "--expires", "soon"},
       "--expires: \"soon\" is not a duration such as 90d or 12h, and not a "
       "time such as 2027-01-31T00:00:00Z"},
      {{"--name", "a", "--role", "client", "--submit", "a", "b"},
       "actorctl token new does not expect \"b\""},
  };
  for (const auto& c : cases) {
    const CliResult result = New(c.more);
    EXPECT_EQ(result.status, ExitStatus::kUsage) << c.complaint;
    EXPECT_THAT(result.err, StartsWith("actorctl: "));
    EXPECT_THAT(result.err, HasSubstr(c.complaint));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(TokenCommand, FileErrorsSayWhereAndEndAsTheyShould) {
  const auto list = [this] { return Run({"token", "list", "--file", file_}); };
  CliResult result = list();
  EXPECT_EQ(result.status, ExitStatus::kNotFound);
  EXPECT_EQ(result.err, "actorctl: " + file_ +
                            ": cannot be opened: No such file or directory\n");
  Write("# Nothing.\n\n[[tokens]]\n");
  ASSERT_EQ(chmod(file_.c_str(), 0640), 0);
  result = list();
  EXPECT_EQ(result.status, ExitStatus::kUsage);
  EXPECT_EQ(result.err,
            "actorctl: " + file_ +
                ":3: unknown key or table \"tokens\": a token begins "
                "with [[token]]\n");
  ASSERT_EQ(chmod(file_.c_str(), 0644), 0);
  for (const CliResult& one :
       {list(), Revoke("04107zqz"), New({"--name", "a", "--role", "client"})}) {
    EXPECT_EQ(one.status, ExitStatus::kUsage);
    EXPECT_THAT(one.err, HasSubstr("has mode 0644"));
    EXPECT_EQ(one.out, "");
  }
}

TEST_F(TokenCommand, WaitsForTheLockUntilTheTimeout) {
  const std::string token = NewClient();
  const auto holder = identity::OpenTokenFile(file_);
  ASSERT_TRUE(holder.ok());
  ASSERT_EQ(flock(holder->get(), LOCK_EX), 0);
  CliResult result = Run(
      {"token", "revoke", "--file", file_, IdOf(token), "--timeout", "50ms"});
  EXPECT_EQ(result.status, ExitStatus::kDeadline);
  EXPECT_THAT(result.err, HasSubstr("another program holds the lock"));
  Cancellation cancellation;
  cancellation.Cancel();
  result = Run({"token", "revoke", "--file", file_, IdOf(token)},
               {.cancellation = &cancellation});
  EXPECT_EQ(result.status, ExitStatus::kInterrupted);
  ASSERT_EQ(flock(holder->get(), LOCK_UN), 0);
  EXPECT_EQ(Revoke(IdOf(token)).status, ExitStatus::kDone);
}

// Wherever a person puts a secret by mistake, no error repeats it.
TEST_F(TokenCommand, NoErrorRepeatsASecret) {
  const std::string token = NewClient();
  const std::vector<std::vector<std::string>> lines = {
      {"token", "revoke", token},
      {"token", "revoke", "--file", file_, token},
      {"token", "revoke", "--file", file_, IdOf(token), token},
      {"token", "list", token},
      {"token", "list", "--file", token},
      {"token", token},
      {token},
      {"--" + token},
      {"token", "new", "--file", file_, "--name", token + " ", "--role",
       "client"},
      {"token", "new", "--file", file_, "--name", "a", "--role", token},
      {"token", "new", "--file", file_, "--name", "a", "--role", "client",
       "--submit", token + "*x"},
      {"token", "new", "--file", file_, "--name", "a", "--role", "client",
       "--expires", token},
      {"token", "new", "--file", file_, "--name", "a", "--role", "client",
       "--see", token},
      {"token", "new", "--file", file_ + "/" + token, "--name", "a", "--role",
       "client"},
      {"describe", token},
      {"status", "--address", token},
      {"status", "--timeout", token},
  };
  const std::string secret = token.substr(13, 43);
  for (const auto& words : lines) {
    const CliResult result = Run(words);
    EXPECT_NE(result.status, ExitStatus::kDone) << words.back();
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
    for (size_t at = 0; at + 12 <= secret.size(); ++at) {
      EXPECT_THAT(result.err, Not(HasSubstr(secret.substr(at, 12))));
    }
  }
}

TEST_F(TokenCommand, NewSetsQuotasThatListShows) {
  ASSERT_EQ(New({"--name", "app", "--role", "client", "--quota", "streams=5",
                 "--quota", "yield_bytes=4096"})
                .status,
            ExitStatus::kDone);
  NewClient("other");
  EXPECT_THAT(Content(),
              HasSubstr("\nquotas = {streams = 5, yield_bytes = 4096}\n"));
  const CliResult table = Run({"token", "list", "--file", file_});
  EXPECT_THAT(table.out, HasSubstr("QUOTAS"));
  EXPECT_THAT(table.out, HasSubstr("streams=5, yield_bytes=4096"));
  const auto list =
      json::parse(Run({"token", "list", "--file", file_, "-o", "json"}).out);
  EXPECT_EQ(list[0]["quotas"], (json{{"streams", 5}, {"yield_bytes", 4096}}));
  EXPECT_FALSE(list[1].contains("quotas"));
}

TEST_F(TokenCommand, NewRefusesWrongQuotas) {
  const auto refusal = [this](std::vector<std::string> quotas) {
    std::vector<std::string> arguments = {"--name", "app", "--role", "client"};
    for (std::string& quota : quotas) {
      arguments.emplace_back("--quota");
      arguments.push_back(std::move(quota));
    }
    const CliResult result = New(arguments);
    EXPECT_EQ(result.status, ExitStatus::kUsage);
    return result.err;
  };
  EXPECT_THAT(refusal({"nonsense=5"}),
              HasSubstr("\"nonsense\" is no quota; there are "
                        "requests_per_second, request_burst"));
  for (const char* wrong : {"streams", "streams=", "streams=x", "streams=-1",
                            "streams=10000001", "yield_bytes=1023"}) {
    EXPECT_THAT(refusal({wrong}), HasSubstr("or 0 for no limit")) << wrong;
  }
  EXPECT_THAT(refusal({"streams=1", "streams=2"}),
              HasSubstr("streams is given twice"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace actord::client
