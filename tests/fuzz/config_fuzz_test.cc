// A configuration file with any content is refused with its line, or it is a
// configuration that prints as itself.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/settings/config.h"
#include "daemon/settings/config_file.h"
#include "daemon/settings/config_keys.h"
#include "daemon/settings/config_text.h"
#include "tests/fuzz/mutator.h"

namespace actord::daemon {
namespace {

constexpr int kFiles = 20'000;

std::vector<std::string> FileWords() {
  std::vector<std::string> words = {"\"\"\"",
                                    "'''",
                                    "\\u0000",
                                    "\\U0010ffff",
                                    "=",
                                    "[",
                                    "]",
                                    "[[",
                                    "]]",
                                    "\n",
                                    "1e400",
                                    "0x7f",
                                    "nan",
                                    "-1",
                                    "{a=1}",
                                    "#",
                                    "none",
                                    "16MiB",
                                    "1979-05-27T07:32:00Z",
                                    "99999999999999999999"};
  for (const ConfigKey& key : ConfigKeys()) {
    words.emplace_back(key.path);
  }
  return words;
}

TEST(ConfigFuzz, IsRefusedWithItsLineOrPrintsAsItself) {
  const std::string printed = PrintConfig(Config{});
  const std::vector<std::string> corpus = {
      "", printed, "[log]\nlevel = \"info\"\n",
      "server.listen = [\"127.0.0.1:0\", \"unix:/s\"]\n"
      "limits = { max_payload_bytes = \"1MiB\", max_yields = 7 }\n"};
  int accepted = 0;
  fuzz::Fuzz(corpus, FileWords(), 1, kFiles, [&](const std::string& input) {
    const auto values = ParseConfigText(input, "f");
    if (!values.ok()) {
      EXPECT_EQ(values.status().message().substr(0, 2), "f:");
      return;
    }
    Config config;
    if (!ApplyConfigValues(*values, config).ok()) return;
    ++accepted;
    const std::string text = PrintConfig(config);
    const auto again = ParseConfigText(text, "printed");
    ASSERT_TRUE(again.ok()) << again.status();
    Config same;
    const absl::Status status = ApplyConfigValues(*again, same);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(PrintConfig(same), text);
  });
  EXPECT_GT(accepted, kFiles / 100) << "nearly everything was refused";
}

TEST(ConfigFuzz, SizesDurationsAndAddressesReadBack) {
  const std::vector<std::string> corpus = {
      "1048576", "16MiB",          "1m30s",   "250ms",
      "none",    "127.0.0.1:7600", "[::1]:0", "unix:/run/actord.sock"};
  const std::vector<std::string> words = {"KiB", "GB", "h", "us",  "ns",
                                          ".",   ":",  "-", "inf", "e9"};
  fuzz::Fuzz(corpus, words, 2, kFiles, [](const std::string& input) {
    if (const auto size = ParseSizeText(input); size.ok()) {
      EXPECT_EQ(*ParseSizeText(FormatSizeText(*size)), *size);
    }
    if (const auto duration = ParseDurationText(input); duration.ok()) {
      EXPECT_GE(*duration, absl::ZeroDuration());
      const auto again = ParseDurationText(FormatDurationText(*duration));
      ASSERT_TRUE(again.ok()) << FormatDurationText(*duration);
      EXPECT_EQ(*again, *duration);
    }
    if (const auto address = ParseListenAddress(input); address.ok()) {
      EXPECT_NE(address->is_unix, address->path.empty());
      EXPECT_EQ(address->is_unix, address->host.empty());
    }
  });
}

}  // namespace
}  // namespace actord::daemon
