#include "handlers/commands/timer_sleep.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

constexpr double kMaxMs = 10.0 * 365 * 24 * 3600 * 1000;
constexpr double kNsPerMs = 1e6;

std::optional<Duration> FromMs(double ms) {
  if (!(ms >= 0 && ms <= kMaxMs)) return std::nullopt;
  return Duration(static_cast<Duration::rep>(std::llround(ms * kNsPerMs)));
}

// Reads the form that commands::Sleep writes without a JSON parser, because
// this command may run millions of times a second. nullopt: another form.
std::optional<double> ReadPlainForm(std::string_view json) {
  constexpr std::string_view kPrefix = "{\"duration_ms\":";
  if (!json.starts_with(kPrefix) || !json.ends_with('}')) return std::nullopt;
  const char* begin = json.data() + kPrefix.size();
  const char* end = json.data() + json.size() - 1;
  uint64_t whole = 0;
  auto [at, error] = std::from_chars(begin, end, whole);
  // JSON has no leading zeros.
  if (error != std::errc() || (*begin == '0' && at != begin + 1)) {
    return std::nullopt;
  }
  double ms = static_cast<double>(whole);
  if (at != end) {
    if (*at != '.' || ++at == end) return std::nullopt;
    double unit = 0.1;
    for (; at != end && *at >= '0' && *at <= '9'; ++at, unit /= 10) {
      ms += unit * (*at - '0');
    }
    if (at != end) return std::nullopt;
  }
  return ms;
}

}  // namespace

std::optional<Duration> TimerSleep::DurationOf(const Payload& payload,
                                               Status& status) {
  if (const std::optional<double> ms = ReadPlainForm(payload.bytes)) {
    if (const std::optional<Duration> duration = FromMs(*ms)) return duration;
  }
  JsonReader json(payload, R"({"duration_ms": number})", {"duration_ms"});
  const std::optional<Duration> duration = FromMs(json.Number("duration_ms"));
  if (!duration) {
    json.Refuse(
        "field \"duration_ms\" is not between 0 and 315360000000 (ten years)");
  }
  status = json.status();
  return status.ok() ? duration : std::nullopt;
}

void TimerSleep::Handle(const Command& command, Completion done) {
  Status status;
  if (const auto duration = DurationOf(command.payload(), status)) {
    done.CompleteAfter(*duration);
  } else {
    done.Fail(status);
  }
}

}  // namespace actord::handlers
