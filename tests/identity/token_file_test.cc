#include "identity/token_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "identity/token_layout.h"
#include "identity/token_toml.h"
#include "tests/identity/directory.h"
#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokenFile : public WithDirectory {};

std::string FileComplaint(const std::string& path) {
  return std::string(ReadTokenFile(path).status().message());
}

TEST_F(TokenFile, IsReadInItsOrder) {
  const auto tokens = ReadTokenFile(Write(TextWithToken(
      TextWithToken("# Tokens.\n", ClientToken(2)), ClientToken(1))));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_THAT(*tokens, ElementsAre(ClientToken(2), ClientToken(1)));
}

TEST_F(TokenFile, MissingOneIsNotFound) {
  const absl::Status status = ReadTokenFile(PathOf("none")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            PathOf("none") + ": cannot be opened: No such file or directory");
}

TEST_F(TokenFile, ModeIsAtMost0640) {
  for (mode_t mode = 0; mode <= 07777; ++mode) {
    struct stat status {};
    status.st_mode = S_IFREG | mode;
    const bool is_strict = (mode & ~mode_t{0640}) == 0;
    EXPECT_EQ(CheckTokenFile(status, 5, "f").ok(), is_strict) << mode;
  }
  for (const mode_t mode : {0644, 0660, 0646, 0604, 0750}) {
    const std::string path = Write("", mode);
    EXPECT_THAT(FileComplaint(path), HasSubstr("chmod 0640 " + path));
  }
  EXPECT_EQ(FileComplaint(Write("", 0644)),
            PathOf("tokens.toml") +
                ": has mode 0644; a file of tokens must have mode 0640 or "
                "0600, so that only its owner can change it and others cannot "
                "read it: type chmod 0640 " +
                PathOf("tokens.toml"));
  for (const mode_t mode : {0640, 0600, 0440, 0400}) {
    EXPECT_EQ(FileComplaint(Write("", mode)), "") << mode;
    ASSERT_EQ(unlink(PathOf("tokens.toml").c_str()), 0);
  }
}

TEST_F(TokenFile, OwnerIsRootOrTheReader) {
  struct stat status {};
  status.st_mode = S_IFREG | 0640;
  for (const uid_t reader : {0u, 5u}) {
    for (const uid_t owner : {0u, 5u, 6u}) {
      status.st_uid = owner;
      EXPECT_EQ(CheckTokenFile(status, reader, "f").ok(),
                owner == 0 || owner == reader)
          << reader << " " << owner;
    }
  }
  EXPECT_EQ(
      CheckTokenFile(status, 5, "f").message(),
      "f: belongs to the user 6, and a file of tokens must belong to root "
      "or to the user who reads it (5)");
  if (geteuid() != 0) return;
  const std::string path = Write("");
  ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
  EXPECT_THAT(FileComplaint(path), HasSubstr("belongs to the user 12345"));
}

TEST_F(TokenFile, OtherKindsOfFileAreRefused) {
  const std::string pipe = PathOf("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, directory_, std::string("/dev/zero")}) {
    EXPECT_EQ(FileComplaint(path), path + ": is not a regular file");
  }
}

// The path may lead to another file by the time at which it is looked at.
TEST_F(TokenFile, IsCheckedByItsDescriptor) {
  const std::string path = Write("", 0644);
  const auto file = OpenTokenFile(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(rename(path.c_str(), PathOf("old").c_str()), 0);
  Write("", 0640);
  EXPECT_THAT(std::string(ReadCheckedText(*file, path).status().message()),
              HasSubstr("has mode 0644"));
}

TEST_F(TokenFile, TokenFileOfAClientIsToldApart) {
  const std::string why = FileComplaint(Write(TokenText(1) + "\n"));
  EXPECT_THAT(why, HasSubstr(":1: the text of a token: this is the token file "
                             "of a client; a file of tokens has the hashes"));
}

TEST_F(TokenFile, ErrorsNameFileAndLine) {
  EXPECT_EQ(FileComplaint(Write("\n[[token]]\nrole = \"x\"\n")),
            PathOf("tokens.toml") +
                ":3: role must be viewer, client, worker, operator or admin, "
                "not \"x\"");
}

TEST_F(TokenFile, IsNotReadBeyondItsLimit) {
  EXPECT_THAT(FileComplaint(Write(std::string(3 * kMaxTokenFileBytes, '\n'))),
              HasSubstr("is larger than 4194304 bytes"));
}

}  // namespace
}  // namespace actord::identity
