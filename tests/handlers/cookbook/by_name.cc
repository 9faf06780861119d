// recipe: by_name
#include <actord/coroutine.h>

#include <cstdint>
#include <string>

namespace {
using namespace std::chrono_literals;

// Counts the orders of one customer.
class Ledger : public actord::Process {
 public:
  static constexpr const char* kName = "ledger";
  static constexpr actord::Method kMethods[] = {{"run", "Begins with 0."}};

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.call() != 0) out.Reply(event.call(), std::to_string(++orders_));
    }
  }

 private:
  int64_t orders_ = 0;
};

// Books an order in the ledger of the customer that its input names. The first
// order of a customer starts the ledger.
class Purchase : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "purchase";
  static constexpr actord::Method kMethods[] = {{"run", "Books an order."}};

  actord::Status Init(std::string_view /*method*/, actord::Payload customer) {
    ledger_ = "ledger/" + std::string(customer.bytes);
    if (actord::IsName(ledger_)) return {};
    return {actord::Code::kInvalidArgument, "not the name of a customer"};
  }

  actord::Task<actord::Result<>> Main(actord::Context& ctx) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const actord::Pid ledger = ctx.FindName(ledger_);
      if (!ledger.empty()) {
        co_return co_await ctx.Call(ledger, "book", {}, {.timeout = 5s});
      }
      const auto started = co_await ctx.Run(
          actord::commands::Spawn("ledger", "", "", {.name = ledger_}));
      const actord::Code code = started.error().code;
      // Another order may have started the ledger meanwhile.
      if (!started.ok() && code != actord::Code::kAlreadyExists) {
        co_return started.status();
      }
    }
    co_return actord::Status(actord::Code::kUnavailable,
                             "the ledger ends again and again");
  }

 private:
  std::string ledger_;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("ledgers", "1.0.0",
                     actord::ProcessTypes<Ledger, Purchase>);
// end
