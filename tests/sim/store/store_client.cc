#include "tests/sim/store/store_client.h"

#include <optional>
#include <utility>

#include "runtime/actors/request_ids.h"
#include "runtime/process/errors.h"
#include "runtime/process/fingerprint.h"
#include "tests/sim/store/scribe.h"

namespace actord::sim {

using runtime::Outcome;
using runtime::Owner;
using runtime::Payload;
using runtime::Pid;
using runtime::RequestIds;

StoreClient::StoreClient(Outside& outside, StoreLife& life, uint64_t number)
    : outside_(outside),
      runtime_(life.runtime()),
      operator_(outside, life),
      number_(number) {}

void StoreClient::Run(uint64_t acts) {
  for (; acts > 0 && !outside_.IsDead(); --acts) {
    Act();
    Pause();
  }
}

void StoreClient::Pause() {
  outside_.schedule.Boundary();
  const uint64_t r = Draw(16);
  if (r < 8) return runtime::FailPoint();
  uint64_t most_ns = r < 14 ? 20'000 : 4'000'000;
  // Long enough for idle processes to become dormant.
  if (r == 14) most_ns = 40'000'000;
  if (r == 15 && Draw(8) == 0) most_ns = 200'000'000;
  outside_.schedule.SleepFor(Draw(most_ns), /*busy=*/false);
}

void StoreClient::Act() {
  const uint64_t r = Draw(100);
  if (outside_.has_trouble && r % 8 == 0 && operator_.IsNeeded()) {
    return operator_.Act();
  }
  // They tell which processes are in quarantine.
  if (outside_.has_trouble && r % 4 == 1) return Get();
  if (r < 18) return Submit();
  if (r < 70) return Send();
  if (r < 80) return Get();
  if (r < 88) return Await();
  if (r < 94) return LookUp();
  if (r < 96) return operator_.Act();
  if (r < 98) return Cancel();
  Terminate();
}

void StoreClient::Submit() {
  constexpr size_t kMostSubmissions = 10;
  auto& submissions = outside_.submissions;
  if (submissions.size() < kMostSubmissions &&
      (submissions.empty() || Draw(3) != 0)) {
    return Submit(outside_.NewSubmission());
  }
  Outside::Submission& again = *submissions[Draw(submissions.size())];
  if (!again.id.empty()) Submit(again);
}

void StoreClient::Submit(Outside::Submission& submission) {
  outside_.schedule.Trace("submit %lu%s", submission.number,
                          submission.asked++ == 0 ? "" : " again");
  if (submission.id.empty()) return SubmitOnce(submission);
  RequestIds& ids = runtime_.request_ids();
  const auto role =
      ids.Begin(ids.KeyOf(Owner::kNobody, submission.id),
                runtime::FingerprintOf(ids.content_key(), {{submission.id}}),
                [this, &submission](const absl::StatusOr<Pid>& pid) {
                  if (pid.ok()) outside_.HearSubmitted(submission, *pid);
                });
  if (role == RequestIds::Role::kReused && !outside_.IsDead()) {
    outside_.Broken("a request id that is repeated is taken for another one");
  }
  if (role == RequestIds::Role::kFirst) SubmitOnce(submission);
}

void StoreClient::SubmitOnce(Outside::Submission& submission) {
  runtime::SubmitRequest request;
  request.process_type =
      submission.is_replayed ? ReplayedScribe::kName : Scribe::kName;
  request.method = "run";
  request.input = {BytesOfValue(submission.number), ""};
  request.name = submission.name;
  request.durable = true;
  RequestIds& ids = runtime_.request_ids();
  if (!submission.id.empty()) {
    request.request_id =
        runtime::RequestId{.id = submission.id,
                           .fingerprint = runtime::FingerprintOf(
                               ids.content_key(), {{submission.id}})};
  }
  runtime_.Submit(request, [this, &submission,
                            &ids](const absl::StatusOr<Pid>& pid) {
    if (!submission.id.empty()) {
      ids.End(ids.KeyOf(Owner::kNobody, submission.id), pid);
    }
    if (outside_.IsDead()) return;
    outside_.schedule.Trace("submit %lu: %s", submission.number,
                            pid.ok()
                                ? FormatPid(*pid).c_str()
                                : std::string(pid.status().message()).c_str());
    if (pid.ok()) return outside_.HearSubmitted(submission, *pid);
    const std::string reason = runtime::ReasonOf(pid.status());
    if (reason == runtime::reason::kNameTaken && !submission.name.empty()) {
      const auto holder = runtime::ParsePid(runtime::HolderOf(pid.status()));
      if (holder.ok()) outside_.HearOf(*holder);
      return;
    }
    CheckRefusal(pid.status(), Pid{});
  });
}

void StoreClient::CheckRefusal(const absl::Status& status, const Pid& to) {
  if (outside_.IsDead()) return;
  const std::string reason = runtime::ReasonOf(status);
  namespace r = runtime::reason;
  if (outside_.has_trouble &&
      (reason == r::kUnknownProcessType || reason == r::kProcessQuarantined)) {
    return;
  }
  if (reason == r::kDraining || reason == r::kStopped ||
      reason == r::kJournalBehind || reason == r::kStoreFull ||
      (!to.empty() && reason == r::kProcessEnded)) {
    return;
  }
  outside_.Broken(FormatPid(to) + ": a refusal for no reason: " +
                  std::string(status.message()));
}

void StoreClient::Send() {
  auto& sendings = outside_.sendings;
  if (!sendings.empty() && Draw(4) == 0) {
    Outside::Sending& again = *sendings[Draw(sendings.size())];
    if (!again.id.empty()) Send(again);
    return;
  }
  Outside::Sending* const sending = outside_.NewSending(number_);
  if (sending == nullptr) return;
  Send(*sending);
  if (Draw(4) != 0) return;
  // What the receiver does about it may not be durable yet.
  for (uint64_t left = 1 + Draw(3); left > 0 && !outside_.IsDead(); --left) {
    runtime::FailPoint();
    Get(sending->to);
  }
}

void StoreClient::Send(Outside::Sending& sending) {
  outside_.schedule.Trace("send %lu of %lu to %s", sending.errand.number,
                          sending.client, FormatPid(sending.to).c_str());
  if (sending.is_call) return Call(sending);
  const runtime::Message message{"errand", {BytesOfValue(sending.errand), ""}};
  RequestIds& ids = runtime_.message_ids();
  runtime::RequestId id = {};
  if (!sending.id.empty()) {
    id = {.id = sending.id,
          .fingerprint =
              runtime::FingerprintOf(ids.content_key(), {{sending.id}})};
    const auto role =
        ids.Begin(ids.KeyOf(Owner::kNobody, sending.id), id.fingerprint,
                  [this, &sending](const absl::StatusOr<Pid>& pid) {
                    if (pid.ok()) outside_.HearSent(sending);
                  });
    if (role == RequestIds::Role::kReused && !outside_.IsDead()) {
      outside_.Broken("a message id that is repeated is taken for another one");
    }
    if (role != RequestIds::Role::kFirst) return;
  }
  uint64_t position = 0;
  const absl::Status status =
      runtime_.Send(sending.to, message, Owner::kAny, &position,
                    sending.id.empty() ? nullptr : &id);
  runtime_.WhenDurableHere(position, [this, status, &sending, &ids] {
    if (!sending.id.empty()) {
      ids.End(ids.KeyOf(Owner::kNobody, sending.id),
              status.ok() ? absl::StatusOr<Pid>(sending.to)
                          : absl::StatusOr<Pid>(status));
    }
    if (status.ok()) return outside_.HearSent(sending);
    CheckRefusal(status, sending.to);
  });
}

void StoreClient::Call(Outside::Sending& sending) {
  const runtime::Message message{"errand", {BytesOfValue(sending.errand), ""}};
  if (sending.id.empty()) {
    runtime_.Call(sending.to, message,
                  [this, &sending](const absl::StatusOr<Payload>& got) {
                    HearReply(sending, got);
                  });
    return;
  }
  const runtime::RequestId id = {
      .id = sending.id,
      .fingerprint = runtime::FingerprintOf(
          runtime_.message_ids().content_key(), {{sending.id}})};
  runtime_.CallOnce(
      sending.to, message, id,
      [this, &sending](const absl::StatusOr<runtime::CallReply>& reply) {
        if (!reply.ok()) return HearReply(sending, reply.status());
        HearReply(sending, reply->result);
      },
      Owner::kAny);
}

void StoreClient::HearReply(Outside::Sending& sending,
                            const absl::StatusOr<Payload>& reply) {
  if (outside_.IsDead()) return;
  if (reply.ok()) {
    outside_.Check(reply->bytes == BytesOfValue(sending.errand), sending.to,
                   "a call has the answer of another one");
    return outside_.HearSent(sending);
  }
  const std::string reason = runtime::ReasonOf(reply.status());
  const bool has_ended = reason == runtime::reason::kCalleeEnded ||
                         reason == runtime::reason::kProcessEnded;
  outside_.Check(!has_ended || !sending.is_acknowledged, sending.to,
                 "the answer to a call is forgotten");
  if (!has_ended) CheckRefusal(reply.status(), sending.to);
}

void StoreClient::Get() {
  const std::optional<Pid> of = outside_.Pick();
  if (of) Get(*of);
}

void StoreClient::Get(const Pid& of) {
  runtime_.Call(of, {"get", {}},
                [this, pid = of, tries = outside_.TriesOf(of)](
                    const absl::StatusOr<Payload>& got) {
                  if (got.ok()) return outside_.HearDiary(pid, got->bytes);
                  if (runtime::ReasonOf(got.status()) ==
                      runtime::reason::kProcessQuarantined) {
                    outside_.HearQuarantined(pid, tries);
                  }
                });
}

void StoreClient::Await() {
  const std::optional<Pid> of = outside_.Pick();
  if (!of) return;
  runtime_.Await(*of, [this, pid = *of](const absl::StatusOr<Outcome>& got) {
    if (got.ok()) outside_.HearOutcome(pid, *got);
  });
}

void StoreClient::LookUp() {
  const auto found = runtime_.FindName("name/" + std::to_string(Draw(4)));
  runtime_.WhenDurableHere(runtime_.LastPosition(), [this, found] {
    if (found.ok()) outside_.HearOf(*found);
  });
}

void StoreClient::Terminate() {
  const std::optional<Pid> of = outside_.Pick();
  if (!of || Draw(2) == 0) return;
  outside_.schedule.Trace("terminate %s", FormatPid(*of).c_str());
  outside_.HearMayBeTerminated(*of);
  uint64_t position = 0;
  const absl::Status status =
      runtime_.Terminate(*of, "why not", Owner::kAny, &position);
  runtime_.WhenDurableHere(position, [this, status, pid = *of] {
    if (status.ok()) return outside_.HearTerminated(pid);
    CheckRefusal(status, pid);
  });
}

void StoreClient::Cancel() {
  const std::optional<Pid> of = outside_.Pick();
  if (!of || Draw(2) == 0) return;
  const bool lingers = Draw(2) == 0;
  const absl::Duration deadline =
      lingers ? absl::Milliseconds(1 + static_cast<int64_t>(Draw(60)))
              : absl::ZeroDuration();
  outside_.schedule.Trace("cancel %s%s", FormatPid(*of).c_str(),
                          lingers ? ", with a deadline" : "");
  outside_.HearCancelAsked(*of);
  if (lingers) outside_.HearMayBeTerminated(*of);
  uint64_t position = 0;
  const absl::Status status = runtime_.Cancel(*of, lingers ? kLinger : "end",
                                              deadline, Owner::kAny, &position);
  runtime_.WhenDurableHere(position, [this, status, pid = *of] {
    if (status.ok()) return outside_.HearCancelled(pid);
    CheckRefusal(status, pid);
  });
}

namespace {

class Deaf final : public runtime::TaskListener {
 public:
  void Wake() override {}
};

}  // namespace

StoreWorker::StoreWorker(Outside& outside, runtime::Runtime& runtime)
    : outside_(outside), runtime_(runtime) {}

void StoreWorker::Run(const bool& stops) {
  runtime::RemoteTasks& all = runtime_.remote_tasks();
  worker_ =
      all.Open({"task.*"}, "worker", Owner::kAny, std::make_shared<Deaf>());
  static_cast<void>(all.AddCredits(worker_, 10'000));
  while (!stops && !outside_.IsDead()) {
    outside_.schedule.Boundary();
    // A worker that says nothing after a lost lease gets no more tasks.
    all.Heard(worker_);
    Take();
    while (!outside_.held.empty() && outside_.Draw(3) != 0) {
      const runtime::TaskAttempt task = std::move(outside_.held.back());
      outside_.held.pop_back();
      Answer(task);
    }
    outside_.schedule.SleepFor(outside_.Draw(1'000'000), /*busy=*/false);
  }
  all.Close(worker_);
}

void StoreWorker::Take() {
  runtime::TaskBatch batch =
      runtime_.remote_tasks().Take(worker_, /*busy=*/false, {});
  if (batch.tasks.empty()) return;
  // As a work stream does it, because a task may rest on any record.
  runtime_.WhenDurable(
      runtime_.LastPosition(), [this, tasks = std::move(batch.tasks)] {
        if (outside_.IsDead()) return;
        for (const runtime::TaskAttempt& task : tasks) {
          outside_.HearTask(task.token, task.yield.command == "task.once");
          outside_.held.push_back(task);
        }
      });
}

void StoreWorker::Answer(const runtime::TaskAttempt& task) {
  runtime::RemoteTasks& all = runtime_.remote_tasks();
  const uint64_t draw = outside_.Draw(8);
  if (draw == 0) return;  // it is lost
  const runtime::YieldToken& yield = task.token.yield;
  runtime::CompleteAnswer answer;
  const uint64_t value = outside_.Draw(1'000'000);
  if (draw == 1) {
    answer = all.Fail(task.token, {.code = absl::StatusCode::kUnavailable,
                                   .text = "not today",
                                   .retry_delay = std::nullopt});
    outside_.schedule.Trace("task %lu of %s fails", yield.tag,
                            FormatPid(yield.pid).c_str());
    return;
  }
  outside_.tasks[{yield.pid, yield.tag}].answers.insert(value);
  answer = all.Complete(task.token,
                        {absl::StatusCode::kOk, {BytesOfValue(value), ""}});
  outside_.schedule.Trace("task %lu of %s is answered: %d", yield.tag,
                          FormatPid(yield.pid).c_str(),
                          static_cast<int>(answer));
  if (answer == runtime::CompleteAnswer::kUnknown) outside_.HearUnknown(yield);
  if (answer == runtime::CompleteAnswer::kNotRestored) {
    outside_.held.insert(outside_.held.begin(), task);
    outside_.schedule.SleepFor(100'000'000, /*busy=*/false);
  }
  if (answer != runtime::CompleteAnswer::kAccepted) return;
  runtime_.WhenDurable(runtime_.LastPosition(),
                       [&outside = outside_, yield, value] {
                         outside.HearCompleted(yield, value);
                       });
}

}  // namespace actord::sim
