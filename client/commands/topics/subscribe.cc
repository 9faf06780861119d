// actorctl subscribe
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/cli/alarm.h"
#include "client/cli/errors/unreached.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "client/streams/subscription.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct SubscribeOptions {
  std::vector<std::string> patterns;
  std::string duration;
  uint64_t count = 0;
};

// Unit: characters of a topic and of a payload in a table.
constexpr size_t kShownTopic = 60;
constexpr size_t kShownPayload = 120;

Item PublicationItem(const v1::Publication& publication) {
  return {.json = [&publication] { return ToJson(publication); },
          .name = [&publication] { return OneLine(publication.topic()); },
          .cells =
              [&publication] {
                return std::vector<std::string>{
                    Rfc3339Ms(ToTime(publication.publish_time())),
                    OneLine(publication.topic(), kShownTopic),
                    Preview(publication.payload(), kShownPayload),
                    publication.publisher_pid(),
                    std::to_string(publication.sequence()),
                    publication.owner()};
              }};
}

// Writes and counts the publications.
class PublicationPrinter {
 public:
  PublicationPrinter(Invocation& invocation, const SubscribeOptions& options,
                     Cancellation& stop)
      : invocation_(invocation),
        options_(options),
        stop_(stop),
        writer_(invocation.out(), invocation.style(),
                {{.heading = "TIME"},
                 {.heading = "TOPIC"},
                 {.heading = "PAYLOAD"},
                 {.heading = "PUBLISHER", .wide_only = true},
                 {.heading = "SEQUENCE", .wide_only = true, .number = true},
                 {.heading = "OWNER", .wide_only = true}}) {}

  TopicSubscriptionOptions Options();
  void Finish() { writer_.Finish(); }
  // The number of publications given with --count was reached.
  [[nodiscard]] bool complete() const { return complete_; }
  // OK if the subscription was open at least once. Otherwise the reason of the
  // last failed attempt to connect.
  [[nodiscard]] absl::Status Unreached() const {
    if (was_connected_) return absl::OkStatus();
    return last_break_.ok() ? absl::UnavailableError(
                                  "the daemon has not answered in this time")
                            : last_break_;
  }

 private:
  void Show(const v1::Publication& publication) {
    writer_.Add(PublicationItem(publication));
    if (++shown_ != options_.count) return;
    complete_ = true;
    stop_.Cancel();
  }

  Invocation& invocation_;
  const SubscribeOptions& options_;
  Cancellation& stop_;
  ListWriter writer_;
  uint64_t shown_ = 0;
  bool complete_ = false;
  bool broken_ = false;
  bool was_connected_ = false;
  absl::Status last_break_;
};

TopicSubscriptionOptions PublicationPrinter::Options() {
  TopicSubscriptionOptions subscription;
  subscription.patterns = options_.patterns;
  subscription.on_publication = [this](const v1::Publication& publication) {
    Show(publication);
  };
  subscription.on_missed = [this](uint64_t count) {
    invocation_.Complain(
        (count == 0 ? "an unknown number of" : WithThousands(count)) +
        " publications were missed");
  };
  subscription.on_told = [this] {
    writer_.EndPage();
    invocation_.out().flush();
  };
  subscription.on_connected = [this] {
    was_connected_ = true;
    if (std::exchange(broken_, false)) invocation_.Complain("connected again");
  };
  subscription.on_broken = [this](const absl::Status& why,
                                  absl::Duration delay) {
    broken_ = true;
    last_break_ = why;
    if (!was_connected_ && IsRefusal(why)) return stop_.Cancel();
    invocation_.Complain(DescribeBreak(invocation_.options().endpoint(), why) +
                         "; trying again in " + ShortDuration(delay));
  };
  return subscription;
}

ExitStatus RunSubscribe(Invocation& invocation,
                        const SubscribeOptions& options) {
  absl::Time end = absl::InfiniteFuture();
  if (!options.duration.empty()) {
    const auto duration = ParseDuration(options.duration);
    if (!duration.ok()) {
      return invocation.Fail(
          UsageError("--for: " + std::string(duration.status().message())));
    }
    end = absl::Now() + *duration;
  }
  Cancellation stop;
  PublicationPrinter printer(invocation, options, stop);
  TopicSubscription subscription(invocation.options().endpoint(),
                                 printer.Options());
  // The deadline of --timeout is an error, the end of --for is not.
  Alarm timeout(invocation.environment().cancellation, invocation.deadline(),
                stop);
  Alarm enough(invocation.environment().cancellation, end, stop);
  const absl::Status status = subscription.Run(stop);
  printer.Finish();
  if (!status.ok()) return invocation.Fail(status);
  if (printer.complete()) return ExitStatus::kDone;
  if (invocation.environment().cancellation.cancelled()) {
    return ExitStatus::kInterrupted;
  }
  if (timeout.rang() && !enough.rang()) return ExitStatus::kDeadline;
  const absl::Status unreached = printer.Unreached();
  return unreached.ok() ? ExitStatus::kDone : invocation.Fail(unreached);
}

constexpr char kSubscribeFooter[] = R"(
Prints a line for each publication of a process whose topic matches a PATTERN: a topic, or a
prefix that ends in *, in quotes because of the shell. Only publications of processes that
you may see arrive, from the moment on at which the subscription is open; the daemon keeps
none for later. -o jsonl shows the whole payload.

If this command is read too slowly, the daemon drops the oldest publications, and their
number is printed on standard error. subscribe retries a lost connection; publications
during that time are missed.

Runs until it is interrupted (130), until --for is over, or until --count publications. The
exit status is 5 if the daemon was never reached, and 1 if it refused the first attempt.

Examples:
  actorctl subscribe room/7
  actorctl subscribe 'price/*' 'stock/*' -o jsonl | jq -c '[.topic, .payload.json]'
  actorctl subscribe '*' --for 1m
  actorctl subscribe order/done --count 1
)";

}  // namespace

void AddSubscribe(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SubscribeOptions>();
  CLI::App* command = app.add_subcommand(
      "subscribe", "Print what processes publish under topics");
  command->footer(kSubscribeFooter);
  command
      ->add_option("PATTERN", options->patterns,
                   "A topic, or a prefix that ends in *; at most 64")
      ->required()
      ->expected(1, 64);
  command->add_option("--for", options->duration, "End after this long")
      ->type_name("DURATION");
  command
      ->add_option("--count", options->count,
                   "End after N publications [no limit]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunSubscribe(invocation, *options);
    };
  });
}

}  // namespace actord::client
