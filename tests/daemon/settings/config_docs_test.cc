// Compares docs/configuration.md with the table of keys.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/settings/config_keys.h"
#include "runtime/process/activity.h"
#include "runtime/settings/options.h"

namespace actord::daemon {
namespace {

std::string Row(const ConfigKey& key) {
  return absl::StrCat(
      "| `", std::string(key.path), "` | `--", std::string(key.option), " ",
      std::string(key.value), "` | `", EnvironmentName(key), "` | `",
      key.print(Config{}), "` | ", std::string(key.doc), " |\n");
}

TEST(ConfigDocs, HaveOneRowForEachKey) {
  std::ifstream file(ACTORD_TEST_CONFIG_DOCS);
  ASSERT_TRUE(file) << ACTORD_TEST_CONFIG_DOCS;
  std::ostringstream text;
  text << file.rdbuf();
  std::string rows;
  for (const ConfigKey& key : ConfigKeys()) rows += Row(key);
  EXPECT_NE(text.str().find("|---|---|---|---|---|\n" + rows + "\n"),
            std::string::npos)
      << "the table should be:\n"
      << rows;
}

TEST(ConfigDocs, NameTheHighestMailboxLimit) {
  const ConfigKey* const key = FindConfigKey("limits.max_mailbox_messages");
  ASSERT_NE(key, nullptr);
  const auto highest = runtime::Activity::kMessagesLimitMax;
  EXPECT_NE(std::string(key->doc).find(absl::StrCat(" to ", highest, ".")),
            std::string::npos);
  for (const uint64_t limit : {highest, highest + 1}) {
    runtime::RuntimeOptions options;
    options.max_mailbox_messages = limit;
    EXPECT_EQ(runtime::ValidateOptions(options).ok(), limit == highest);
  }
}

}  // namespace
}  // namespace actord::daemon
