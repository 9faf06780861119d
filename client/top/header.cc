// The lines above the table.

#include <utility>

#include "client/output/message_json.h"
#include "client/output/text.h"
#include "client/top/layout.h"
#include "client/top/table.h"

namespace actord::client::top {
namespace {

constexpr size_t kGap = 3;

// Puts items side by side as long as there is room.
class Lines {
 public:
  Lines(const Cells& cells, size_t width) : cells_(cells), width_(width) {}

  void Add(const std::string& text, Style style = Style::kPlain) {
    const std::string shown = cells_.Clip(text, width_);
    const size_t cells = cells_.Width(shown);
    if (!lines_.empty() && !fresh_ && used_ + kGap + cells <= width_) {
      lines_.back().push_back({.text = std::string(kGap, ' ')});
      used_ += kGap;
    } else {
      lines_.emplace_back();
      used_ = 0;
    }
    fresh_ = false;
    lines_.back().push_back({.text = shown, .style = style});
    used_ += cells;
  }
  // The next item begins a line.
  void Break() { fresh_ = true; }
  Frame Take() { return std::move(lines_); }

 private:
  const Cells& cells_;
  const size_t width_;
  Frame lines_;
  size_t used_ = 0;
  bool fresh_ = false;
};

// A short text for an error, which is shown before the message of the error.
std::string TroubleOf(const absl::Status& state) {
  switch (state.code()) {
    case absl::StatusCode::kUnavailable:
      return "NO CONNECTION";
    // Also for calls that were cancelled when the daemon ended.
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return "NO ANSWER";
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return "NOT ALLOWED";
    case absl::StatusCode::kUnimplemented:
      return "NOT THIS ACTORD";
    default:  // the daemon has answered
      return "REFUSED";
  }
}

void AddDaemon(Lines& lines, const Model& model, const View& view,
               const Link& link) {
  const v1::GetStatusResponse& status = model.status();
  lines.Add("actord " + status.version() + (model.known() ? " at " : "at ") +
                link.address,
            Style::kBold);
  if (!link.state.ok()) {
    lines.Add(TroubleOf(link.state), Style::kBad);
    if (model.known()) {
      lines.Add("seen " + ShortDuration(link.seen) + " ago", Style::kWarning);
    }
    lines.Add("next try in " + ShortDuration(link.retry_in));
  }
  if (!model.known()) return;
  const bool serving = status.state() == v1::DAEMON_STATE_SERVING;
  if (link.state.ok()) {
    lines.Add(EnumName(status.state()),
              serving ? Style::kGood : Style::kWarning);
  }
  lines.Add("up " + ShortDuration(ToDuration(status.uptime())));
  lines.Add(std::to_string(status.workers()) +
            (status.workers() == 1 ? " worker" : " workers"));
  if (model.restarts() > 0) {
    lines.Add("restarted " + WithThousands(model.restarts()) +
                  (model.restarts() == 1 ? " time" : " times"),
              Style::kWarning);
  }
  if (view.paused()) {
    lines.Add("PAUSED", Style::kWarning);
  } else {
    lines.Add("every " + ShortDuration(view.interval()));
  }
}

void AddTrouble(Lines& lines, const Link& link) {
  if (link.state.ok()) return;
  lines.Break();
  lines.Add(std::string(link.state.message()), Style::kBad);
}

// Red if the rate is not zero.
Style AlarmStyle(Rate rate) {
  return rate.value_or(0) > 0 ? Style::kBad : Style::kPlain;
}

void AddCounters(Lines& lines, const Model& model) {
  const v1::Counters& now = model.status().counters();
  const DaemonRates& rates = model.rates();
  lines.Break();
  lines.Add("Processes " + WithThousands(now.processes_live()) + " live");
  if (now.processes_dormant() > 0) {
    lines.Add(WithThousands(now.processes_dormant()) + " of them dormant");
  }
  if (now.processes_quarantined() > 0) {
    lines.Add(WithThousands(now.processes_quarantined()) + " in quarantine",
              Style::kBad);
  }
  lines.Add("started " + ShortRate(rates.started) + "/s");
  lines.Add("ended " + ShortRate(rates.ended) + "/s");
  lines.Add("failed " + ShortRate(rates.failed) + "/s",
            AlarmStyle(rates.failed));
  lines.Break();
  lines.Add("Steps " + ShortRate(rates.steps) + "/s");
  lines.Add("messages " + ShortRate(rates.messages) + "/s");
  lines.Add("completions " + ShortRate(rates.completions) + "/s");
  lines.Break();
  lines.Add("Waiting " + WithThousands(now.yields_external_waiting()) +
            " external");
  lines.Add(WithThousands(now.tasks_leased()) + " of them held by " +
            WithThousands(now.remote_workers()) +
            (now.remote_workers() == 1 ? " remote worker" : " remote workers"));
  lines.Add(WithThousands(now.commands_pooled_waiting()) + " pooled");
  lines.Break();
  lines.Add("Refused by limits " + WithThousands(RefusalsOf(now)) + " (" +
                ShortRate(rates.refusals) + "/s)",
            AlarmStyle(rates.refusals));
  lines.Add("dead letters " + WithThousands(now.dead_letters_total()) + " (" +
                ShortRate(rates.dead_letters) + "/s)",
            AlarmStyle(rates.dead_letters));
}

}  // namespace

Frame DrawHeader(const Model& model, const View& view, const Link& link,
                 const Cells& cells, size_t width) {
  Lines lines(cells, width);
  AddDaemon(lines, model, view, link);
  AddTrouble(lines, link);
  if (model.known()) AddCounters(lines, model);
  return lines.Take();
}

std::string LookedAt(const Model& model) {
  const std::string count = WithThousands(model.processes().size());
  const std::string& type = model.request().process_type;
  if (model.complete()) {
    return "all " + count + " processes" +
           (type.empty() ? "" : " of type " + type);
  }
  if (!type.empty()) return "the first " + count + " processes of type " + type;
  return "the first " + count + " of " +
         WithThousands(model.status().counters().processes_live()) +
         " processes";
}

}  // namespace actord::client::top
