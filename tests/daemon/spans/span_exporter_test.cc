#include "daemon/spans/span_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "daemon/spans/name_lookup.h"
#include "otlp/trace.pb.h"
#include "tests/daemon/spans/fake_collector.h"

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SpanExporterTest : public ::testing::Test {
 protected:
  SpanExporterTest() { options_.first_pause = absl::Milliseconds(1); }
  ~SpanExporterTest() override {
    exporter_.reset();
    if (captures_) Log();
  }

  void Start(const std::string& url) {
    ::testing::internal::CaptureStderr();
    captures_ = true;
    exporter_ = std::make_unique<SpanExporter>(
        url, *ParseCollectorUrl(url),
        SpanResource{.version = "1.2", .instance_id = "id"}, queue_, logger_,
        runtime::Clock::System(), options_);
    ASSERT_TRUE(exporter_->Start().ok());
  }
  void Push(int count) {
    for (int i = 0; i < count; ++i) {
      queue_.Push({{}, runtime::StepFacts{.process_type = "t", .pid = "p"}});
    }
  }
  // Polls for a state of the counts.
  template <typename Condition>
  [[nodiscard]] bool Await(Condition condition) {
    const uint64_t end_ns =
        runtime::Clock::System().MonotonicNs() + uint64_t{30'000'000'000};
    while (!condition()) {
      if (runtime::Clock::System().MonotonicNs() > end_ns) return false;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return true;
  }
  std::string Log() {
    captures_ = false;
    logger_.Flush(LogWriter::kLastPatience);
    return ::testing::internal::GetCapturedStderr();
  }
  static int SpansOf(const std::string& body) {
    otlp::ExportRequest request;
    EXPECT_TRUE(request.ParseFromString(body));
    return request.resource_spans(0).scope_spans(0).spans_size();
  }
  // Stops, and returns how long it took.
  absl::Duration Stop(absl::Duration patience) {
    const uint64_t begin_ns = runtime::Clock::System().MonotonicNs();
    exporter_->Stop(patience);
    return absl::Nanoseconds(runtime::Clock::System().MonotonicNs() - begin_ns);
  }

  SpanExporter::Options options_;
  SpanQueue queue_{{.max_spans = 1000,
                    .batch_spans = 10,
                    .batch_wait = absl::Milliseconds(5)}};
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
  std::unique_ptr<SpanExporter> exporter_;
  bool captures_ = false;
};

TEST_F(SpanExporterTest, SendsBatchesOverOneConnection) {
  const FakeCollector collector;
  Push(25);
  Start(collector.url());
  ASSERT_TRUE(collector.Await(3));
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 25; }));
  std::vector<int> sizes;
  for (const std::string& body : collector.bodies()) {
    sizes.push_back(SpansOf(body));
  }
  EXPECT_THAT(sizes, ElementsAre(10, 10, 5));
  EXPECT_EQ(collector.connections(), 1);
  EXPECT_THAT(collector.headers()[0],
              ::testing::StartsWith("POST /v1/traces HTTP/1.1\r\n"));
  EXPECT_THAT(collector.headers()[0],
              HasSubstr("Content-Type: application/x-protobuf\r\n"));
  EXPECT_THAT(collector.headers()[0], HasSubstr("User-Agent: actord/1.2\r\n"));
  EXPECT_EQ(exporter_->failures(), 0u);
  EXPECT_EQ(queue_.dropped(), 0u);
}

TEST_F(SpanExporterTest, SendsAgainWhenTheCollectorAsksForIt) {
  const FakeCollector collector(
      {FakeCollector::Plain(503, "Retry-After: 1\r\n"),
       FakeCollector::Plain(429)});
  Start(collector.url());
  const uint64_t begin_ns = runtime::Clock::System().MonotonicNs();
  Push(1);
  ASSERT_TRUE(collector.Await(2));
  EXPECT_GE(runtime::Clock::System().MonotonicNs() - begin_ns, 1'000'000'000u)
      << "Retry-After counts";
  ASSERT_TRUE(collector.Await(3));
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 1; }));
  EXPECT_EQ(collector.bodies()[0], collector.bodies()[2]);
  EXPECT_EQ(exporter_->failures(), 2u);
  EXPECT_EQ(queue_.dropped(), 0u);
  Stop(absl::Seconds(60));  // The line is written after the count.
  const std::string log = Log();
  EXPECT_THAT(log, HasSubstr("does not take spans: it answers with the status "
                             "503"));
  EXPECT_THAT(log, Not(HasSubstr("status 429")))
      << "one line until it works again";
  EXPECT_THAT(log, HasSubstr("takes spans again"));
}

TEST_F(SpanExporterTest, CollectorCannotPutABatchOffForLong) {
  options_.max_retry_after = absl::Milliseconds(1);
  const FakeCollector collector(
      {FakeCollector::Plain(503, "Retry-After: 4000000000\r\n")});
  Start(collector.url());
  Push(1);
  EXPECT_TRUE(collector.Await(2));
}

TEST_F(SpanExporterTest, DropsABatchThatIsRefusedForGood) {
  const FakeCollector collector({FakeCollector::Plain(400)});
  Start(collector.url());
  Push(1);
  ASSERT_TRUE(Await([&] { return queue_.dropped() == 1; }));
  EXPECT_EQ(collector.bodies().size(), 1u);
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 1; }));
}

TEST_F(SpanExporterTest, DropsABatchAfterTheLastAttempt) {
  options_.attempts = 3;
  const FakeCollector collector({FakeCollector::Plain(503),
                                 FakeCollector::Plain(502),
                                 FakeCollector::Plain(504)});
  Start(collector.url());
  Push(2);
  ASSERT_TRUE(Await([&] { return queue_.dropped() == 2; }));
  EXPECT_EQ(collector.bodies().size(), 3u);
  EXPECT_EQ(exporter_->failures(), 3u);
}

