#include "daemon/console/console_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "daemon/console/console_files.h"

namespace actord::daemon {
namespace {

AdminAnswer Get(const std::string& path, const std::string& if_none_match = "",
                const std::string& method = "GET") {
  return ConsoleAnswer({.method = method,
                        .path = path,
                        .accept = "",
                        .if_none_match = if_none_match,
                        .query = "",
                        .headers = {},
                        .body = "",
                        .peer = ""});
}

std::string HeaderOf(const AdminAnswer& answer, const std::string& name) {
  for (const auto& [header, value] : answer.headers) {
    if (header == name) return value;
  }
  return "";
}

TEST(ConsolePages, TakesItsFolderAlone) {
  EXPECT_TRUE(IsConsolePath("/console"));
  EXPECT_TRUE(IsConsolePath("/console/"));
  EXPECT_TRUE(IsConsolePath("/console/views/x.js"));
  EXPECT_TRUE(IsConsolePath("/"));
  EXPECT_FALSE(IsConsolePath("/consoles"));
  EXPECT_FALSE(IsConsolePath("/index.html"));
}

TEST(ConsolePages, ServesEachFileWithItsTypeAndTag) {
  ASSERT_GT(ConsoleFiles().size(), 10U);
  for (const ConsoleFile& file : ConsoleFiles()) {
    const std::string path = "/console/" + std::string(file.path);
    const AdminAnswer answer = Get(path);
    EXPECT_EQ(answer.status, 200U) << path;
    EXPECT_EQ(answer.body, file.body) << path;
    EXPECT_EQ(answer.content_type, file.content_type) << path;
    EXPECT_EQ(HeaderOf(answer, "ETag"), file.etag) << path;
    const AdminAnswer same = Get(path, std::string(file.etag));
    EXPECT_EQ(same.status, 304U) << path;
    EXPECT_EQ(same.body, "") << path;
    // Each file has a tag of its own.
    EXPECT_EQ(std::count_if(ConsoleFiles().begin(), ConsoleFiles().end(),
                            [&file](const ConsoleFile& one) {
                              return one.etag == file.etag;
                            }),
              1)
        << path;
  }
}

TEST(ConsolePages, ServesThePageForTheFolder) {
  EXPECT_EQ(Get("/console/").body, Get("/console/index.html").body);
  const AdminAnswer moved = Get("/console");
  EXPECT_EQ(moved.status, 308U);
  EXPECT_EQ(HeaderOf(moved, "Location"), "/console/");
}

TEST(ConsolePages, RefusesOtherPathsAndMethods) {
  EXPECT_EQ(Get("/console/none.js").status, 404U);
  EXPECT_EQ(Get("/console/../main.js").status, 404U);
  const AdminAnswer refused = Get("/console/", "", "POST");
  EXPECT_EQ(refused.status, 405U);
  EXPECT_EQ(refused.allow, "GET, HEAD");
}

}  // namespace
}  // namespace actord::daemon
