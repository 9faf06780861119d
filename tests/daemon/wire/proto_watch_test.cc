#include "daemon/wire/proto_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr uint32_t kWatchRun = 0x5f3a90c2;
const char kWatchPid[] = "1.5f3a90c2.2a.1";

v1::WatchProcessesRequest RequestFor(const std::string& type,
                                     const std::string& parent,
                                     const std::string& token = "") {
  v1::WatchProcessesRequest request;
  request.set_process_type(type);
  request.set_parent_pid(parent);
  request.set_resume_token(token);
  return request;
}

std::string TokenOf(const std::string& type, const std::string& parent,
                    const WatchPlace& place, uint32_t run = kWatchRun) {
  const auto order = ReadWatch(RequestFor(type, parent), run);
  EXPECT_TRUE(order.ok()) << order.status();
  return MakeResumeToken(run, order->scope, place);
}

void ExpectRefused(const absl::StatusOr<WatchOrder>& order,
                   std::string_view field, std::string_view why) {
  EXPECT_EQ(order.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(runtime::ReasonOf(order.status()), why);
  EXPECT_EQ(runtime::FieldOf(order.status()), field);
}

TEST(ReadWatch, BeginsWithASnapshotByDefault) {
  const auto all = ReadWatch({}, kWatchRun);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->filter.process_type, "");
  EXPECT_TRUE(all->filter.parent.empty());
  EXPECT_FALSE(all->skip_snapshot);
  EXPECT_FALSE(all->resumes.has_value());
  EXPECT_FALSE(all->resumes_other_run);
  v1::WatchProcessesRequest request = RequestFor("order", kWatchPid);
  request.set_skip_snapshot(true);
  const auto some = ReadWatch(request, kWatchRun);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->filter.process_type, "order");
  EXPECT_EQ(runtime::FormatPid(some->filter.parent), kWatchPid);
  EXPECT_TRUE(some->skip_snapshot);
}

TEST(ReadWatch, ChecksItsFields) {
  EXPECT_TRUE(ReadWatch(RequestFor(std::string(128, 'x'), ""), kWatchRun).ok());
  ExpectRefused(ReadWatch(RequestFor(std::string(129, 'x'), ""), kWatchRun),
                "process_type", runtime::reason::kInvalidField);
  ExpectRefused(ReadWatch(RequestFor("", "nobody"), kWatchRun), "parent_pid",
                runtime::reason::kInvalidPid);
}

TEST(ResumeToken, ReadsBack) {
  for (const WatchPlace& place :
       {WatchPlace{.cursor = 1, .slot = {}}, WatchPlace{.cursor = 0, .slot = 0},
        WatchPlace{.cursor = UINT64_MAX, .slot = UINT32_MAX - 1},
        WatchPlace{.cursor = 12345678901234567890u, .slot = 65536}}) {
    const std::string token = TokenOf("order", kWatchPid, place);
    EXPECT_LE(token.size(), 64u);
    const auto order =
        ReadWatch(RequestFor("order", kWatchPid, token), kWatchRun);
    ASSERT_TRUE(order.ok()) << order.status();
    EXPECT_EQ(order->resumes, place);
    EXPECT_FALSE(order->resumes_other_run);
  }
}

TEST(ResumeToken, TokenOfAnotherRunIsAccepted) {
  const std::string token =
      TokenOf("", "", {.cursor = 7, .slot = 9}, kWatchRun + 1);
  const auto order = ReadWatch(RequestFor("", "", token), kWatchRun);
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_FALSE(order->resumes.has_value());
  EXPECT_TRUE(order->resumes_other_run);
}

