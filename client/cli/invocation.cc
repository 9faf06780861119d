#include "client/cli/invocation.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "client/calls/error.h"
#include "client/cli/errors/unreached.h"
#include "client/output/text.h"
#include "identity/token_text.h"

namespace actord::client {

Invocation::Invocation(const Environment& environment, GlobalOptions options)
    : environment_(environment),
      options_(std::move(options)),
      deadline_(options_.timeout ? absl::Now() + *options_.timeout
                                 : absl::InfiniteFuture()) {
  const bool colour_wanted = environment_.variable("NO_COLOR").empty() &&
                             environment_.variable("TERM") != "dumb";
  style_ = {.format = options_.format,
            .terminal = environment_.out_is_terminal,
            .colour = environment_.out_is_terminal && colour_wanted};
  err_colour_ = environment_.err_is_terminal && colour_wanted;
}

bool Invocation::ForPeople() const {
  return options_.format == Format::kTable || options_.format == Format::kWide;
}

bool Invocation::wants_progress() const {
  return environment_.err_is_terminal &&
         (ForPeople() || !environment_.out_is_terminal);
}

Client& Invocation::client() {
  if (!client_) client_ = std::make_unique<Client>(options_.endpoint());
  return *client_;
}

CallOptions Invocation::Quick() const {
  return {.deadline =
              options_.timeout ? deadline_ : absl::Now() + kDefaultCallTimeout,
          .cancellation = &environment_.cancellation};
}

CallOptions Invocation::Waiting() const {
  return {.deadline = deadline_, .cancellation = &environment_.cancellation};
}

bool Invocation::Pause(absl::Duration pause) const {
  const Cancellation& cancellation = environment_.cancellation;
  pollfd interrupt{.fd = cancellation.fd(), .events = POLLIN, .revents = 0};
  const absl::Duration left = deadline_ - absl::Now();
  poll(&interrupt, 1,
       static_cast<int>(absl::ToInt64Milliseconds(
           std::clamp(left, absl::ZeroDuration(), pause))));
  return !cancellation.cancelled();
}

ExitStatus Invocation::Fail(const absl::Status& status,
                            const std::string& about) {
  const std::string subject = about.empty() ? "" : about + ": ";
  if (environment_.cancellation.cancelled()) {
    Complain(subject + "interrupted");
    return ExitStatus::kInterrupted;
  }
  const ErrorDetails details = DetailsOf(status);
  const bool is_late = IsDeadlineOfCall(status);
  const bool is_unreached = is_late
                                ? client_ != nullptr && !client_->is_connected()
                                : IsUnreached(status);
  if (is_unreached) {
    Complain(subject + CannotReach(options_.endpoint(), status));
  } else if (is_late) {
    Complain(subject + "deadline exceeded; --timeout sets a longer one");
  } else {
    Complain(subject + Describe(status));
  }
  if (!options_.left_out.empty() &&
      (is_unreached || absl::IsUnauthenticated(status))) {
    Complain(options_.left_out);
  }
  for (const FieldViolation& violation : details.field_violations) {
    // For a single wrong field the message has said it already.
    if (violation.description == status.message()) continue;
    err() << "  " << OneLine(violation.field) << ": "
          << OneLine(violation.description) << '\n';
  }
  return IsUnreached(status) ? ExitStatus::kUnavailable : ExitStatusOf(status);
}

void Invocation::SayEmpty(const ListWriter& list, const std::string& text) {
  if (list.empty() && ForPeople()) {
    err() << OneLine(text) << '\n';
  }
}

void Invocation::Complain(const std::string& text) {
  err() << Red("actorctl:", err_colour_) << ' '
        << identity::RedactTokens(OneLine(text)) << '\n';
}

namespace {

// The command that helps after an error with this reason; "" for none.
std::string_view Hint(std::string_view reason) {
  if (reason == "TOKEN_MISSING") {
    return "; give --token-file or set ACTORD_TOKEN_FILE";
  }
  if (reason == "INVALID_PID") return "; \"actorctl ps\" lists PIDs";
  if (reason == "INVALID_YIELD_TOKEN") {
    return "; \"actorctl yields\" lists tokens";
  }
  return "";
}

}  // namespace

std::string Describe(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  std::string text = OneLine(std::string(status.message()));
  if (text.empty() && status.code() == absl::StatusCode::kUnimplemented) {
    // gRPC's answer to a call that a server does not know.
    text = "the daemon does not have this call: it is older than this actorctl";
  }
  if (text.empty()) text = absl::StatusCodeToString(status.code());
  if (!details.reason.empty()) text += " (" + OneLine(details.reason) + ")";
  text += Hint(details.reason);
  if (details.retry_delay) {
    text += "; try again in " + ShortDuration(*details.retry_delay);
  }
  return text;
}

}  // namespace actord::client
