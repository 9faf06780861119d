// recipe: workflow
#include <actord/coroutine.h>

namespace {
using namespace std::chrono_literals;

// A day for the whole command. Workers get it up to five times: each attempt
// may take 30 seconds, and the pauses between them grow from 1 s to 1 min.
constexpr actord::YieldOptions kPatient = {.timeout = 24h,
                                           .policy = {.max_attempts = 5,
                                                      .attempt_timeout = 30s,
                                                      .backoff = 1s,
                                                      .max_backoff = 1min}};

// Reserves a seat and charges for it. Without the money it gives the seat back.
class Booking : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "booking";
  static constexpr actord::Method kMethods[] = {{"run", "Books a seat."}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Task<actord::Result<>> Main(actord::Context& ctx,
                                      actord::OwnedPayload order) {
    const auto seat =
        co_await ctx.Shield(ctx.Run("seat.reserve", order, kPatient));
    if (!seat.ok()) co_return seat.status();
    const auto paid = co_await Try(ctx.Run("payment.charge", order, kPatient));
    if (paid.ok()) co_return *paid;
    (co_await ctx.Shield(ctx.Run("seat.release", *seat, kPatient))).value();
    co_return paid.status();
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("bookings", "1.0.0", actord::ProcessTypes<Booking>);
// end
