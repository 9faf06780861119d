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

constexpr int64_t kMaxCents = int64_t{1} << 53;  // exact in each JSON library
constexpr int64_t kMaxMs = int64_t{7} * 24 * 3600 * 1000;

// The error of an input: the field, its value, and which value would be right.
actord::Failure Wrong(const char* field, const json* value, const char* rule) {
  const std::string is =
      value == nullptr ? "missing" : actord::Excerpt(value->dump(), 64);
  return {actord::Code::kInvalidArgument,
          std::string(field) + " is " + is + ": it must be " + rule};
}

std::string TextOf(const json& order, const char* field, const char* rule) {
  const auto found = order.find(field);
  if (found == order.end()) throw Wrong(field, nullptr, rule);
  if (!found->is_string()) throw Wrong(field, &*found, rule);
  return *found;
}

struct Range {
  int64_t least;
  int64_t most;
  const char* rule;
};

// `otherwise`: the value of a field that is missing; 0: the field is needed.
int64_t NumberOf(const json& order, const char* field, const Range& range,
                 int64_t otherwise = 0) {
  const auto found = order.find(field);
  if (found == order.end()) {
    if (otherwise != 0) return otherwise;
    throw Wrong(field, nullptr, range.rule);
  }
  // Compared as a double, which a number above the range of int64_t fits into.
  const bool fits = found->is_number_integer() &&
                    found->get<double>() <= static_cast<double>(range.most) &&
                    found->get<int64_t>() >= range.least;
  if (!fits) throw Wrong(field, &*found, range.rule);
  return *found;
}

class Order : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "order";
  static constexpr const char* kDoc = "Reserves, charges, or takes it back.";
  static constexpr actord::Method kMethods[] = {{"run", "Handles one order."}};
  // Main depends only on the input and the answers of its commands.
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    constexpr const char* kForm =
        R"(an object such as {"order": "A-17", "amount_cents": 4200})";
    const actord::Result<json> parsed = actord::ParseJson(input);
    if (const actord::Error error = parsed.error()) {
      return {error.code, std::string(error.message) + "; expected " + kForm};
    }
    try {
      const json& order = *parsed;
      if (!order.is_object()) throw Wrong("the input", &order, kForm);
      id_ = TextOf(order, "order", R"(a text, such as "A-17")");
      amount_cents_ =
          NumberOf(order, "amount_cents",
                   {1, kMaxCents, "a whole number of cents, at least 1"});
      hold_ms_ = NumberOf(
          order, "hold_ms",
          {0, kMaxMs, "a whole number of milliseconds, 0 to 7 days"}, 100);
      payment_ms_ = NumberOf(
          order, "payment_timeout_ms",
          {1, kMaxMs, "a whole number of milliseconds, 1 to 7 days"}, 30'000);
    } catch (const actord::Failure& failure) {
      return failure.status();
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

ACTORD_EXPORT_PLUGIN("order", "1.2.0", actord::ProcessTypes<Order>);
