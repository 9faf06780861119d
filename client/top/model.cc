#include "client/top/model.h"

#include <algorithm>
#include <utility>

#include "client/output/message_json.h"

namespace actord::client::top {
namespace {

// Counters do not decrease while a daemon runs; a decrease counts as no
// progress.
Rate RateOf(uint64_t before, uint64_t now, absl::Duration interval) {
  if (interval <= absl::ZeroDuration()) return std::nullopt;
  const uint64_t more = now > before ? now - before : 0;
  return static_cast<double>(more) / absl::ToDoubleSeconds(interval);
}

DaemonRates RatesOf(const v1::Counters& before, const v1::Counters& now,
                    absl::Duration interval) {
  const auto rate = [&](uint64_t (v1::Counters::*counter)() const) {
    return RateOf((before.*counter)(), (now.*counter)(), interval);
  };
  return {.started = rate(&v1::Counters::processes_started_total),
          .ended = rate(&v1::Counters::processes_ended_total),
          .failed = rate(&v1::Counters::processes_failed_total),
          .steps = rate(&v1::Counters::steps_total),
          .messages = rate(&v1::Counters::messages_total),
          .completions = rate(&v1::Counters::completions_total),
          .refusals = RateOf(RefusalsOf(before), RefusalsOf(now), interval),
          .dead_letters = rate(&v1::Counters::dead_letters_total)};
}

// Time of a sample, by the clock of the daemon's machine.
absl::Time TakenAt(const v1::GetStatusResponse& status) {
  return ToTime(status.start_time()) + ToDuration(status.uptime());
}

}  // namespace

uint64_t RefusalsOf(const v1::Counters& counters) {
  return counters.mailbox_limit_total() + counters.process_limit_total() +
         counters.process_type_limit_total() + counters.yield_limit_total() +
         counters.external_yield_limit_total() +
         counters.payload_limit_total() + counters.step_limit_total() +
         counters.lifetime_limit_total() + counters.watch_limit_total() +
         counters.connection_limit_total() + counters.memory_limit_total() +
         counters.unread_answers_limit_total() + counters.owner_limit_total() +
         counters.client_quota_limit_total() +
         counters.process_owner_limit_total() +
         counters.mailbox_owner_limit_total() +
         counters.yield_owner_limit_total() +
         counters.connection_address_limit_total() +
         counters.connection_descriptor_limit_total() +
         counters.subscription_limit_total() +
         counters.store_full_limit_total();
}

void Model::Add(Sample sample, absl::Duration least) {
  Compare(sample, least);
  status_ = std::move(sample.status);
  complete_ = sample.complete;
  request_ = std::move(sample.request);
  known_ = true;
  const absl::Time now = TakenAt(status_);
  rows_.clear();
  rows_.reserve(sample.processes.size());
  for (v1::Process& process : sample.processes) {
    const Rate rate = StepsRate(process);
    // The process may have started after the status was taken.
    const absl::Duration age =
        std::max(now - ToTime(process.create_time()), absl::ZeroDuration());
    rows_.push_back(
        {.process = std::move(process), .steps_rate = rate, .age = age});
  }
}

absl::Time Model::now() const { return TakenAt(status_); }

void Model::Compare(const Sample& sample, absl::Duration least) {
  const absl::Duration uptime = ToDuration(sample.status.uptime());
  const bool same_run = known_ &&
                        sample.status.incarnation() == status_.incarnation() &&
                        uptime >= ToDuration(status_.uptime());
  if (known_ && !same_run) ++restarts_;
  if (!same_run) {
    before_.reset();
    next_before_.reset();
  }
  const bool moves =
      !next_before_ ||
      uptime - ToDuration(next_before_->status.uptime()) >= least;
  if (moves) {
    if (next_before_) before_ = std::move(next_before_);
    Baseline next;
    next.status = sample.status;
    for (const v1::Process& process : sample.processes) {
      next.steps.emplace(process.pid(), process.steps());
    }
    next.complete = sample.complete;
    next.process_type = sample.request.process_type;
    next_before_ = std::move(next);
  }
  interval_ = absl::ZeroDuration();
  rates_ = {};
  if (!before_) return;
  interval_ = uptime - ToDuration(before_->status.uptime());
  rates_ =
      RatesOf(before_->status.counters(), sample.status.counters(), interval_);
}

Rate Model::StepsRate(const v1::Process& process) const {
  if (interval_ <= absl::ZeroDuration()) return std::nullopt;
  const auto before = before_->steps.find(process.pid());
  if (before != before_->steps.end()) {
    return RateOf(before->second, process.steps(), interval_);
  }
  // The two times come from two clocks. A process of the requested type that
  // existed then would be in the earlier sample.
  if (!before_->complete || before_->process_type != request_.process_type ||
      ToTime(process.create_time()) < TakenAt(before_->status)) {
    return std::nullopt;
  }
  return RateOf(0, process.steps(), interval_);
}

std::vector<TypeRow> TypesOf(const std::vector<ProcessRow>& rows) {
  std::vector<TypeRow> types;
  std::unordered_map<std::string, size_t> index;
  for (const ProcessRow& row : rows) {
    const v1::Process& process = row.process;
    const auto [place, fresh] =
        index.emplace(process.process_type(), types.size());
    if (fresh) types.push_back({.type = process.process_type()});
    TypeRow& type = types[place->second];
    ++type.processes;
    type.ready += process.state() == v1::PROCESS_STATE_READY ? 1U : 0U;
    type.running += process.state() == v1::PROCESS_STATE_RUNNING ? 1U : 0U;
    type.blocked += process.state() == v1::PROCESS_STATE_BLOCKED ? 1U : 0U;
    type.idle += process.state() == v1::PROCESS_STATE_IDLE ||
                         process.state() == v1::PROCESS_STATE_DORMANT
                     ? 1U
                     : 0U;
    type.durable += process.durability() == v1::DURABILITY_DURABLE ? 1U : 0U;
    type.steps += process.steps();
    if (row.steps_rate) {
      type.steps_rate = type.steps_rate.value_or(0) + *row.steps_rate;
    }
    type.mailbox_messages += process.mailbox_messages();
    type.mailbox_bytes += process.mailbox_bytes();
    type.yields += process.yields_outstanding();
    type.oldest = std::max(type.oldest, row.age);
  }
  return types;
}

}  // namespace actord::client::top
