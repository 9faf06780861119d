// A result that a process has replaced holds no memory. Keeping a result
// moves it, so the heap tells.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/runtime/stepped_core.h"
#include "tests/support/heap_bytes.h"

namespace actord::runtime {
namespace {

using actord::testing::HeapBytes;
using actord::testing::Script;

constexpr size_t kLargeBytes = 1 << 20;
constexpr std::string_view kResult = "more than a string keeps in place";

// How much the heap grows by the results of processes that run `script`.
size_t GrowthBy(const Script& script, int processes) {
  SteppedCore core(1);
  const size_t before = HeapBytes();
  for (int i = 0; i < processes; ++i) {
    core.Submit(script);
    core.Settle();
  }
  EXPECT_EQ(core.core->results.kept(), static_cast<size_t>(processes));
  const size_t after = HeapBytes();
  return after > before ? after - before : 0;
}

TEST(ResultMemory, AResultThatAnotherReplacesIsGone) {
  const std::string large(kLargeBytes, 'x');
  const Script script{.step = [&](Events, StepOutput& out) {
    out.Done(large);
    out.Done(kResult);
  }};
  EXPECT_LT(GrowthBy(script, 16), kLargeBytes * 8);
}

TEST(ResultMemory, AResultOfAStepThatDidNotEndIsGone) {
  const std::string large(kLargeBytes, 'x');
  // Every other step is the first one of its process.
  bool first = false;
  const Script script{.step = [&](Events, StepOutput& out) {
    first = !first;
    if (first) {
      out.Done(large);
      out.Continue();
    } else {
      out.Done(kResult);
    }
  }};
  EXPECT_LT(GrowthBy(script, 16), kLargeBytes * 8);
}

}  // namespace
}  // namespace actord::runtime
