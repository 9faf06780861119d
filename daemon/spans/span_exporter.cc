#include "daemon/spans/span_exporter.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

// The statuses after which OTLP lets a client send a batch again.
bool MayBeSentAgain(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 ||
         status == 504;
}

}  // namespace

SpanExporter::SpanExporter(std::string url, const CollectorUrl& parts,
                           SpanResource resource, SpanQueue& queue,
                           Logger& logger, const runtime::Clock& clock,
                           const Options& options)
    : url_(std::move(url)),
      resource_(std::move(resource)),
      queue_(queue),
      logger_(logger),
      clock_(clock),
      options_(options),
      collector_(parts, absl::StrCat("actord/", resource_.version), clock),
      random_(runtime::Random::SystemSeed()),
      spacing_(options.line_space_ns) {}

SpanExporter::~SpanExporter() { Stop(absl::ZeroDuration()); }

absl::Status SpanExporter::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that exports spans: ", error.what()));
  }
}

void SpanExporter::Stop(absl::Duration patience) {
  if (!thread_.joinable()) return;
  collector_.Hurry(patience);
  queue_.Close();
  thread_.join();
}

void SpanExporter::Run() {
  pthread_setname_np(pthread_self(), "spans");
  while (true) {
    const std::vector<EndedSpan> batch = queue_.TakeBatch();
    if (batch.empty()) return;
    const bool is_taken = Send(WriteOtlp(batch, resource_), batch.size());
    // At the end the others would wait for the same collector.
    if (!is_taken && queue_.IsClosed()) queue_.Clear();
  }
}

bool SpanExporter::Send(const std::string& body, uint64_t spans) {
  for (int attempt = 1;; ++attempt) {
    absl::Duration retry_after = absl::ZeroDuration();
    const Result result = SendOnce(body, spans, retry_after);
    if (result == Result::kTaken) return true;
    if (result == Result::kRefused || attempt == options_.attempts ||
        queue_.IsClosed()) {
      queue_.CountDropped(spans);
      return false;
    }
    queue_.Pause(PauseBefore(attempt + 1, retry_after));
  }
}

SpanExporter::Result SpanExporter::SendOnce(const std::string& body,
                                            uint64_t spans,
                                            absl::Duration& retry_after) {
  const Collector::Answer answer = collector_.Post(body, options_.patience);
  if (answer.status / 100 == 2) {
    const OtlpAnswer read = ReadOtlpAnswer(answer.body);
    const uint64_t rejected = std::min(read.rejected_spans, spans);
    queue_.CountDropped(rejected);
    exported_.fetch_add(spans - rejected, std::memory_order_relaxed);
    if (rejected != 0) {
      Failed(absl::StrCat("it has refused ", rejected, " of ", spans,
                          " spans: ", read.error));
    } else {
      Succeeded();
    }
    return Result::kTaken;
  }
  retry_after = answer.retry_after;
  Failed(answer.status == 0
             ? answer.problem
             : absl::StrCat("it answers with the status ", answer.status));
  return MayBeSentAgain(answer.status) ? Result::kAgain : Result::kRefused;
}

absl::Duration SpanExporter::PauseBefore(int attempt,
                                         absl::Duration retry_after) {
  if (retry_after != absl::ZeroDuration()) {
    return std::min(retry_after, options_.max_retry_after);
  }
  const absl::Duration pause =
      std::min(options_.max_pause, options_.first_pause * (1 << (attempt - 2)));
  // Between the half and the whole, so that daemons do not return together.
  constexpr double kRange = 18446744073709551616.0;
  return pause * (0.5 + static_cast<double>(random_.Next()) / kRange / 2);
}

void SpanExporter::Failed(const std::string& why) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  if (has_logged_) return;
  // A failure soon after the last line is told by a later one.
  if (!spacing_.Admit("", clock_.MonotonicNs()).has_value()) return;
  has_logged_ = true;
  logger_.Warning(absl::StrCat(
      "the collector of traces.endpoint ", url_, " does not take spans: ", why,
      ". The newest spans are dropped when traces.queue is full; see "
      "actord_spans_dropped_total"));
}

void SpanExporter::Succeeded() {
  if (!std::exchange(has_logged_, false)) return;
  logger_.Info(absl::StrCat("the collector of traces.endpoint ", url_,
                            " takes spans again"));
}

}  // namespace actord::daemon