TEST(ResumeToken, IsValidForItsFiltersOnly) {
  const WatchPlace place{.cursor = 7, .slot = {}};
  struct Filters {
    std::string type, parent;
  };
  const std::vector<Filters> all = {{"", ""},
                                    {"order", ""},
                                    {"orde", ""},
                                    {"", kWatchPid},
                                    {"order", kWatchPid}};
  for (const Filters& made : all) {
    const std::string token = TokenOf(made.type, made.parent, place);
    for (const Filters& used : all) {
      const auto order =
          ReadWatch(RequestFor(used.type, used.parent, token), kWatchRun);
      if (&made == &used) {
        EXPECT_TRUE(order.ok()) << order.status();
      } else {
        ExpectRefused(order, "resume_token",
                      runtime::reason::kInvalidResumeToken);
      }
    }
  }
}

TEST(ResumeToken, RefusesOtherTexts) {
  const std::string token = TokenOf("", "", {.cursor = 7, .slot = 8});
  for (size_t at = 0; at < token.size(); ++at) {
    for (const char c : std::string("0123456789abcdefABCDEF -+x\xff")) {
      std::string other = token;
      other[at] = c;
      if (other == token) continue;
      ExpectRefused(ReadWatch(RequestFor("", "", other), kWatchRun),
                    "resume_token", runtime::reason::kInvalidResumeToken);
    }
  }
  for (const std::string& other :
       {token + "0", token.substr(1), std::string(" "), std::string(40, '0'),
        std::string(100'000, 'f')}) {
    ExpectRefused(ReadWatch(RequestFor("", "", other), kWatchRun),
                  "resume_token", runtime::reason::kInvalidResumeToken);
  }
}

TEST(WriteEvent, WritesStarts) {
  runtime::LifecycleEvent event;
  event.pid = runtime::ParsePid(kWatchPid).value();
  event.process_type = "order";
  event.method = "run\xff";  // a plugin may return any bytes
  event.priority = 3;
  event.started_unix_ns = 1'500'000'000;
  v1::ProcessEvent proto;
  WriteEvent(event, &proto);
  ASSERT_TRUE(proto.has_started());
  EXPECT_EQ(proto.started().pid(), kWatchPid);
  EXPECT_EQ(proto.started().process_type(), "order");
  EXPECT_EQ(proto.started().method(), "run\xEF\xBF\xBD");
  EXPECT_EQ(proto.started().parent_pid(), "");
  EXPECT_EQ(proto.started().priority(), 3);
  EXPECT_EQ(proto.started().create_time().seconds(), 1);
  EXPECT_EQ(proto.started().create_time().nanos(), 500'000'000);
}

TEST(WriteEvent, WritesEnds) {
  runtime::LifecycleEvent event;
  event.kind = runtime::LifecycleEvent::Kind::kEnded;
  event.pid = runtime::ParsePid(kWatchPid).value();
  event.parent = runtime::ParsePid("1.5f3a90c2.7.3").value();
  event.process_type = "order";
  event.started_unix_ns = 1'000'000'000;
  event.ended_unix_ns = 2'000'000'000;
  event.steps = 17;
  v1::ProcessEvent proto;
  WriteEvent(event, &proto);
  ASSERT_TRUE(proto.has_ended());
  EXPECT_FALSE(proto.ended().has_failure());
  EXPECT_EQ(proto.ended().pid(), kWatchPid);
  EXPECT_EQ(proto.ended().parent_pid(), "1.5f3a90c2.7.3");
  EXPECT_EQ(proto.ended().process_type(), "order");
  EXPECT_EQ(proto.ended().create_time().seconds(), 1);
  EXPECT_EQ(proto.ended().end_time().seconds(), 2);
  EXPECT_EQ(proto.ended().steps(), 17u);
  event.end = runtime::EndKind::kTerminated;
  event.code = absl::StatusCode::kAborted;
  event.message = "because\xff";
  WriteEvent(event, &proto);
  EXPECT_EQ(proto.ended().failure().reason(), v1::FAILURE_REASON_TERMINATED);
  EXPECT_EQ(proto.ended().failure().code(), 10);
  EXPECT_EQ(proto.ended().failure().message(), "because\xEF\xBF\xBD");
}

}  // namespace
}  // namespace actord::daemon
