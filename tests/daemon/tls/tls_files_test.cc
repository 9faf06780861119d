#include "daemon/tls/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/daemon/tls/tls_directory.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

std::string WhyRefused(const TlsSettings& settings) {
  return std::string(ReadTlsFiles(settings).status().message());
}

TEST(TlsSettings, BelongTogether) {
  const auto why = [](const TlsSettings& settings) {
    return std::string(CheckTlsSettings(settings).message());
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({.certificate = "a", .key = "b", .client_ca = "c", .crl = "d"}),
            "");
  EXPECT_EQ(why({.certificate = "a"}),
            "tls.certificate is set and tls.key is not: set both");
  EXPECT_EQ(why({.key = "a"}),
            "tls.key is set and tls.certificate is not: set both");
  EXPECT_EQ(why({.client_ca = "a"}),
            "tls.client_ca is set and tls.certificate is not: set both");
  EXPECT_EQ(why({.certificate = "a", .key = "b", .crl = "c"}),
            "tls.crl is set and tls.client_ca is not: set both");
}

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsDirectory directory_;
  TlsSettings settings_{.certificate = directory_.Write("a.pem", "A", 0644),
                        .key = directory_.Write("a.key", "K", 0640)};
};

TEST_F(TlsFilesTest, AreReadTogether) {
  const auto texts = ReadTlsFiles(settings_);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(*texts, (TlsTexts{.certificate = "A", .key = "K"}));
}

TEST_F(TlsFilesTest, AreNamedWithTheirSettingIfTheyCannotBeRead) {
  settings_.certificate = directory_.path("missing");
  EXPECT_EQ(WhyRefused(settings_),
            absl::StrCat("tls.certificate: ", settings_.certificate,
                         ": cannot be read: No such file or directory"));
  settings_.certificate = directory_.path("");
  EXPECT_THAT(WhyRefused(settings_), HasSubstr("is not a regular file"));
  settings_.certificate =
      directory_.Write("large", std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(WhyRefused(settings_), HasSubstr("is larger than 1MiB"));
  // A pipe without a writer does not block the daemon.
  settings_.certificate = directory_.path("pipe");
  ASSERT_EQ(mkfifo(settings_.certificate.c_str(), 0600), 0);
  EXPECT_THAT(WhyRefused(settings_), HasSubstr("is not a regular file"));
}

TEST_F(TlsFilesTest, RefusesAKeyThatOthersReadOrWrite) {
  for (const mode_t mode : {0604, 0644, 0660, 0620, 0601}) {
    chmod(settings_.key.c_str(), mode);
    EXPECT_THAT(WhyRefused(settings_),
                HasSubstr("and a private key may have 0640 at most"))
        << mode;
  }
  for (const mode_t mode : {0600, 0640, 0400, 0440}) {
    chmod(settings_.key.c_str(), mode);
    EXPECT_EQ(WhyRefused(settings_), "") << mode;
  }
}

TEST_F(TlsFilesTest, RefusesAKeyOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(settings_.key.c_str(), 4711, 0), 0);
  EXPECT_THAT(WhyRefused(settings_), HasSubstr("belongs to the user 4711"));
}

TEST_F(TlsFilesTest, RefusesAFileThatEverybodyCanReplace) {
  settings_.client_ca = directory_.Write("ca.pem", "C", 0666);
  EXPECT_THAT(WhyRefused(settings_),
              HasSubstr("has mode 0666, so everybody can replace it"));
}

}  // namespace
}  // namespace actord::daemon
