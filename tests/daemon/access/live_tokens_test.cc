#include "daemon/access/live_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "identity/token_layout.h"
#include "tests/identity/directory.h"
#include "tests/identity/tokens.h"

namespace actord::daemon {
namespace {

using identity::ClientToken;
using identity::FormatTokenTable;
using identity::TokenText;
using ::testing::HasSubstr;
using When = LiveTokens::When;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class LiveTokensTest : public identity::WithDirectory {
 protected:
  LiveTokensTest()
      : path_(Write(FormatTokenTable(ClientToken(1)))), tokens_(OpenTokens()) {}

  std::unique_ptr<LiveTokens> OpenTokens() {
    auto tokens = LiveTokens::Open(path_, logger_);
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    return *std::move(tokens);
  }
  // The lines that are logged while the file is read again.
  std::string Refreshed(When when) {
    ::testing::internal::CaptureStderr();
    tokens_->Refresh(when);
    logger_.Flush(absl::Seconds(30));
    return ::testing::internal::GetCapturedStderr();
  }
  // As `actorctl token` does it: another file takes the name.
  void Replace(const std::string& text, mode_t mode = 0640) {
    const std::string fresh = PathOf("fresh");
    std::ofstream(fresh) << text;
    EXPECT_EQ(chmod(fresh.c_str(), mode), 0);
    EXPECT_EQ(std::rename(fresh.c_str(), path_.c_str()), 0);
  }
  bool Finds(uint8_t number, absl::Time now = kNow) {
    return tokens_->Find(TokenText(number), [&] { return now; }).token !=
           nullptr;
  }
  // Twice: the second time the text is among the verified ones.
  bool Knows(uint8_t number) {
    const bool is_known = Finds(number);
    EXPECT_EQ(Finds(number), is_known);
    return is_known;
  }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
  const std::string path_;
  std::unique_ptr<LiveTokens> tokens_;
};

TEST_F(LiveTokensTest, ReadsAFileThatWasReplaced) {
  EXPECT_TRUE(Knows(1));
  EXPECT_EQ(Refreshed(When::kIfChanged), "");
  Replace(FormatTokenTable(ClientToken(2)));
  EXPECT_THAT(Refreshed(When::kIfChanged),
              HasSubstr("tokens reloaded: " + path_ + " has 1 token"));
  EXPECT_FALSE(Knows(1));
  EXPECT_TRUE(Knows(2));
  EXPECT_EQ(Refreshed(When::kIfChanged), "");
}

TEST_F(LiveTokensTest, ReadsAFileThatWasOverwritten) {
  // The same size, and the same inode.
  std::ofstream(path_) << FormatTokenTable(ClientToken(2));
  EXPECT_NE(Refreshed(When::kIfChanged), "");
  EXPECT_TRUE(Knows(2));
}

TEST_F(LiveTokensTest, AlwaysReadsTheFileWhenItIsTold) {
  EXPECT_THAT(Refreshed(When::kAlways), HasSubstr("tokens reloaded"));
}

TEST_F(LiveTokensTest, BrokenFileKeepsTheFormerTokensWithOneLine) {
  Replace(FormatTokenTable(ClientToken(2)) + "[[token]]\nid = 7\n");
  const std::string log = Refreshed(When::kIfChanged);
  EXPECT_THAT(log, HasSubstr("tokens not reloaded, and the former tokens stay "
                             "in force: " +
                             path_ + ":"));
  EXPECT_EQ(Refreshed(When::kIfChanged), "");
  EXPECT_TRUE(Knows(1));
  EXPECT_FALSE(Knows(2));
  // A caller that asks for it gets the line again.
  EXPECT_THAT(Refreshed(When::kAlways), HasSubstr("tokens not reloaded"));
  Replace(FormatTokenTable(ClientToken(3)));
  EXPECT_THAT(Refreshed(When::kIfChanged), HasSubstr("tokens reloaded"));
  EXPECT_TRUE(Knows(3));
}

TEST_F(LiveTokensTest, FileThatOthersCanReadIsNotTaken) {
  Replace(FormatTokenTable(ClientToken(2)), 0644);
  EXPECT_THAT(Refreshed(When::kIfChanged), HasSubstr("has mode 0644"));
  EXPECT_TRUE(Knows(1));
  EXPECT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_THAT(Refreshed(When::kIfChanged), HasSubstr("tokens reloaded"));
  EXPECT_TRUE(Knows(2));
}

TEST_F(LiveTokensTest, MissingFileKeepsTheFormerTokensWithOneLine) {
  std::remove(path_.c_str());
  EXPECT_THAT(Refreshed(When::kIfChanged), HasSubstr("tokens not reloaded"));
  EXPECT_EQ(Refreshed(When::kIfChanged), "");
  EXPECT_TRUE(Knows(1));
  Replace(FormatTokenTable(ClientToken(2)));
  EXPECT_THAT(Refreshed(When::kIfChanged), HasSubstr("tokens reloaded"));
  EXPECT_TRUE(Knows(2));
}

TEST_F(LiveTokensTest, TokenThatWasFoundExpires) {
  identity::StoredToken token = ClientToken(1);
  token.identity.expires = kNow + absl::Seconds(1);
  Replace(FormatTokenTable(token));
  EXPECT_NE(Refreshed(When::kIfChanged), "");
  EXPECT_TRUE(Knows(1));
  EXPECT_FALSE(Finds(1, kNow + absl::Seconds(1)));
  EXPECT_EQ(tokens_->Find(TokenText(1), [] { return kNow + absl::Seconds(1); })
                .refusal,
            identity::Refusal::kExpired);
}

TEST_F(LiveTokensTest, DoesNotOpenWithoutAGoodFile) {
  EXPECT_EQ(LiveTokens::Open(PathOf("none"), logger_).status().code(),
            absl::StatusCode::kNotFound);
  Replace("[[token]]\n\nrole = 7\n");
  EXPECT_THAT(std::string(LiveTokens::Open(path_, logger_).status().message()),
              HasSubstr(path_ + ":3: role"));
}

}  // namespace
}  // namespace actord::daemon
