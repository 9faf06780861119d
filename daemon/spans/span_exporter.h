// The thread that sends spans to the collector, in batches.
//
// A batch is taken when the queue has enough spans, or when its first span has
// waited long enough. A batch that the collector does not take for now (no
// answer, or the status 429, 502, 503 or 504) is sent again, after the time
// that the collector asks for or after a pause that doubles. Meanwhile the
// queue fills. A batch that was refused for good, or too often, is dropped.
//
// Thread-safety: Start, Stop and the destructor are for one thread; the counts
// for any. Ownership: borrows the queue, the logger and the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/log/line_spacing.h"
#include "daemon/log/logging.h"
#include "daemon/settings/config_text.h"
#include "daemon/spans/collector.h"
#include "daemon/spans/otlp_body.h"
#include "daemon/spans/span_queue.h"
#include "runtime/system/clock.h"
#include "runtime/system/random.h"

namespace actord::daemon {

class SpanExporter {
 public:
  struct Options {
    // For one exchange with the collector.
    absl::Duration patience = absl::Seconds(10);
    // How often a batch is sent, at most.
    int attempts = 6;
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration max_pause = absl::Seconds(30);
    // The longest time for which the collector may put a batch off.
    absl::Duration max_retry_after = absl::Minutes(1);
    // Lines about a collector that fails have at least this distance.
    uint64_t line_space_ns = uint64_t{60} * 1'000'000'000;
  };

  // `url` as the log is to show it, and its parts.
  SpanExporter(std::string url, const CollectorUrl& parts,
               SpanResource resource, SpanQueue& queue, Logger& logger,
               const runtime::Clock& clock, const Options& options);
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // Closes the queue, and sends the spans in it for at most `patience`, each
  // batch once. Drops the others. Idempotent.
  void Stop(absl::Duration patience);

  // Number of spans that the collector has taken.
  [[nodiscard]] uint64_t exported() const {
    return exported_.load(std::memory_order_relaxed);
  }
  // Number of exchanges that failed.
  [[nodiscard]] uint64_t failures() const {
    return failures_.load(std::memory_order_relaxed);
  }

 private:
  enum class Result { kTaken, kRefused, kAgain };

  void Run();
  // Sends the batch until it is taken or given up. Returns whether it is taken.
  bool Send(const std::string& body, uint64_t spans);
  // `retry_after`: what the collector asks for.
  Result SendOnce(const std::string& body, uint64_t spans,
                  absl::Duration& retry_after);
  [[nodiscard]] absl::Duration PauseBefore(int attempt,
                                           absl::Duration retry_after);
  void Failed(const std::string& why);
  void Succeeded();

  const std::string url_;
  const SpanResource resource_;
  SpanQueue& queue_;
  Logger& logger_;
  const runtime::Clock& clock_;
  const Options options_;
  Collector collector_;
  runtime::Random random_;
  LineSpacing spacing_;
  bool has_logged_ = false;  // that it fails
  // The thread writes both, and readers take them for numbers alone. Relaxed.
  std::atomic<uint64_t> exported_{0};
  std::atomic<uint64_t> failures_{0};
  std::thread thread_;
};

}  // namespace actord::daemon
