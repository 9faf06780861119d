// What "actorctl top" shows, computed from samples: rates, rows, totals.
//
// Rates are differences between two samples over the time between them by the
// daemon's own steady clock, its uptime; not the last two if those are too
// close together for rates to mean anything. A sample of another run of the
// daemon (another incarnation, or an uptime that has gone back) begins anew: it
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

// Unit: per second. Unset: there is nothing to compare with.
using Rate = std::optional<double>;

// The daemon between the samples that are compared.
struct DaemonRates {
  Rate started, ended, failed;
  Rate steps, messages, completions;
  Rate refusals;  // by any limit
  Rate dead_letters;
};

struct ProcessRow {
  v1::Process process;
  // Of a process that the sample before did not have: unset, unless that had
  // all of the same type, and the process was started after it.
  Rate steps_rate = {};
  absl::Duration age;  // by the daemon's clock
};

// The processes of one type, of those that were looked at.
struct TypeRow {
  std::string type;
  uint64_t processes = 0;
  uint64_t ready = 0, running = 0, blocked = 0, idle = 0;
  uint64_t steps = 0;
  Rate steps_rate = {};  // of those that have one
  uint64_t mailbox_messages = 0;
  uint64_t mailbox_bytes = 0;
  uint64_t yields = 0;
  absl::Duration oldest = absl::ZeroDuration();
};

class Model {
 public:
  // Rates are over `least` at least; until there is a sample of so long ago
  // there are none.
  void Add(Sample sample, absl::Duration least = absl::ZeroDuration());

  // There has been a sample.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] const v1::GetStatusResponse& status() const { return status_; }
  [[nodiscard]] const DaemonRates& rates() const { return rates_; }
  // How often the daemon was seen to have been restarted.
  [[nodiscard]] uint64_t restarts() const { return restarts_; }
  // The time that rates are over. Zero: there are none.
  [[nodiscard]] absl::Duration interval() const { return interval_; }
  // When the last sample was taken, by the clock of the daemon's machine.
  [[nodiscard]] absl::Time now() const;
  // In the daemon's order.
  [[nodiscard]] const std::vector<ProcessRow>& processes() const {
    return rows_;
  }
  // There are no other processes than those, of the type that was asked for.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const SampleRequest& request() const { return request_; }

 private:
  // What later samples are compared with.
  struct Baseline {
    v1::GetStatusResponse status;
    std::unordered_map<std::string, uint64_t> steps;  // by PID
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
  std::optional<Baseline> next_before_;  // when `least` has passed since it
  bool complete_ = false;
  SampleRequest request_;
};

// Of rows, in the order in which the types come in them.
std::vector<TypeRow> TypesOf(const std::vector<ProcessRow>& rows);

// Unit: refusals and ends because of any limit, since the daemon's start.
uint64_t RefusalsOf(const v1::Counters& counters);

}  // namespace actord::client::top
