#include "identity/token_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "identity/token_file.h"
#include "identity/token_layout.h"
#include "identity/token_toml.h"
#include "tests/identity/directory.h"
#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

EditOptions Impatient() {
  return {.wait = [] { return absl::DeadlineExceededError("it is locked"); }};
}

int FailRename(const char* /*from*/, const char* /*to*/) {
  errno = EIO;
  return -1;
}

class TokenEdit : public WithDirectory {
 protected:
  std::vector<StoredToken> Tokens(const std::string& path) {
    const auto tokens = ReadTokenFile(path);
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    return tokens.value_or(std::vector<StoredToken>());
  }
  std::string RevokeComplaint(const std::string& path, const std::string& id) {
    const absl::Status status = RevokeToken(path, id, Impatient()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    return std::string(status.message());
  }
};

TEST_F(TokenEdit, FirstTokenCreatesTheFile) {
  const std::string path = PathOf("tokens.toml");
  const mode_t mask = umask(0077);
  auto added = AddToken(path, ClientToken(1), Impatient());
  umask(mask);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_TRUE(added->created);
  EXPECT_EQ(StatusOf(path).st_mode, S_IFREG | mode_t{0640});
  EXPECT_THAT(Content(path), StartsWith("# The tokens of actord. "));
  added = AddToken(path, ClientToken(2), Impatient());
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_FALSE(added->created);
  EXPECT_THAT(Tokens(path), ElementsAre(ClientToken(1), ClientToken(2)));
  EXPECT_EQ(Files(), "tokens.toml ");
}

TEST_F(TokenEdit, KeepsCommentsModeAndOtherTokens) {
  const std::string text =
      "# mine\n\n" + FormatTokenTable(ClientToken(1)) + "# end\n";
  const std::string path = Write(text, 0600);
  ASSERT_TRUE(AddToken(path, ClientToken(2), Impatient()).ok());
  EXPECT_EQ(Content(path), text + "\n" + FormatTokenTable(ClientToken(2)));
  EXPECT_EQ(StatusOf(path).st_mode & 07777u, 0600u);
  const auto revoked = RevokeToken(path, "00000002", Impatient());
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  EXPECT_EQ(*revoked, ClientToken(2));
  EXPECT_EQ(Content(path), text);
  ASSERT_TRUE(RevokeToken(path, "00000001", Impatient()).ok());
  EXPECT_EQ(Content(path), "# mine\n\n# end\n");
}

TEST_F(TokenEdit, TwoTokensOfOneNameAreRotation) {
  const std::string path = PathOf("tokens.toml");
  ASSERT_TRUE(AddToken(path, ClientToken(1, "app"), Impatient()).ok());
  ASSERT_TRUE(AddToken(path, ClientToken(2, "app"), Impatient()).ok());
  ASSERT_TRUE(RevokeToken(path, "00000001", Impatient()).ok());
  EXPECT_THAT(Tokens(path), ElementsAre(ClientToken(2, "app")));
}

TEST_F(TokenEdit, SameIdIsRefused) {
  const std::string path = Write(FormatTokenTable(ClientToken(1)));
  const absl::Status status =
      AddToken(path, ClientToken(1, "other"), Impatient()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(status.message(), path + ": has a token with the ID 00000001");
  EXPECT_THAT(Tokens(path), ElementsAre(ClientToken(1)));
}

TEST_F(TokenEdit, UnknownIdIsRefusedWithASuggestion) {
  const std::string path = Write(TextWithToken(
      FormatTokenTable(ClientToken(1, "app")), ClientToken(2, "app")));
  const std::string text = Content(path);
  EXPECT_EQ(RevokeComplaint(path, "0000x001"),
            path + ": no token 0000x001; there is 00000001");
  EXPECT_EQ(RevokeComplaint(path, "app"),
            path +
                ": no token app; this is a name, whose tokens have the IDs "
                "00000001, 00000002");
  EXPECT_EQ(
      RevokeComplaint(path, "zzzzzzzz"),
      path + ": no token zzzzzzzz; \"actorctl token list\" shows the IDs");
  EXPECT_EQ(RevokeComplaint(path, TokenText(2)),
            path +
                ": no token atk_[redacted]; this is the secret of a token, "
                "whose ID is 00000002");
  EXPECT_EQ(Content(path), text);
  const std::string none = PathOf("none");
  EXPECT_EQ(RevokeComplaint(none, "00000001"),
            none + ": cannot be opened: No such file or directory");
  EXPECT_EQ(Files(), "tokens.toml ");
}

TEST_F(TokenEdit, FileThatIsWrongIsNotChanged) {
  for (const auto& [text, mode] :
       {std::pair<std::string, mode_t>{"[[token]]\nid = 1\n", 0640},
        {"# others can read it\n", 0644}}) {
    const std::string path = Write(text, mode);
    for (const absl::Status& status :
         {AddToken(path, ClientToken(1), Impatient()).status(),
          RevokeToken(path, "00000001", Impatient()).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), StartsWith(path + ":"));
    }
    EXPECT_EQ(Content(path), text);
  }
}

TEST_F(TokenEdit, FailedEditLeavesTheOldFile) {
  EditOptions failing = Impatient();
  failing.calls.rename = FailRename;
  const std::string path = Write(FormatTokenTable(ClientToken(1)));
  const std::string text = Content(path);
  for (const absl::Status& status :
       {AddToken(path, ClientToken(2), failing).status(),
        RevokeToken(path, "00000001", failing).status()}) {
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("cannot be replaced: Input/output error; the file is "
                          "unchanged"));
  }
  EXPECT_EQ(Content(path), text);
  EXPECT_EQ(Files(), "tokens.toml ");
}

