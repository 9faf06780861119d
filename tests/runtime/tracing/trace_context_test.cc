// The valid forms of a traceparent and a tracestate, and how they are written.
#include "runtime/tracing/trace_context.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace actord::runtime {
namespace {

constexpr std::string_view kValid =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::optional<TraceContext> Read(std::string_view traceparent) {
  return ReadTraceContext(traceparent, "");
}
// The part of a tracestate that is kept.
std::string StateOf(std::string_view state) {
  const auto trace = ReadTraceContext(kValid, state);
  return trace ? trace->state : "no trace";
}

TEST(TraceContext, IsReadAndWrittenAgain) {
  const auto trace = Read(kValid);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->trace_id[0], 0x4b);
  EXPECT_EQ(trace->trace_id[15], 0x36);
  EXPECT_EQ(trace->span_id[1], 0xf0);
  EXPECT_EQ(trace->span_id[7], 0xb7);
  EXPECT_TRUE(trace->is_sampled());
  EXPECT_EQ(TraceparentOf(*trace), kValid);
  EXPECT_EQ(TraceIdText(*trace), "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST(TraceContext, BrokenRulesAreNoTrace) {
  const std::string valid(kValid);
  const auto with = [&](size_t at, const std::string& text) {
    return std::string(valid).replace(at, text.size(), text);
  };
  const std::vector<std::string> broken = {
      "",
      valid.substr(0, 54),
      valid + "-",
      valid + "0",
      with(0, "ff"),
      with(0, "0x"),
      with(2, "_"),
      with(35, "_"),
      with(52, "_"),
      with(3, std::string(32, '0')),
      with(36, std::string(16, '0')),
      with(3, "4BF9"),   // upper case
      with(3, "4bg9"),   // no digit
      with(36, "00G0"),  // no digit
      with(53, "0g"),
      "01" + valid.substr(2) + "0",  // a later version ends behind a dash
  };
  for (const std::string& text : broken) {
    EXPECT_FALSE(Read(text).has_value()) << text;
  }
}

TEST(TraceContext, LaterVersionIsReadAsVersion00) {
  for (const std::string& rest : {std::string(), std::string("-what-ever")}) {
    const auto trace = Read("cc" + std::string(kValid.substr(2)) + rest);
    ASSERT_TRUE(trace.has_value()) << rest;
    EXPECT_EQ(TraceparentOf(*trace), kValid);
  }
}

TEST(TraceContext, FlagsWithoutAMeaningAreNotPassedOn) {
  std::string text(kValid);
  text.replace(53, 2, "fe");
  const auto trace = Read(text);
  ASSERT_TRUE(trace.has_value());
  EXPECT_FALSE(trace->is_sampled());
  EXPECT_EQ(trace->flags, TraceContext::kRandom);
}

TEST(TraceContext, TracestateIsKeptWhole) {
  EXPECT_EQ(StateOf("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(StateOf(" a@b=1 , ,c/d=x y\t"), "a@b=1 , ,c/d=x y");
  EXPECT_EQ(StateOf(""), "");
}

TEST(TraceContext, BrokenTracestateIsDroppedAlone) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += "k" + std::to_string(i) + "=v,";
  for (const std::string& state :
       {std::string("novalue"), std::string("Upper=1"), std::string("a="),
        std::string("a=1=2"), std::string("a=\x01"), std::string("=1"),
        std::string("a=1,a=2"), many, "a=" + std::string(257, 'x'),
        "a=" + std::string(250, 'x') + ",b=" + std::string(250, 'x') +
            ",c=01234567"}) {
    EXPECT_EQ(StateOf(state), "") << state;
  }
  EXPECT_EQ(StateOf("a=" + std::string(256, 'x')).size(), 258u);
}

}  // namespace
}  // namespace actord::runtime
