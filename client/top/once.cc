// "actorctl top --once".

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/output/message_json.h"
#include "client/top/layout.h"
#include "client/top/top.h"
#include "nlohmann/json.hpp"

namespace actord::client::top {
namespace {

// Width where the output states none; only the header is wrapped at it.
constexpr size_t kHeaderWidth = 100;
constexpr size_t kAnyWidth = 10'000;

Json ToJson(Rate rate) { return rate ? Json(*rate) : Json(nullptr); }

Json ToJson(const DaemonRates& rates) {
  return {{"started", ToJson(rates.started)},
          {"ended", ToJson(rates.ended)},
          {"failed", ToJson(rates.failed)},
          {"steps", ToJson(rates.steps)},
          {"messages", ToJson(rates.messages)},
          {"completions", ToJson(rates.completions)},
          {"refusals", ToJson(rates.refusals)},
          {"dead_letters", ToJson(rates.dead_letters)}};
}

Json ToJson(const ProcessRow& row) {
  Json json = client::ToJson(row.process);
  json["steps_per_second"] = ToJson(row.steps_rate);
  json["age_seconds"] = absl::ToDoubleSeconds(row.age);
  return json;
}

Json ToJson(const TypeRow& row) {
  return {{"process_type", row.type},
          {"processes", row.processes},
          {"running", row.running},
          {"ready", row.ready},
          {"blocked", row.blocked},
          {"idle", row.idle},
          {"durable", row.durable},
          {"steps", row.steps},
          {"steps_per_second", ToJson(row.steps_rate)},
          {"mailbox_messages", row.mailbox_messages},
          {"mailbox_bytes", row.mailbox_bytes},
          {"yields_outstanding", row.yields},
          {"oldest_seconds", absl::ToDoubleSeconds(row.oldest)}};
}

template <typename Row>
Json ToJson(const std::vector<const Row*>& rows, size_t count) {
  Json json = Json::array();
  for (size_t i = 0; i < count; ++i) json.push_back(ToJson(*rows[i]));
  return json;
}

Json ToJson(const Model& model, const View& view, size_t count) {
  const v1::GetStatusResponse& status = model.status();
  Json json = {
      {"version", status.version()},
      {"incarnation", status.incarnation()},
      {"state", EnumName(status.state())},
      {"uptime_seconds", absl::ToDoubleSeconds(ToDuration(status.uptime()))},
      {"workers", status.workers()},
      {"interval_seconds", absl::ToDoubleSeconds(model.interval())},
      {"per_second", ToJson(model.rates())},
      {"counters", client::ToJson(status.counters())},
      {"looked_at",
       {{"processes", model.processes().size()},
        {"process_type", model.request().process_type},
        {"complete", model.complete()}}}};
  if (view.types()) {
    json["process_types"] = ToJson(view.type_rows(), count);
  } else {
    json["processes"] = ToJson(view.processes(), count);
  }
  return json;
}

// One name on each line.
std::string Names(const View& view, size_t count) {
  std::string names;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) names += '\n';
    names += view.types() ? view.type_rows()[i]->type
                          : view.processes()[i]->process.pid();
  }
  return names;
}

// False: interrupted, or the command's deadline has passed.
bool Sleep(Invocation& invocation, absl::Duration duration) {
  const absl::Time until =
      std::min(absl::Now() + duration, invocation.deadline());
  Cancellation& cancellation = invocation.environment().cancellation;
  while (absl::Now() < until && !cancellation.cancelled()) {
    pollfd source = {.fd = cancellation.fd(), .events = POLLIN, .revents = 0};
    poll(&source, 1,
         static_cast<int>(absl::ToInt64Milliseconds(until - absl::Now()) + 1));
  }
  return !cancellation.cancelled() && absl::Now() < invocation.deadline();
}

// The first sample is taken for the rates alone.
absl::Status LookTwice(Invocation& invocation, const TopOptions& options,
                       Model& model, const View& view) {
  const auto status = invocation.client().GetStatus({}, invocation.Quick());
  if (!status.ok()) return status.status();
  const SampleRequest request = {.max_processes = options.max_processes,
                                 .process_type = view.WantedType(*status)};
  for (int look = 0; look < 2; ++look) {
    if (look == 1 && !Sleep(invocation, view.interval())) {
      return absl::DeadlineExceededError("no time for a second sample");
    }
    auto sample = TakeSample(invocation.client(), request,
                             [&] { return invocation.Quick(); });
    if (!sample.ok()) return sample.status();
    model.Add(*std::move(sample));
  }
  return absl::OkStatus();
}

}  // namespace

ExitStatus RunOnce(Invocation& invocation, const TopOptions& options) {
  Model model;
  View view(options.view);
  const absl::Status status = LookTwice(invocation, options, model, view);
  if (!status.ok()) return invocation.Fail(status);
  view.Refresh(model);
  const size_t count = options.limit == 0
                           ? view.rows()
                           : std::min<size_t>(options.limit, view.rows());
  const auto table = [&] {
    const Cells cells(IsUtf8Terminal(invocation.environment()));
    Frame frame =
        DrawHeader(model, view, {.address = invocation.options().address},
                   cells, kHeaderWidth);
    frame.push_back(
        {{.text = cells.Clip("Looked at " + LookedAt(model), kAnyWidth)}});
    frame.emplace_back();
    Frame rows = DrawTable(view, cells, kAnyWidth, 0, count, /*marked=*/false);
    std::move(rows.begin(), rows.end(), std::back_inserter(frame));
    invocation.out() << PlainText(frame);
  };
  const bool names = invocation.options().format == Format::kName;
  WriteOne(
      invocation.out(), invocation.style(),
      names || invocation.ForPeople() ? Json() : ToJson(model, view, count),
      names ? Names(view, count) : "", table);
  return ExitStatus::kDone;
}

}  // namespace actord::client::top
