// "actorctl top" on a terminal.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/calls/error.h"
#include "client/cli/errors/unreached.h"
#include "client/top/keys.h"
#include "client/top/layout.h"
#include "client/top/sampler.h"
#include "client/top/terminal.h"
#include "client/top/top.h"

namespace actord::client::top {
namespace {

// Maximum delay of the rest of an escape sequence.
constexpr std::chrono::milliseconds kSequenceTime{50};
// A key that follows another key within this time is no reaction to what the
// other key displayed.
constexpr std::chrono::milliseconds kBlindTime{100};
// Rates over a shorter time, because somebody presses a key, would only
// flicker.
constexpr absl::Duration kLeastInterval = absl::Milliseconds(500);
// How often the time until the retry is updated.
constexpr absl::Duration kTick = absl::Seconds(1);

class Live {
 public:
  Live(Invocation& invocation, const TopOptions& options, Terminal& terminal)
      : invocation_(invocation),
        options_(options),
        terminal_(terminal),
        cells_(IsUtf8Terminal(invocation.environment())),
        view_(options.view),
        link_({.address = invocation.options().address}),
        sampler_(invocation.options().endpoint(), Wanted()) {}

  // Returns the exit status, or the error of the terminal.
  absl::StatusOr<ExitStatus> Run();
  // Call it after the terminal was restored: reports the outcomes of wishes
  // that were not shown. With `wait`, waits for open wishes. False: a wish
  // failed, was not sent, or has no answer.
  bool Finish(bool wait);

 private:
  enum Source { kKeys, kCancelled, kChanged, kNews, kSources };

  // Returns the readable sources.
  std::array<bool, kSources> Wait();
  [[nodiscard]] absl::Duration Patience() const;
  absl::Status Resume();
  absl::Status Redraw();
  absl::Status DrawQuestion();
  absl::Status ReadKeys();
  void Press(const std::vector<Key>& keys);
  void Grant(const Wish& wish);
  void ReadNews();
  void ReadSample(absl::StatusOr<Sample> sample);
  [[nodiscard]] Sampler::Wanted Wanted() const;

