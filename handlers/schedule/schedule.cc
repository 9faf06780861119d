#include "handlers/schedule/schedule.h"

#include <actord/commands.h>
#include <actord/excerpt.h>
#include <actord/text.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace actord::handlers {
namespace {

using Json = nlohmann::json;

// A run has no timeout: after a timeout nobody would know whether it has been
// carried out.
constexpr YieldOptions kRunOptions = {.timeout = Duration::max()};

// Texts of other processes may be invalid UTF-8.
std::string TextOfJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// "2026-01-31T08:15:00Z"
std::string TimeText(int64_t unix_ns) {
  using std::chrono::floor;
  const std::chrono::sys_time<Duration> time{Duration(unix_ns)};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(time - day));
  std::array<char, 64> text;
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()),
      static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<size_t>(length)};
}

const char* NameOfCatchUp(CatchUp catch_up) {
  switch (catch_up) {
    case CatchUp::kSkip:
      return "skip";
    case CatchUp::kOnce:
      return "once";
    case CatchUp::kAll:
      break;
  }
  return "all";
}

}  // namespace

Moment Schedule::Now(const StepContext& context) {
  return {.wall_ns = context.now().time_since_epoch().count(),
          .monotonic_ns = context.monotonic_now().count()};
}

Status Schedule::Read(std::string_view input, const StepContext& context) {
  Result<ScheduleSpec> spec =
      ParseScheduleSpec(input, context.max_payload_bytes());
  if (!spec.ok()) return spec.status();
  if (!spec->send_to.empty() && !spec->send_to.starts_with('@') &&
      !context.ParsePid(spec->send_to)) {
    return {Code::kInvalidArgument,
            "field \"send.to\" is \"" + Excerpt(spec->send_to) +
                "\"; wanted is the text of a PID, or @ and a name"};
  }
  spec_ = *std::move(spec);
  input_ = input;
  return {};
}

Status Schedule::Init(std::string_view /*method*/, const Payload& input,
                      const StepContext& context) {
  Status status = Read(input.bytes, context);
  if (status.ok()) plan_.emplace(spec_, Now(context));
  return status;
}

void Schedule::Step(Events events, StepOutput& out) {
  const Moment now = Now(out);
  bool is_removed = false;
  for (const Event event : events) {
    if (event.is_completion()) TakeCompletion(event, now, out);
    is_removed |= event.is_message() && event.topic() == "remove";
  }
  // The end of a process gives up its commands, so the last step begins no run.
  if (!is_removed) RunWhatIsDue(now, out);
  for (const Event event : events) {
    if (event.is_message() && !TakeMessage(event, now, out)) return;
  }
  SetTimer(now, out);
}

void Schedule::TakeCompletion(const Event& event, const Moment& now,
                              StepOutput& out) {
  if (event.tag() == sleep_) {
    sleep_ = 0;
    return;
  }
  // Other completions belong to log lines, or to a timer that was given up.
  if (under_way_.erase(event.tag()) == 0) return;
  if (event.error()) return TakeFailure(event.error(), now, out);
  is_failing_ = false;
  if (spec_.send_to.empty()) last_pid_ = event.payload().bytes;
}

void Schedule::TakeFailure(const Error& error, const Moment& now,
                           StepOutput& out) {
  ++failures_;
  last_error_ns_ = now.wall_ns;
  last_error_ = std::string(CodeName(error.code)) + ": " +
                std::string(CutUtf8(error.message, kMaxErrorBytes));
  // A target that is gone causes one line, no matter how many runs fail.
  if (std::exchange(is_failing_, true)) return;
  out.Yield("log.write",
            Payload::Json(TextOfJson(
                {{"level", "warning"},
                 {"message", "schedule (" + spec_.when + ", " + spec_.what +
                                 "): a run has failed: " + last_error_}})));
}

bool Schedule::TakeMessage(const Event& event, const Moment& now,
                           StepOutput& out) {
  const std::string_view topic = event.topic();
  const bool is_call = event.call() != 0;
  if (topic == "remove") {
    const std::string state = Describe(now, /*is_removed=*/true);
    if (is_call) out.Reply(event.call(), Payload::Json(state));
    out.Done(Payload::Json(state));
    return false;
  }
  if (topic == "pause") {
    plan_->Pause();
  } else if (topic == "resume") {
    plan_->Resume(now);
  } else if (topic != "show") {
    if (is_call) {
      out.ReplyError(event.call(), Code::kUnimplemented,
                     "a schedule answers show, pause, resume and remove");
    }
    return true;
  }
  if (is_call) out.Reply(event.call(), Payload::Json(Describe(now)));
  return true;
}

