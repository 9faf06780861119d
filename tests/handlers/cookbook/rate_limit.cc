// recipe: rate_limit
#include <actord/coroutine.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace {
using namespace std::chrono_literals;

// The trap: seconds are divided as whole numbers, so each rate above 1 would
// have no pause at all.
static_assert(1s / 3 == 0s);
static_assert(actord::Duration(1s) / 3 == 333'333'333ns);

// Answers each call when the caller may go on: a set number of calls a second.
class Limiter : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "limiter";
  static constexpr actord::Method kMethods[] = {
      {"run", "Its input is the number of calls a second."}};

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    int per_second = 0;
    const std::string_view text = input.bytes;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, per_second);
    if (read.ptr != end || per_second < 1 || per_second > 100'000) {
      return {actord::Code::kInvalidArgument,
              "the calls a second must be a number from 1 to 100000"};
    }
    spacing_ = actord::Duration(1s) / per_second;  // nanoseconds
    return {};
  }

  actord::Task<> Main(actord::Context& ctx) {
    actord::Time next = ctx.now();
    for (;;) {
      const actord::Message message = co_await ctx.Receive();
      if (message.call() == 0) continue;  // nobody waits for an answer
      ctx.Reply(message, "go");
      // Makes up for late timers, and saves up no more than 10 ms of calls.
      next = std::max(next, ctx.now() - 10ms) + spacing_;
      if (next > ctx.now()) co_await ctx.Sleep(next - ctx.now());
    }
  }

 private:
  actord::Duration spacing_{0};
};

}  // namespace

ACTORD_EXPORT_PLUGIN("limiter", "1.0.0", actord::ProcessTypes<Limiter>);
// end
