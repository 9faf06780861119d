// Tests of the key of links, and of what a link cannot be made to say.
#include "daemon/links/link_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "daemon/links/yield_link.h"

namespace actord::daemon {
namespace {

class LinkKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "link_key_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string Path() const { return folder_ + "/key"; }

  std::string folder_;
};

TEST_F(LinkKeyTest, IsMadeOnceAlsoByManyAtOnce) {
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<LinkKey>> keys(8, LinkKey{});
  for (auto& key : keys) {
    threads.emplace_back([&key, this] { key = OpenLinkKey(Path()); });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::StatusOr<LinkKey> kept = OpenLinkKey(Path());
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_NE(*kept, LinkKey{});
  for (const auto& key : keys) {
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(*key, *kept);
  }
  struct stat status {};
  ASSERT_EQ(stat(Path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
  // Nothing is left beside it.
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(file.path(), Path());
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(LinkKeyTest, RefusesFoldersAndMissingFolders) {
  EXPECT_THAT(OpenLinkKey(folder_).status().message(),
              ::testing::HasSubstr("is not a regular file"));
  EXPECT_THAT(OpenLinkKey(folder_ + "/none/key").status().message(),
              ::testing::HasSubstr("cannot be made: No such file"));
}

TEST(YieldLink, IsReadAsItWasSignedAndByNoOtherKey) {
  const LinkKey key{1};
  YieldLink link;
  const auto token = runtime::ParseTaskToken("1.5f3a90c2.2a.1.7");
  ASSERT_TRUE(token.ok()) << token.status();
  link.yield = token->yield;
  link.expires_unix_s = uint64_t{1} << 40;
  link.maker = std::string(kMaxLinkMakerBytes, 'm');
  link.text = std::string(kMaxLinkTextBytes, 't');
  link.values.assign(kMaxLinkValues, std::string(kMaxLinkValueBytes, 'v'));
  const std::string text = SignLink(key, link);
  const auto read = ReadLink(key, text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->yield, link.yield);
  EXPECT_EQ(read->expires_unix_s, link.expires_unix_s);
  EXPECT_EQ(read->maker, link.maker);
  EXPECT_EQ(read->text, link.text);
  EXPECT_EQ(read->values, link.values);
  EXPECT_FALSE(ReadLink(LinkKey{2}, text).has_value());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    // The last character has bits that are not used.
    if (i + 1 == text.size()) continue;
    EXPECT_FALSE(ReadLink(key, changed).has_value()) << i;
    EXPECT_FALSE(ReadLink(key, text.substr(0, i)).has_value()) << i;
  }
}

}  // namespace
}  // namespace actord::daemon