TEST_F(SpanExporterTest, CountsSpansThatTheCollectorRefuses) {
  const FakeCollector collector(
      {"HTTP/1.1 200 OK\r\nContent-Length: "
       "8\r\n\r\n\x0a\x06\x08\x03\x12\x02no"});
  Start(collector.url());
  Push(5);
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 2; }));
  EXPECT_EQ(queue_.dropped(), 3u);
  Stop(absl::Seconds(60));  // The line is written after the count.
  EXPECT_THAT(Log(), HasSubstr("it has refused 3 of 5 spans: no"));
}

TEST_F(SpanExporterTest, ConnectsAgainWhenTheConnectionIsClosed) {
  const FakeCollector collector(
      {FakeCollector::Plain(200), FakeCollector::kClose});
  Start(collector.url());
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 1; }));
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 2; }));
  EXPECT_EQ(collector.connections(), 2);
  EXPECT_EQ(exporter_->failures(), 0u)
      << "a collector closes connections that are idle";
}

TEST_F(SpanExporterTest, CollectorThatHangsOrDripsIsGivenUp) {
  options_.patience = absl::Milliseconds(100);
  const FakeCollector collector({FakeCollector::kHang, FakeCollector::kDrip});
  Start(collector.url());
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 1; }));
  EXPECT_EQ(exporter_->failures(), 2u);
  EXPECT_THAT(Log(), HasSubstr("no answer in time"));
}

TEST_F(SpanExporterTest, AnswerIsBounded) {
  const FakeCollector collector({FakeCollector::kFlood,
                                 FakeCollector::kChunkedFlood,
                                 FakeCollector::kEndlessFlood});
  Start(collector.url());
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->exported() == 1; }));
  EXPECT_EQ(exporter_->failures(), 3u);
  EXPECT_LT(collector.written(), size_t{64} << 20)
      << "the daemon has read no more than the system's buffers hold";
}

TEST_F(SpanExporterTest, CollectorThatIsNotThereIsLoggedOnce) {
  std::string url;
  {
    const FakeCollector gone;
    url = gone.url();
  }
  Start(url);
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->failures() >= 4; }));
  EXPECT_EQ(exporter_->exported(), 0u);
  const std::string log = Log();
  const size_t first = log.find("does not take spans: cannot connect: ");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("does not take spans", first + 1), std::string::npos);
}

TEST_F(SpanExporterTest, StopSendsWhatWaits) {
  const FakeCollector collector;
  queue_.Push({{}, runtime::StepFacts{}});
  Start(collector.url());
  Push(31);
  exporter_->Stop(absl::Seconds(30));
  EXPECT_EQ(exporter_->exported(), 32u);
  EXPECT_EQ(queue_.dropped(), 0u);
}

TEST_F(SpanExporterTest, StopWaitsForNoCollectorThatHangs) {
  const FakeCollector collector({FakeCollector::kHang, FakeCollector::kHang});
  Start(collector.url());
  Push(1);
  ASSERT_TRUE(collector.Await(1));
  Push(30);
  EXPECT_LT(Stop(absl::Milliseconds(50)), absl::Seconds(5))
      << "the exchange that runs has 10 s otherwise";
  EXPECT_EQ(exporter_->exported(), 0u);
  EXPECT_EQ(queue_.dropped(), 31u);
}

TEST_F(SpanExporterTest, StopBreaksOffAPause) {
  options_.first_pause = absl::Hours(1);
  options_.max_pause = absl::Hours(1);
  const FakeCollector collector({FakeCollector::Plain(503)});
  Start(collector.url());
  Push(1);
  ASSERT_TRUE(Await([&] { return exporter_->failures() == 1; }));
  EXPECT_LT(Stop(absl::Seconds(20)), absl::Seconds(10));
  // The pause may not have begun yet; then there is no attempt at the end.
  EXPECT_EQ(exporter_->exported() + queue_.dropped(), 1u);
}

TEST(NameLookup, FindsAddressesWithoutAskingForThem) {
  NameLookup lookup([](const std::string&) {
    return absl::StatusOr<NameLookup::Addresses>(absl::InternalError("asked"));
  });
  const auto none = [] { return false; };
  EXPECT_THAT(*lookup.Find("127.0.0.1", none), ElementsAre("127.0.0.1"));
  EXPECT_THAT(*lookup.Find("::1", none), ElementsAre("::1"));
}

TEST(NameLookup, LookUpThatHangsIsLeftAloneAndUsedLater) {
  struct Gate {
    absl::Mutex mutex;
    bool is_open = false;
    int asked = 0;
  };
  const auto gate = std::make_shared<Gate>();
  NameLookup lookup([gate](const std::string&) {
    const absl::MutexLock lock(&gate->mutex);
    ++gate->asked;
    gate->mutex.Await(absl::Condition(&gate->is_open));
    return absl::StatusOr<NameLookup::Addresses>(
        NameLookup::Addresses{"127.0.0.7"});
  });
  int looks = 0;
  const auto three_times = [&looks] { return ++looks < 3; };
  EXPECT_EQ(lookup.Find("name", three_times).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  {
    const absl::MutexLock lock(&gate->mutex);
    gate->is_open = true;
  }
  const auto found = lookup.Find("name", [] { return true; });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre("127.0.0.7"));
  EXPECT_EQ(gate->asked, 1) << "one look-up at a time";
}

}  // namespace
}  // namespace actord::daemon
