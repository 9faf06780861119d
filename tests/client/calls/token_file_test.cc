#include "client/calls/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/identity/directory.h"
#include "tests/identity/tokens.h"

namespace actord::client {
namespace {

using identity::TokenText;
using ::testing::HasSubstr;

class TokenFileTest : public identity::WithDirectory {
 protected:
  std::string WhyNot(const std::string& text, mode_t mode = 0600) {
    const auto token = ReadToken(Write(text, mode));
    EXPECT_FALSE(token.ok());
    const std::string why(token.status().message());
    EXPECT_THAT(why, HasSubstr(PathOf("tokens.toml") + ": "));
    EXPECT_EQ(why.find(TokenText(1).substr(13, 43)), std::string::npos);
    return why;
  }
};

TEST_F(TokenFileTest, ReadsTheOnlyLine) {
  for (const char* end : {"", "\n", "\r\n", " \n\n"}) {
    const auto token = ReadToken(Write(TokenText(1) + end, 0640));
    ASSERT_TRUE(token.ok()) << token.status();
    EXPECT_EQ(*token, TokenText(1));
  }
}

TEST_F(TokenFileTest, RefusesFilesWithoutExactlyOneToken) {
  for (const std::string& text :
       {std::string(), std::string("\n"), TokenText(1) + "\n" + TokenText(2),
        " " + TokenText(1), TokenText(1).substr(1), "Bearer " + TokenText(1),
        TokenText(1) + "x"}) {
    EXPECT_THAT(WhyNot(text),
                HasSubstr("a token file must hold one token, as actorctl "
                          "token new prints it: "));
  }
}

TEST_F(TokenFileTest, RefusesAFileThatOthersCanReadOrWrite) {
  for (const mode_t mode : {0644, 0604, 0602, 0660}) {
    EXPECT_THAT(WhyNot(TokenText(1), mode), HasSubstr("has mode 0"));
  }
  EXPECT_THAT(WhyNot(TokenText(1), 0644),
              HasSubstr("; a token file must have mode 0640 or 0600, so that "
                        "only its owner can change it and others cannot read "
                        "it: type chmod 0600 " +
                        PathOf("tokens.toml")));
}

TEST_F(TokenFileTest, TellsTheFileOfTokensOfADaemonApart) {
  EXPECT_THAT(WhyNot("# The tokens of actord.\n[[token]]\nid = \"x\"\n"),
              HasSubstr(": is the file of tokens of a daemon (auth.tokens)"));
}

TEST_F(TokenFileTest, SaysIfThereIsNoFile) {
  EXPECT_EQ(ReadToken(PathOf("none")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadToken(directory_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace actord::client
