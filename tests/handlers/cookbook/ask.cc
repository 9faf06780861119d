// recipe: ask
#include <actord/commands.h>
#include <actord/coroutine.h>

#include <map>
#include <string>

namespace {
using namespace std::chrono_literals;

// Answers "price" when a program outside has found the price.
class Prices : public actord::Process {
 public:
  static constexpr const char* kName = "prices";
  static constexpr actord::Method kMethods[] = {{"run", "Knows prices."}};

  void Step(actord::Events events, actord::StepOutput& out) {
    if (name_ == 0) name_ = out.Yield(actord::commands::RegisterName("prices"));
    for (const actord::Event event : events) {
      if (event.call() != 0) {
        calls_[out.Yield("price.find", event.payload())] = event.call();
      } else if (event.is_completion()) {
        OnCompletion(event, out);
      }
    }
  }

 private:
  void OnCompletion(const actord::Event& event, actord::StepOutput& out) {
    if (event.tag() == name_ && event.error()) return out.Fail(event.error());
    const auto call = calls_.extract(event.tag());
    if (call.empty()) return;
    if (const actord::Error error = event.error()) {
      out.ReplyError(call.mapped(), error.code, error.message);
    } else {
      out.Reply(call.mapped(), event.payload());
    }
  }

  actord::Tag name_ = 0;
  std::map<actord::Tag, actord::CallId> calls_;
};

// Asks "prices" for the price of its input, and waits two seconds at most.
class Sale : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "sale";
  static constexpr actord::Method kMethods[] = {{"run", "Sells an article."}};

  actord::Task<actord::Result<std::string>> Main(actord::Context& ctx,
                                                 actord::OwnedPayload article) {
    const actord::Result<> price =
        co_await ctx.Call("prices", "price", article, {.timeout = 2s});
    if (!price.ok()) co_return price.status();
    co_return "sold for " + price->bytes;
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("sales", "1.0.0", actord::ProcessTypes<Prices, Sale>);
// end
