// recipe: timer
#include <actord/coroutine.h>

#include <string>

namespace {
using namespace std::chrono_literals;

// Counts minutes. "pause" and "resume" stop and start the clock.
class Parking : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "parking";
  static constexpr actord::Method kMethods[] = {{"run", "Until 'leave'."}};

  actord::Task<std::string> Main(actord::Context& ctx) {
    int minutes = 0;
    actord::Tag clock = ctx.Every(1min, ctx.self(), "minute");
    while (true) {
      const actord::Message message = co_await ctx.Receive();
      if (message.topic() == "minute") ++minutes;
      if (message.topic() == "leave") co_return std::to_string(minutes);
      if (message.topic() == "pause") ctx.CancelSend(clock);
      if (message.topic() == "resume") {
        ctx.CancelSend(clock);  // so that two "resume" start one clock
        clock = ctx.Every(1min, ctx.self(), "minute");
      }
    }
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("parking", "1.0.0", actord::ProcessTypes<Parking>);
// end
