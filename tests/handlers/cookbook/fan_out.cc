// recipe: fan_out
#include <actord/coroutine.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

// Ends with the number of bytes of its input.
class Measure : public actord::Process {
 public:
  static constexpr const char* kName = "measure";
  static constexpr actord::Method kMethods[] = {{"run", "Measures a line."}};

  actord::Status Init(std::string_view /*method*/, actord::Payload line) {
    if (line.empty()) return {actord::Code::kInvalidArgument, "an empty line"};
    bytes_ = line.bytes.size();
    return {};
  }
  void Step(actord::Events /*events*/, actord::StepOutput& out) {
    out.Done(std::to_string(bytes_));
  }

 private:
  size_t bytes_ = 0;
};

// Has each line of its input measured by a child, four lines at a time, and
// ends with the sum.
class Survey : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "survey";
  static constexpr actord::Method kMethods[] = {{"run", "Measures lines."}};
  static constexpr size_t kAtOnce = 4;

  actord::Task<std::string> Main(actord::Context& ctx,
                                 actord::OwnedPayload text) {
    text_ = std::move(text.bytes);
    std::vector<actord::Task<size_t>> lanes;
    for (size_t i = 0; i < kAtOnce; ++i) lanes.push_back(Lane(ctx));
    size_t sum = 0;
    for (const size_t bytes : co_await WhenAll(std::move(lanes))) sum += bytes;
    co_return std::to_string(sum);
  }

 private:
  // Takes one line after the other, until none is left.
  actord::Task<size_t> Lane(actord::Context& ctx) {
    size_t sum = 0;
    while (next_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', next_), text_.size());
      const std::string line = text_.substr(next_, end - next_);
      next_ = end + 1;
      actord::Tag monitor = 0;
      if (ctx.Spawn("measure", "", line, {.monitor = &monitor}).empty()) {
        throw actord::Failure(actord::Code::kResourceExhausted,
                              "no room for another process");
      }
      const actord::Exit exit = co_await ctx.ReceiveExit(monitor);
      const std::string& answer = exit.payload.bytes;
      if (!exit.ok()) throw actord::Failure(exit.code, answer);
      size_t bytes = 0;
      std::from_chars(answer.data(), answer.data() + answer.size(), bytes);
      sum += bytes;
    }
    co_return sum;
  }

  std::string text_;
  size_t next_ = 0;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("survey", "1.0.0", actord::ProcessTypes<Measure, Survey>);
// end
