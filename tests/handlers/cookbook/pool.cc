// recipe: pool
#include <actord/coroutine.h>
#include <actord/plugin.h>

#include <utility>

namespace {

// Resizes each picture that it is sent, four at a time.
class Resizer : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "resizer";
  static constexpr actord::Method kMethods[] = {{"run", "Until a cancel."}};

  actord::Task<> Main(actord::Context& ctx) {
    actord::TaskGroup group(ctx, 4);
    try {
      for (;;) {
        actord::Message picture = co_await ctx.Receive("resize");
        co_await group.Start(Resize(ctx, std::move(picture)));
      }
    } catch (const actord::Cancelled&) {
      // The tasks are cancelled, too. co_await cannot stand in a catch block.
    }
    co_await group.Wait();
  }

 private:
  static actord::Task<> Resize(actord::Context& ctx, actord::Message picture) {
    const actord::Result<> small =
        co_await ctx.Run("picture.resize", picture.payload());
    if (const actord::Error error = small.error()) {
      // An exception would end the other tasks, too.
      ctx.Log(actord::LogLevel::kWarning, error.message);
      ctx.ReplyError(picture, error.code, error.message);
      co_return;
    }
    ctx.Reply(picture, *small);
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("resizer", "1.0.0", actord::ProcessTypes<Resizer>);
// end
