#include "client/cli/bulk_run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/calls/error.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Maximum number of failures that are written out.
constexpr uint64_t kComplaints = 20;
constexpr absl::Duration kTick = absl::Milliseconds(50);

std::string MessageOf(const absl::Status& status) {
  return (IsUnanswered(status)
              ? "not answered, so it may or may not have arrived: "
              : "") +
         std::string(status.message());
}

Json ErrorJson(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  Json error;
  error["code"] = absl::StatusCodeToString(status.code());
  error["reason"] = details.reason;
  error["message"] = MessageOf(status);
  return error;
}

// Formats as in "2.41 s (41,493/s)".
std::string Rate(uint64_t items, absl::Duration elapsed) {
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f s", seconds);
  const double rate = static_cast<double>(items) / seconds;
  return std::string(text) + " (" + WithThousands(static_cast<uint64_t>(rate)) +
         "/s)";
}

// Whether the other items would fail in the same way.
bool IsFatal(const absl::Status& status) {
  switch (ExitStatusOf(status)) {
    case ExitStatus::kUnavailable:
    case ExitStatus::kNotAllowed:
    case ExitStatus::kInterrupted:
      return true;
    default:
      return false;
  }
}

}  // namespace

BulkReport::BulkReport(Invocation& invocation, std::string file_name)
    : invocation_(invocation),
      file_name_(std::move(file_name)),
      writer_(invocation.out(), invocation.style(), {}),
      progress_(invocation.err(), invocation.wants_progress(),
                invocation.environment().terminal_width) {}

void BulkReport::Begun() {
  const MutexLock lock(mutex_);
  ++begun_;
}

void BulkReport::Succeeded(uint64_t line, const std::string& name,
                           Json details) {
  const MutexLock lock(mutex_);
  ++succeeded_;
  Record(line, name, std::move(details));
}

void BulkReport::Failed(uint64_t line, const std::string& name,
                        const absl::Status& status) {
  Json details;
  if (!invocation_.ForPeople()) details["error"] = ErrorJson(status);
  const MutexLock lock(mutex_);
  ++failed_;
  if (IsUnanswered(status)) ++unanswered_;
  const bool timeout = status.code() == absl::StatusCode::kDeadlineExceeded &&
                       absl::Now() >= invocation_.deadline();
  if (timeout || IsFatal(status)) {
    // Not reported for each item: Finish reports it once.
    if (fatal_.ok()) {
      fatal_ = status;
      fatal_line_ = line;
    }
  } else {
    Complain(line,
             (IsUnanswered(status) ? "not answered: " : "") + Describe(status));
  }
  Record(line, name, std::move(details));
}

void BulkReport::ProcessFailed(uint64_t line, const std::string& name,
                               const std::string& complaint, Json details) {
  const MutexLock lock(mutex_);
  ++failed_;
  Complain(line, complaint);
  Record(line, name, std::move(details));
}

void BulkReport::Record(uint64_t line, const std::string& name, Json details) {
  if (invocation_.ForPeople()) return;
  if (invocation_.options().format == Format::kName && name.empty()) return;
  writer_.Add({.json =
                   [&] {
                     Json json;
                     json["line"] = line;
                     if (!name.empty()) json["pid"] = name;
                     json.update(details);
                     return json;
                   },
               .name = [&] { return name; },
               .cells = nullptr});
}

void BulkReport::Complain(uint64_t line, const std::string& text) {
  if (failed_ > kComplaints + 1) return;
  progress_.Clear();
  if (failed_ == kComplaints + 1) {
    invocation_.Complain("further failures are not shown; -o jsonl writes all");
  } else {
    invocation_.Complain(file_name_ + ":" + std::to_string(line) + ": " + text);
  }
}

bool BulkReport::hopeless() const {
  const MutexLock lock(mutex_);
  return !fatal_.ok();
}

void BulkReport::ShowProgress(std::optional<double> file_fraction) {
  const MutexLock lock(mutex_);
  const uint64_t finished = succeeded_ + failed_;
  std::optional<double> fraction;
  if (file_fraction && begun_ > 0) {
    fraction = *file_fraction * static_cast<double>(finished) /
               static_cast<double>(begun_);
  }
  progress_.Update({.begun = begun_,
                    .finished = finished,
                    .failed = failed_,
                    .fraction = fraction},
                   absl::Now());
}

ExitStatus BulkReport::Finish(const std::string& verb, absl::Duration elapsed,
                              const absl::Status& read_status) {
  const MutexLock lock(mutex_);
  progress_.Clear();
  writer_.Finish();
  invocation_.Complain(verb + " " + WithThousands(succeeded_) + ", failed " +
                       WithThousands(failed_) +
                       (unanswered_ == 0
                            ? ""
                            : " (" + WithThousands(unanswered_) +
                                  " not answered, which may have arrived)") +
                       " in " + Rate(succeeded_ + failed_, elapsed));
  if (!fatal_.ok()) {
    return invocation_.Fail(
        fatal_, "stopped at " + file_name_ + ":" + std::to_string(fatal_line_));
  }
  if (!read_status.ok()) return invocation_.Fail(read_status);
  return failed_ == 0 ? ExitStatus::kDone : ExitStatus::kFailed;
}

absl::Status RunBulk(Invocation& invocation, InputFile& file, Bulk& bulk,
                     BulkReport& report, const BeginLine& begin) {
  const Cancellation::Registration registration(
      &invocation.environment().cancellation, [&bulk] { bulk.CancelAll(); });

  absl::Status read_status;
  for (uint64_t line = 1; !report.hopeless(); ++line) {
    auto text = file.ReadLine(kMaxInputBytes);
    if (!text.ok()) read_status = text.status();
    if (!text.ok() || !*text) break;
    if ((*text)->find_first_not_of(" \t\r") == std::string::npos) continue;
    while (!bulk.WaitForRoom(kTick)) {
      report.ShowProgress(file.Progress());
    }
    report.Begun();
    if (absl::Status status = begin(line, **text); !status.ok()) {
      report.Failed(line, "", status);
    }
    report.ShowProgress(file.Progress());
  }
  while (!bulk.WaitUntilIdle(kTick)) {
    report.ShowProgress(file.Progress());
  }
  return read_status;
}

}  // namespace actord::client
