// order: a saga. It reserves, holds the reservation for a while, and has an
// external command charge the payment. It releases the reservation if the
// payment is refused or times out, or if the order is cancelled first.
//
// Input: {"order": text, "amount_cents": integer, "hold_ms": integer (100),
// "payment_timeout_ms": integer (30000)}. Result: {"order", "status"}, where
// the status is "charged" or "compensated". A charged order also has "payment",
// the result of the payment command. A compensated order has "why".
#include <actord/commands.h>
#include <actord/coroutine.h>
#include <actord/excerpt.h>
#include <actord/json.h>

#include <chrono>
#include <string>
#include <string_view>

namespace {

using nlohmann::json;

constexpr int64_t kMaxMs = int64_t{7} * 24 * 3600 * 1000;

class Order : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "order";
  static constexpr const char* kDoc = "Reserves, charges, or takes it back.";
  static constexpr actord::Method kMethods[] = {{"run", "Handles one order."}};
  // Main depends only on the input and the answers of its commands.
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    try {
      const json order = actord::ParseJson(input).value();
      id_ = order.at("order");
      amount_cents_ = order.at("amount_cents");
      hold_ms_ = order.value("hold_ms", int64_t{100});
      payment_ms_ = order.value("payment_timeout_ms", int64_t{30'000});
    } catch (const actord::Failure& failure) {
      return failure.status();
    } catch (const json::exception& error) {
      // The library repeats what it could not read.
      return {actord::Code::kInvalidArgument,
              actord::Excerpt(error.what(), 256)};
    }
    if (amount_cents_ <= 0 || hold_ms_ < 0 || hold_ms_ > kMaxMs ||
        payment_ms_ <= 0 || payment_ms_ > kMaxMs) {
      return {actord::Code::kInvalidArgument,
              "amount_cents must be above 0, and the times at most a week"};
    }
    return actord::Status::Ok();
  }

  // A Shield protects commands whose outcome must be known before they can be
  // undone: a cancel waits for the outcome.
  actord::Task<actord::OwnedPayload> Main(actord::Context& ctx) {
    // A real shop would run a command of its warehouse here.
    (co_await ctx.Shield(ctx.Run(Log("info", "reserved")))).value();

    const auto held =
        co_await actord::Try(ctx.Sleep(std::chrono::milliseconds(hold_ms_)));
    if (!held.ok()) {
      const char* const what = ctx.cancelled() ? "cancelled: " : "not held: ";
      co_return co_await Release(ctx, what + held.status().message());
    }

    const json charge = {{"order", id_}, {"amount_cents", amount_cents_}};
    const std::chrono::milliseconds timeout(payment_ms_);
    const actord::Result<> payment = co_await ctx.Shield(ctx.Run(
        "payment.charge", actord::JsonPayload(charge), {.timeout = timeout}));
    if (!payment.ok()) {
      co_return co_await Release(ctx, Describe(payment.error()));
    }
    co_return Report("charged", "payment", payment->bytes);
  }

 private:
  actord::Task<actord::OwnedPayload> Release(actord::Context& ctx,
                                             std::string why) {
    // If the release fails, the process fails, so that people can look into it.
    (co_await ctx.Shield(ctx.Run(Log("warning", "released, " + why)))).value();
    co_return Report("compensated", "why", why);
  }

  [[nodiscard]] actord::OwnedPayload Report(std::string_view status,
                                            std::string_view detail,
                                            std::string_view text) const {
    // JsonPayload, because the payment's result may contain invalid UTF-8.
    return actord::JsonPayload(
        {{"order", id_}, {"status", status}, {detail, text}});
  }

  [[nodiscard]] actord::commands::Log Log(std::string_view level,
                                          const std::string& text) const {
    return {level, "order " + id_ + ": " + text};
  }

  static std::string Describe(const actord::Error& error) {
    return error.code == actord::Code::kDeadlineExceeded
               ? "payment timed out"
               : "payment refused: " + std::string(error.message);
  }

  std::string id_;
  int64_t amount_cents_ = 0, hold_ms_ = 0, payment_ms_ = 0;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("order", "1.1.0", actord::ProcessTypes<Order>);