TEST_F(TokenEdit, FailedFirstEditLeavesNoFile) {
  EditOptions failing = Impatient();
  failing.calls.rename = FailRename;
  EXPECT_FALSE(AddToken(PathOf("tokens.toml"), ClientToken(1), failing).ok());
  EXPECT_EQ(Files(), "");
}

TEST_F(TokenEdit, LinkStaysALink) {
  const std::string path = Write(FormatTokenTable(ClientToken(1)));
  const std::string link = PathOf("link");
  ASSERT_EQ(symlink("tokens.toml", link.c_str()), 0);
  ASSERT_TRUE(AddToken(link, ClientToken(2), Impatient()).ok());
  struct stat status {};
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  EXPECT_THAT(Tokens(path), ElementsAre(ClientToken(1), ClientToken(2)));
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(AddToken(link, ClientToken(2), Impatient()).status().message(),
            link + ": is a symbolic link to a file that is missing");
}

TEST_F(TokenEdit, WaitsForTheLockAndGivesUpWhenTold) {
  const std::string path = Write("");
  const auto holder = OpenTokenFile(path);
  ASSERT_TRUE(holder.ok());
  ASSERT_EQ(flock(holder->get(), LOCK_EX), 0);
  EXPECT_EQ(AddToken(path, ClientToken(1), Impatient()).status().message(),
            "it is locked");
  EXPECT_THAT(Tokens(path), IsEmpty());
  int waits = 0;
  const EditOptions patient = {.wait = [&] {
    ++waits;
    if (waits == 3) {
      EXPECT_EQ(flock(holder->get(), LOCK_UN), 0);
    }
    return absl::OkStatus();
  }};
  ASSERT_TRUE(AddToken(path, ClientToken(1), patient).ok());
  EXPECT_EQ(waits, 3);
  EXPECT_THAT(Tokens(path), ElementsAre(ClientToken(1)));
}

// The program that held the lock has replaced the file, so the lock is that of
// a file that nobody reads any more.
TEST_F(TokenEdit, EditsTheFileThatIsThereAfterTheWait) {
  const std::string path = Write("");
  const auto holder = OpenTokenFile(path);
  ASSERT_TRUE(holder.ok());
  ASSERT_EQ(flock(holder->get(), LOCK_EX), 0);
  const EditOptions patient = {.wait = [&] {
    EXPECT_TRUE(
        ReplaceFile(path, FormatTokenTable(ClientToken(1)), StatusOf(path))
            .ok());
    EXPECT_EQ(flock(holder->get(), LOCK_UN), 0);
    return absl::OkStatus();
  }};
  ASSERT_TRUE(AddToken(path, ClientToken(2), patient).ok());
  EXPECT_THAT(Tokens(path), ElementsAre(ClientToken(1), ClientToken(2)));
}

TEST_F(TokenEdit, FullFileIsReported) {
  const std::string line = "#" + std::string(1000, ' ') + "\n";
  std::string text;
  while (text.size() + line.size() < kMaxTokenFileBytes) text += line;
  text += std::string(kMaxTokenFileBytes - text.size(), '\n');
  const std::string path = Write(text);
  const absl::Status status =
      AddToken(path, ClientToken(1, std::string(128, 'n')), Impatient())
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the file is unchanged"));
  EXPECT_TRUE(Content(path) == text);
}

}  // namespace
}  // namespace actord::identity
