#include "client/bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client::bench {
namespace {

constexpr size_t kBarWidth = 40;

struct NamedQuantile {
  const char* name;
  const char* key;
  double part;
};
constexpr std::array kQuantiles = {
    NamedQuantile{"p50", "p50", 0.5}, NamedQuantile{"p90", "p90", 0.9},
    NamedQuantile{"p99", "p99", 0.99}, NamedQuantile{"p99.9", "p99_9", 0.999}};

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

double PerSecond(uint64_t number, std::chrono::nanoseconds elapsed) {
  return elapsed.count() == 0 ? 0
                              : static_cast<double>(number) / Seconds(elapsed);
}

uint64_t ErrorsOf(const LoadResult& result) {
  uint64_t errors = 0;
  for (const auto& [reason, count] : result.errors) errors += count;
  return errors;
}

std::string RateText(double rate) {
  // A small rate, such as 0.5/s, is no whole number.
  if (rate >= 100) return WithThousands(std::llround(rate)) + "/s";
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g/s", rate);
  return text.data();
}

std::string LoadText(const Measurement& measurement) {
  const RequestOptions& requests = measurement.requests;
  std::string text =
      measurement.load.rate == 0
          ? "closed, " + WithThousands(measurement.load.in_flight) +
                " in flight"
          : "open, " + RateText(measurement.load.rate) + ", at most " +
                WithThousands(measurement.load.in_flight) + " in flight";
  text += ", " + WithThousands(requests.connections) +
          (requests.connections == 1 ? " connection" : " connections");
  return text + ", payload of " + ShortBytes(requests.payload.data().size());
}

std::string ProcessesText(const Measurement& measurement) {
  const RequestOptions& requests = measurement.requests;
  const std::string type = OneLine(requests.start.process_type());
  return (requests.mode == Mode::kSubmit
              ? "one for each request, of type " + type
              : WithThousands(requests.processes) + " of type " + type) +
         (measurement.is_durable ? ", durable" : ", volatile");
}

void WriteBars(std::ostream& out, const LatencyHistogram& latency) {
  const auto bars = latency.Bars();
  uint64_t most = 0;
  for (const auto& bar : bars) most = std::max(most, bar.count);
  for (const auto& bar : bars) {
    // A bar with any request at all is visible.
    const size_t length = (bar.count * kBarWidth + most - 1) / most;
    std::string up_to = LatencyText(bar.up_to);
    std::string count = WithThousands(bar.count);
    up_to.insert(0, up_to.size() < 8 ? 8 - up_to.size() : 0, ' ');
    count.insert(0, count.size() < 13 ? 13 - count.size() : 0, ' ');
    out << "  up to " << up_to << count
        << (length == 0 ? "" : "  " + std::string(length, '#')) << '\n';
  }
}

void WriteTable(Invocation& invocation, const Measurement& measurement) {
  const LoadResult& result = measurement.result;
  std::vector<std::pair<std::string, std::string>> fields = {
      {"Requests", ModeName(measurement.requests.mode)},
      {"Load", LoadText(measurement)},
      {"Processes", ProcessesText(measurement)},
      {"Begun",
       WithThousands(result.begun) + " in " + LatencyText(result.elapsed)},
      {"Answered", WithThousands(result.answered) + " (" +
                       RateText(PerSecond(result.answered, result.elapsed)) +
                       ")"},
      {"Errors", WithThousands(ErrorsOf(result))}};
  for (const auto& [reason, count] : result.errors) {
    fields.emplace_back("  " + OneLine(reason), WithThousands(count));
  }
  if (measurement.load.rate > 0) {
    fields.emplace_back("Not begun", WithThousands(result.unsent));
  }
  WriteFields(invocation.out(), fields);
  if (result.latency.count() == 0) return;
  invocation.out() << '\n'
                   << Bold("Latency of the answered requests",
                           invocation.style().colour)
                   << '\n';
  fields.clear();
  for (const NamedQuantile& one : kQuantiles) {
    fields.emplace_back(std::string("  ") + one.name,
                        LatencyText(result.latency.Quantile(one.part)));
  }
  fields.emplace_back("  max", LatencyText(result.latency.max()));
  fields.emplace_back("  mean", LatencyText(result.latency.mean()));
  WriteFields(invocation.out(), fields);
  invocation.out() << '\n';
  WriteBars(invocation.out(), result.latency);
}

}  // namespace

std::string ModeName(Mode mode) {
  switch (mode) {
    case Mode::kCall:
      return "call";
    case Mode::kSend:
      return "send";
    case Mode::kSubmit:
      return "submit";
  }
  return "";
}

std::string LatencyText(LatencyHistogram::Latency latency) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr std::array kUnits = {Unit{1, "ns"}, Unit{1e3, "us"},
                                        Unit{1e6, "ms"}, Unit{1e9, "s"}};
  const auto ns = static_cast<double>(latency.count());
  size_t unit = 0;
  // 999.5 of a unit would be written as 1000 of it.
  while (unit + 1 < kUnits.size() && ns >= 999.5 * kUnits[unit].ns) ++unit;
  const double value = ns / kUnits[unit].ns;
  const int decimals =
      unit == 0 || value >= 99.95 ? 0 : (value >= 9.995 ? 1 : 2);
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value,
                kUnits[unit].name);
  return text.data();
}

Json ToJson(const Measurement& measurement) {
  const LoadResult& result = measurement.result;
  const RequestOptions& requests = measurement.requests;
  Json errors = Json::array();
  for (const auto& [reason, count] : result.errors) {
    errors.push_back({{"reason", reason}, {"count", count}});
  }
  Json latency = {{"mean", Seconds(result.latency.mean())},
                  {"min", Seconds(result.latency.min())}};
  for (const NamedQuantile& one : kQuantiles) {
    latency[one.key] = Seconds(result.latency.Quantile(one.part));
  }
  latency["max"] = Seconds(result.latency.max());
  Json histogram = Json::array();
  for (const auto& bar : result.latency.Bars()) {
    histogram.push_back(
        {{"up_to_seconds", Seconds(bar.up_to)}, {"count", bar.count}});
  }
  const bool is_open = measurement.load.rate > 0;
  return {
      {"mode", ModeName(requests.mode)},
      {"process_type", requests.start.process_type()},
      {"durable", measurement.is_durable},
      {"processes", requests.mode == Mode::kSubmit ? 0 : requests.processes},
      {"connections", requests.connections},
      {"in_flight", measurement.load.in_flight},
      {"payload_bytes", requests.payload.data().size()},
      {"rate_per_second",
       is_open ? Json(measurement.load.rate) : Json(nullptr)},
      {"elapsed_seconds", Seconds(result.elapsed)},
      {"requests", result.begun},
      {"answered", result.answered},
      {"errors", ErrorsOf(result)},
      {"errors_by_reason", errors},
      {"not_begun", result.unsent},
      {"answered_per_second", PerSecond(result.answered, result.elapsed)},
      {"latency_seconds",
       result.latency.count() == 0 ? Json(nullptr) : latency},
      {"histogram", histogram}};
}

void WriteMeasurement(Invocation& invocation, const Measurement& measurement) {
  WriteOne(invocation.out(), invocation.style(), ToJson(measurement),
           ModeName(measurement.requests.mode),
           [&] { WriteTable(invocation, measurement); });
}

}  // namespace actord::client::bench