void Schedule::RunWhatIsDue(const Moment& now, StepOutput& out) {
  // All effects of a step are in one record of the journal, which has a limit.
  const size_t fit = std::max<size_t>(
      1, kMaxStepBytes / std::max<size_t>(1, spec_.payload.size()));
  const size_t room = std::min(kMaxUnderWay - under_way_.size(), fit);
  for (const int64_t due_ns : plan_->Take(now, room)) {
    under_way_.emplace(out.Yield(spec_.command, spec_.payload, kRunOptions),
                       due_ns);
    ++runs_;
    last_due_ns_ = due_ns;
    last_run_ns_ = now.wall_ns;
  }
  if (!plan_->TakeSetBack()) return;
  out.Yield("log.write",
            Payload::Json(TextOfJson(
                {{"level", "warning"},
                 {"message",
                  "schedule (" + spec_.when + ", " + spec_.what +
                      "): the wall clock was set back by more than 3 hours; "
                      "the schedule goes on from the new time, and times that "
                      "were run may be run again"}})));
}

void Schedule::SetTimer(const Moment& now, StepOutput& out) {
  // If there is no room for another run, a completion must come first.
  const std::optional<Duration> look =
      under_way_.size() < kMaxUnderWay ? plan_->NextLook(now) : std::nullopt;
  if (!look) {
    if (sleep_ != 0) out.CancelYield(std::exchange(sleep_, 0));
    return;
  }
  const int64_t until_ns = now.monotonic_ns + look->count();
  // A timer that fires too early does no harm.
  if (sleep_ != 0 && sleeps_until_ns_ <= until_ns) return;
  if (sleep_ != 0) out.CancelYield(sleep_);
  sleep_ = out.Yield(commands::Sleep(*look), kRunOptions);
  sleeps_until_ns_ = until_ns;
}

std::string Schedule::Describe(const Moment& now, bool is_removed) const {
  const std::optional<int64_t> next =
      is_removed ? std::nullopt : plan_->Next(now);
  Json state = {{"when", spec_.when},
                {"what", spec_.what},
                {"state", is_removed              ? "removed"
                          : plan_->state().paused ? "paused"
                                                  : "active"},
                {"catch_up", NameOfCatchUp(spec_.catch_up)},
                {"runs", runs_},
                {"failures", failures_},
                {"missed", plan_->state().missed},
                {"under_way", under_way_.size()}};
  if (next) state["next"] = TimeText(*next);
  if (last_due_ns_ != 0) {
    state["last_due"] = TimeText(last_due_ns_);
    state["last_run"] = TimeText(last_run_ns_);
  }
  if (!last_pid_.empty()) state["last_pid"] = last_pid_;
  if (last_error_ns_ != 0) {
    state["last_error"] = last_error_;
    state["last_error_time"] = TimeText(last_error_ns_);
  }
  return TextOfJson(state);
}

SnapshotResult Schedule::Snapshot() const {
  const SchedulePlan::State& plan = plan_->state();
  Json under_way = Json::array();
  for (const auto& [tag, due_ns] : under_way_) {
    under_way.push_back({tag, due_ns});
  }
  return TextOfJson({{"input", input_},
                     {"anchor_ns", plan.anchor_ns},
                     {"cursor_ns", plan.cursor_ns},
                     {"paused", plan.paused},
                     {"missed", plan.missed},
                     {"sleep", sleep_},
                     {"sleeps_until_ns", sleeps_until_ns_},
                     {"under_way", std::move(under_way)},
                     {"runs", runs_},
                     {"failures", failures_},
                     {"last_due_ns", last_due_ns_},
                     {"last_run_ns", last_run_ns_},
                     {"last_error_ns", last_error_ns_},
                     {"last_error", last_error_},
                     {"last_pid", last_pid_},
                     {"is_failing", is_failing_}});
}

Status Schedule::Restore(std::string_view /*method*/, const RestoreFrom& from,
                         RestoreContext& context) {
  try {
    const Json image = Json::parse(from.snapshot.bytes);
    Status status = Read(image.at("input").get<std::string>(), context);
    if (!status.ok()) return status;
    plan_.emplace(spec_, SchedulePlan::State{.anchor_ns = image.at("anchor_ns"),
                                             .cursor_ns = image.at("cursor_ns"),
                                             .paused = image.at("paused"),
                                             .missed = image.at("missed")});
    sleep_ = image.at("sleep");
    sleeps_until_ns_ = image.at("sleeps_until_ns");
    // A restart keeps all yields. An upgrade keeps the adopted ones.
    if (sleep_ != 0 && !context.AdoptYield(sleep_)) sleep_ = 0;
    for (const Json& run : image.at("under_way")) {
      if (context.AdoptYield(run.at(0))) {
        under_way_.emplace(run.at(0), run.at(1));
      }
    }
    runs_ = image.at("runs");
    failures_ = image.at("failures");
    last_due_ns_ = image.at("last_due_ns");
    last_run_ns_ = image.at("last_run_ns");
    last_error_ns_ = image.at("last_error_ns");
    last_error_ = image.at("last_error");
    last_pid_ = image.at("last_pid");
    is_failing_ = image.at("is_failing");
  } catch (const Json::exception& error) {
    return {Code::kDataLoss, "the image of the schedule cannot be read: " +
                                 Excerpt(error.what(), 256)};
  }
  return {};
}

}  // namespace actord::handlers