  Invocation& invocation_;
  const TopOptions& options_;
  Terminal& terminal_;
  const Cells cells_;
  Model model_;
  View view_;
  Link link_;
  Sampler::Clock::time_point next_try_ = {};
  // Time at which the model's sample arrived.
  Sampler::Clock::time_point seen_ = {};
  KeyReader keys_;
  // Time at which to flush pending bytes, if there are any.
  Sampler::Clock::time_point flush_at_ = {};
  bool unseen_question_ = false;
  // The terminal or its size has changed.
  bool changed_ = false;
  // Empty: the contents of the terminal are unknown.
  Frame shown_;
  std::optional<ExitStatus> end_;
  // Last, so that it is destroyed first.
  Sampler sampler_;
};

Sampler::Wanted Live::Wanted() const {
  return {
      .request = {.max_processes = options_.max_processes,
                  .process_type = view_.WantedType(model_.status())},
      .interval = view_.interval(),
      .paused = view_.paused(),
      .details_pid = view_.page() == View::Page::kDetails ? view_.pid() : ""};
}

absl::StatusOr<ExitStatus> Live::Run() {
  while (!end_) {
    absl::Status status = Resume();
    if (!status.ok()) return status;
    status = std::exchange(unseen_question_, false) ? DrawQuestion() : Redraw();
    if (!status.ok()) return status;
    const std::array<bool, kSources> ready = Wait();
    if (ready[kCancelled]) return ExitStatus::kInterrupted;
    if (absl::Now() >= invocation_.deadline()) return ExitStatus::kDeadline;
    if (ready[kChanged]) changed_ = true;
    if (ready[kKeys]) status = ReadKeys();
    if (!status.ok()) return status;
    if (keys_.pending() && !ready[kKeys] &&
        Sampler::Clock::now() >= flush_at_) {
      Press(keys_.Flush());
    }
    // Finish reports outcomes that are no longer shown.
    if (ready[kNews] && !end_) ReadNews();
  }
  return *end_;
}

bool Live::Finish(bool wait) {
  if (wait && sampler_.HasOpenWishes()) {
    invocation_.Complain("waiting for the daemon's answer; Ctrl-C gives up");
  }
  bool ok = true;
  for (const Done& done :
       sampler_.Finish(wait, invocation_.environment().cancellation)) {
    invocation_.Complain(done.text);
    ok = ok && done.ok;
  }
  return ok;
}

// Called before anything is drawn: after a stop the screen belongs to the
// shell.
absl::Status Live::Resume() {
  if (!std::exchange(changed_, false) && !terminal_.lost()) {
    return absl::OkStatus();
  }
  shown_.clear();
  return terminal_.Resume();
}

absl::Duration Live::Patience() const {
  absl::Duration patience = invocation_.deadline() - absl::Now();
  if (keys_.pending()) {
    patience =
        std::min(patience, absl::FromChrono(flush_at_ - Sampler::Clock::now()));
  }
  if (!link_.state.ok()) patience = std::min(patience, kTick);
  return std::max(patience, absl::ZeroDuration());
}

std::array<bool, Live::kSources> Live::Wait() {
  std::array<pollfd, kSources> sources{};
  sources[kKeys].fd = invocation_.environment().stdin_fd;
  sources[kCancelled].fd = invocation_.environment().cancellation.fd();
  sources[kChanged].fd = terminal_.changed_fd();
  sources[kNews].fd = sampler_.fd();
  for (pollfd& source : sources) source.events = POLLIN;
  constexpr absl::Duration kLongest = absl::Hours(1);
  // Rounded up, so that the awaited time has passed afterwards.
  const int64_t ms =
      absl::ToInt64Milliseconds(std::min(Patience(), kLongest)) + 1;
  std::array<bool, kSources> ready{};
  if (poll(sources.data(), sources.size(), static_cast<int>(ms)) < 0) {
    // A signal.
    return ready;
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    ready[i] = sources[i].revents != 0;
  }
  return ready;
}

absl::Status Live::Redraw() {
  link_.retry_in = std::max(absl::FromChrono(next_try_ - Sampler::Clock::now()),
                            absl::ZeroDuration());
  link_.seen = absl::FromChrono(Sampler::Clock::now() - seen_);
  const Size size = terminal_.size();
  Frame frame = Draw(model_, view_, link_, cells_, size);
  if (frame.size() != shown_.size()) shown_.clear();
  const std::string bytes = Encode(frame, shown_, invocation_.style().colour);
  shown_ = std::move(frame);
  return bytes.empty() ? absl::OkStatus() : terminal_.Write(bytes);
}

// A key that was typed before the prompt was visible does not answer it.
absl::Status Live::DrawQuestion() {
  const Sampler::Clock::time_point begin = Sampler::Clock::now();
  terminal_.DropInput();
  absl::Status status = Redraw();
  // The terminal has accepted nothing for a while.
  if (Sampler::Clock::now() - begin > kBlindTime) terminal_.DropInput();
  return status;
}

absl::Status Live::ReadKeys() {
  std::array<char, 4096> bytes;
  const ssize_t count =
      read(invocation_.environment().stdin_fd, bytes.data(), bytes.size());
  if (count < 0) {
    return errno == EINTR || errno == EAGAIN
               ? absl::OkStatus()
               : absl::ErrnoToStatus(errno, "cannot read from the terminal");
  }
  if (count == 0) return absl::UnavailableError("the terminal has gone");
  const std::vector<Key> keys =
      keys_.Feed({bytes.data(), static_cast<size_t>(count)});
  flush_at_ = Sampler::Clock::now() + kSequenceTime;
  Press(keys);
  return absl::OkStatus();
}

void Live::Press(const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    const bool asked = view_.asks();
    Grant(view_.Press(key, model_));
    if (end_) return;
    if (view_.asks() && !asked) {
      // The keys typed after this one do not answer the question, which nobody
      // has seen.
      unseen_question_ = true;
      return;
    }
  }
}

void Live::Grant(const Wish& wish) {
  switch (wish.kind) {
    case Wish::Kind::kQuit:
      end_ = ExitStatus::kDone;
      return;
    case Wish::Kind::kInterrupt:
      end_ = ExitStatus::kInterrupted;
      return;
    case Wish::Kind::kSuspend:
      terminal_.Suspend();
      return;
    case Wish::Kind::kRedraw:
      shown_.clear();
      return;
    case Wish::Kind::kCancel:
    case Wish::Kind::kTerminate:
      if (!sampler_.Do(wish)) {
        view_.Say(wish.pid +
                  ": nothing was sent, too many others wait for an answer");
      } else if (wish.kind == Wish::Kind::kCancel) {
        view_.Say("asking " + wish.pid + " to end ...");
      } else {
        view_.Say("terminating " + wish.pid + " ...");
      }
      return;
    case Wish::Kind::kNone:
      sampler_.Want(Wanted(), /*now=*/false);
      return;
    case Wish::Kind::kSample:
    case Wish::Kind::kLook:
      sampler_.Want(Wanted(), /*now=*/true);
      return;
  }
}

void Live::ReadNews() {
  News news = sampler_.Take();
  for (Done& done : news.done) view_.Tell(std::move(done.text));
  if (news.details && news.pid == view_.pid()) {
    view_.ShowDetails(*std::move(news.details));
  }
  if (!news.sample) return;
  next_try_ = news.next_try;
  ReadSample(*std::move(news.sample));
}

void Live::ReadSample(absl::StatusOr<Sample> sample) {
  link_.state = sample.status();
  if (absl::IsUnavailable(link_.state) &&
      DetailsOf(link_.state).reason.empty()) {
    link_.state = absl::UnavailableError(
        DescribeBreak(invocation_.options().endpoint(), link_.state));
  }
  if (!sample.ok()) return;
  // The sampler continues with the earlier request; its samples are dropped.
  if (view_.paused() && model_.known()) return;
  seen_ = Sampler::Clock::now();
  model_.Add(*std::move(sample), std::min(view_.interval(), kLeastInterval));
  view_.Refresh(model_);
  // After the first sample the types are known.
  const Sampler::Wanted wanted = Wanted();
  sampler_.Want(wanted, /*now=*/wanted.request.process_type !=
                            model_.request().process_type);
}

}  // namespace

ExitStatus RunLive(Invocation& invocation, const TopOptions& options) {
  const Environment& environment = invocation.environment();
  const std::string term = environment.variable("TERM");
  absl::StatusOr<std::unique_ptr<Terminal>> terminal =
      absl::FailedPreconditionError("there is no terminal");
  if (environment.out_is_terminal && !term.empty() && term != "dumb") {
    terminal = Terminal::Open(environment.stdin_fd, STDOUT_FILENO);
  }
  if (absl::IsFailedPrecondition(terminal.status())) {
    return invocation.Fail(UsageError(
        "top needs a terminal for its input and output, and TERM to name it; "
        "with --once it writes one frame to wherever you like"));
  }
  if (!terminal.ok()) return invocation.Fail(terminal.status());
  Live live(invocation, options, **terminal);
  absl::StatusOr<ExitStatus> end = live.Run();
  // Later output must stay on the screen.
  terminal->reset();
  const bool ok = live.Finish(/*wait=*/!end.ok() || *end == ExitStatus::kDone);
  if (!end.ok()) return invocation.Fail(end.status());
  return ok || *end != ExitStatus::kDone ? *end : ExitStatus::kFailed;
}

}  // namespace actord::client::top
