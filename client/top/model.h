// Computes the figures of "actorctl top" from samples: rates, rows, totals.
//
// A rate is the difference between two samples, divided by the time between
// them by the daemon's steady clock, its uptime. If the last two samples are
// too close together, an earlier sample is compared. A sample of another run of
// the daemon (another incarnation, or an uptime that went back) starts anew and
// has no rates.
//
// Thread-safety: not thread-safe. Pure: no clock, no connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "client/top/sample.h"

namespace actord::client::top {

// Unit: per second. Unset: there is no sample to compare with.
using Rate = std::optional<double>;

// The daemon's rates between the compared samples.
struct DaemonRates {
  Rate started, ended, failed;
  Rate steps, messages, completions;
  // By any limit.
  Rate refusals;
  Rate dead_letters;
};

struct ProcessRow {
  v1::Process process;
  // Unset for a process that the earlier sample did not have, unless that
  // sample had all processes of the same type and the process was started after
  // it.
  Rate steps_rate = {};
  // By the daemon's clock.
  absl::Duration age;
};

// The processes of one type in the sample.
struct TypeRow {
  std::string type;
  uint64_t processes = 0;
  // `idle` includes dormant processes.
  uint64_t ready = 0, running = 0, blocked = 0, idle = 0;
  uint64_t durable = 0;
  uint64_t steps = 0;
  // The sum over the processes that have a rate.
  Rate steps_rate = {};
  uint64_t mailbox_messages = 0;
  uint64_t mailbox_bytes = 0;
  uint64_t yields = 0;
  absl::Duration oldest = absl::ZeroDuration();
};

class Model {
 public:
  // Rates cover at least `least`; there are none until a sample is that old.
  void Add(Sample sample, absl::Duration least = absl::ZeroDuration());

  // True after the first sample.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] const v1::GetStatusResponse& status() const { return status_; }
  [[nodiscard]] const DaemonRates& rates() const { return rates_; }
  // Number of restarts of the daemon between samples.
  [[nodiscard]] uint64_t restarts() const { return restarts_; }
  // The time that rates cover. Zero: there are no rates.
  [[nodiscard]] absl::Duration interval() const { return interval_; }
  // Time of the last sample, by the clock of the daemon's machine.
  [[nodiscard]] absl::Time now() const;
  // In the daemon's order.
  [[nodiscard]] const std::vector<ProcessRow>& processes() const {
    return rows_;
  }
  // True if processes() holds all processes of the requested type.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const SampleRequest& request() const { return request_; }

 private:
  // The sample with which later samples are compared.
  struct Baseline {
    v1::GetStatusResponse status;
    // By PID.
    std::unordered_map<std::string, uint64_t> steps;
    bool complete = false;
    std::string process_type;
  };
  void Compare(const Sample& sample, absl::Duration least);
  Rate StepsRate(const v1::Process& process) const;

  bool known_ = false;
  v1::GetStatusResponse status_;
  DaemonRates rates_;
  uint64_t restarts_ = 0;
  absl::Duration interval_ = absl::ZeroDuration();
  std::vector<ProcessRow> rows_;
  std::optional<Baseline> before_;
  // Replaces the baseline when `least` has passed since it.
  std::optional<Baseline> next_before_;
  bool complete_ = false;
  SampleRequest request_;
};

// The types in `rows`, in the order of their first rows.
std::vector<TypeRow> TypesOf(const std::vector<ProcessRow>& rows);

// Unit: refusals and ends because of any limit, since the daemon's start.
uint64_t RefusalsOf(const v1::Counters& counters);

}  // namespace actord::client::top
