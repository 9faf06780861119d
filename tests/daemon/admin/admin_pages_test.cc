#include "daemon/admin/admin_pages.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

class AdminPagesTest : public ::testing::Test {
 protected:
  AdminAnswer Get(const std::string& path, const std::string& accept = "",
                  const std::string& method = "GET") {
    return pages_.Answer({.method = method, .path = path, .accept = accept},
                         {.connections_open = 0,
                          .connections_refused = 0,
                          .requests = 3,
                          .requests_refused = 0});
  }

  HealthReport health_;
  HealthReport readiness_;
  AdminPages pages_{{.health = [this] { return health_; },
                     .readiness = [this] { return readiness_; },
                     .metrics =
                         [](const AdminCounts& counts) {
                           return "requests " + std::to_string(counts.requests);
                         }}};
};

TEST_F(AdminPagesTest, HealthIsOkOrSaysWhatIsWrong) {
  EXPECT_EQ(Get("/healthz").status, 200U);
  EXPECT_EQ(Get("/healthz").body, "ok\n");
  health_.problems = {"it stands still"};
  EXPECT_EQ(Get("/healthz").status, 503U);
  EXPECT_EQ(Get("/healthz").body, "problem: it stands still\n");
  EXPECT_EQ(Get("/readyz").status, 200U);
}

TEST_F(AdminPagesTest, ReadinessHasNotesBesideProblems) {
  readiness_.notes = {"the disk is full"};
  EXPECT_EQ(Get("/readyz").status, 200U);
  EXPECT_EQ(Get("/readyz").body, "ok\nnote: the disk is full\n");
  readiness_.problems = {"draining"};
  EXPECT_EQ(Get("/readyz").status, 503U);
  EXPECT_EQ(Get("/readyz").body, "problem: draining\nnote: the disk is full\n");
  EXPECT_EQ(Get("/healthz").status, 200U);
}

TEST_F(AdminPagesTest, JsonIsForClientsThatAcceptIt) {
  readiness_.problems = {"draining"};
  const AdminAnswer answer = Get("/readyz", "application/json");
  EXPECT_EQ(answer.status, 503U);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body,
            "{\"notes\":[],\"ok\":false,\"problems\":[\"draining\"]}\n");
}

TEST_F(AdminPagesTest, JsonMustBeWantedMoreThanText) {
  EXPECT_TRUE(PrefersJson("application/json"));
  EXPECT_TRUE(PrefersJson("text/plain;q=0.5, Application/JSON"));
  EXPECT_TRUE(PrefersJson("application/json; q=0.2, text/plain; q=0.1"));
  for (const char* accept :
       {"", "*/*", "text/html,*/*;q=0.8", "text/plain, application/json",
        "application/json;q=0", ",;,q=", "application/jsonx"}) {
    EXPECT_FALSE(PrefersJson(accept)) << accept;
  }
}

TEST_F(AdminPagesTest, MetricsAreTheTextOfPrometheusForEveryAcceptHeader) {
  const AdminAnswer answer = Get("/metrics", "application/json");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(answer.body, "requests 3");
}

TEST_F(AdminPagesTest, UnknownPathIsNotFound) {
  for (const char* path : {"/", "/healthz/", "/Healthz", "/metrics/../x"}) {
    EXPECT_EQ(Get(path).status, 404U) << path;
  }
}

TEST_F(AdminPagesTest, OtherMethodsAreRefusedWithTheAllowedOnes) {
  for (const char* method : {"POST", "DELETE", "OPTIONS", "get"}) {
    const AdminAnswer answer = Get("/healthz", "", method);
    EXPECT_EQ(answer.status, 405U) << method;
    EXPECT_EQ(answer.allow, "GET, HEAD") << method;
  }
  EXPECT_EQ(Get("/healthz", "", "HEAD").status, 200U);
}

}  // namespace
}  // namespace actord::daemon
