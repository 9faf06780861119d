// recipe: groups
#include <actord/coroutine.h>

namespace {

// A guest of a room. "say" tells it to speak to all others; a call of "heard"
// is answered with the last words that it has heard.
class Guest : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "guest";
  static constexpr actord::Method kMethods[] = {{"run", "Until 'leave'."}};

  actord::Task<> Main(actord::Context& ctx) {
    (co_await ctx.Run(actord::commands::JoinGroup("room"))).value();
    actord::OwnedPayload heard;
    while (true) {
      const actord::Message message = co_await ctx.Receive();
      if (message.topic() == "leave") co_return;
      if (message.topic() == "said") heard = message.payload();
      if (message.topic() == "heard") ctx.Reply(message, heard);
      if (message.topic() == "say") {
        const actord::commands::SendToGroup words("room", "said",
                                                  message.payload().bytes);
        (co_await ctx.Run(words)).value();
      }
    }
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("guests", "1.0.0", actord::ProcessTypes<Guest>);
// end
