// order: a saga. It reserves, holds the reservation for a while, has somebody
// outside take the payment, and gives the reservation back when the payment was
// refused or did not come.
//
//   reserving ──► holding ──► charging ──► Done: "charged"
//       └── cancel ──┴─ refused, timeout ─┴──► releasing ──► Done:
//       "compensated"
//
// Input: {"order": text, "amount_cents": integer, "hold_ms": integer (100),
// "payment_timeout_ms": integer (30000)}. Result: {"order", "status"} and
// "payment", what the payment was completed with, or "why".
#include <actord/commands.h>
#include <actord/plugin.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace {

using nlohmann::json;

constexpr int64_t kMaxMs = int64_t{7} * 24 * 3600 * 1000;

class Order : public actord::Process {
 public:
  static constexpr const char* kName = "order";
  static constexpr const char* kDoc = "Reserves, charges, or takes it back.";
  static constexpr actord::Method kMethods[] = {{"run", "Handles one order."}};
  // A reservation must not stay behind.
  static constexpr bool kHandlesCancel = true;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    try {
      const json order = json::parse(input.bytes);
      id_ = order.at("order");
      amount_cents_ = order.at("amount_cents");
      hold_ms_ = order.value("hold_ms", int64_t{100});
      payment_ms_ = order.value("payment_timeout_ms", int64_t{30'000});
    } catch (const json::exception& error) {
      return {actord::Code::kInvalidArgument, error.what()};
    }
    if (amount_cents_ <= 0 || hold_ms_ < 0 || hold_ms_ > kMaxMs ||
        payment_ms_ <= 0 || payment_ms_ > kMaxMs) {
      return {actord::Code::kInvalidArgument,
              "amount_cents must be above 0, and the times at most a week"};
    }
    return actord::Status::Ok();
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    out.Block();  // unless something below says otherwise
    if (state_ == State::kNew) {
      // A real shop would yield a command to its warehouse here.
      Await(State::kReserving, out.Yield(Log("info", "reserved")));
    }
    for (const actord::Event event : events) {
      if (event.is_cancel()) {
        OnCancel(event.payload().bytes, out);
      } else if (event.is_completion() && event.tag() == awaited_) {
        OnCompletion(event, out);
      }
    }
  }

 private:
  enum class State { kNew, kReserving, kHolding, kCharging, kReleasing };

  void OnCompletion(const actord::Event& event, actord::StepOutput& out) {
    const actord::Error error = event.error();
    switch (state_) {
      case State::kNew:
        return;
      case State::kReserving:
        if (error) return out.Fail(error);
        return Await(State::kHolding,
                     out.Yield(actord::commands::Sleep(
                         std::chrono::milliseconds(hold_ms_))));
      case State::kHolding:
        return error ? Release(Describe(error), out) : Charge(out);
      case State::kCharging:
        return error ? Release(Describe(error), out)
                     : End("charged", "payment", event.payload().bytes, out);
      case State::kReleasing:
        // What could not be given back is for people to look at.
        return error ? out.Fail(error) : End("compensated", "why", why_, out);
    }
  }

  // A payment under way is waited for: only its outcome says what to undo.
  void OnCancel(std::string_view reason, actord::StepOutput& out) {
    if (state_ == State::kReserving || state_ == State::kHolding) {
      Release("cancelled: " + std::string(reason), out);
    }
  }

  void Charge(actord::StepOutput& out) {
    const json payment = {{"order", id_}, {"amount_cents", amount_cents_}};
    const auto timeout = std::chrono::milliseconds(payment_ms_);
    Await(State::kCharging,
          out.Yield("payment.charge", payment.dump(), {.timeout = timeout}));
  }

  void Release(std::string why, actord::StepOutput& out) {
    why_ = std::move(why);
    Await(State::kReleasing, out.Yield(Log("warning", "released, " + why_)));
  }

  void End(std::string_view status, std::string_view detail,
           std::string_view text, actord::StepOutput& out) {
    const json result = {{"order", id_}, {"status", status}, {detail, text}};
    // Whoever took the payment may have answered with what is no UTF-8.
    out.Done(result.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  void Await(State state, actord::Tag tag) {
    state_ = state;
    awaited_ = tag;  // whatever else completes is of no interest
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

  State state_ = State::kNew;
  actord::Tag awaited_ = 0;
  std::string id_, why_;
  int64_t amount_cents_ = 0, hold_ms_ = 0, payment_ms_ = 0;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("order", "1.0.0", actord::ProcessTypes<Order>);
