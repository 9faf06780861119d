#include "tests/sim/client.h"

#include <set>

#include "runtime/process/errors.h"
#include "tests/sim/process.h"

namespace actord::sim {

using runtime::CompleteAnswer;
using runtime::Outcome;
using runtime::Pid;
using runtime::YieldResult;

namespace {

constexpr auto kStrangersOwner = runtime::Owner{9};

}  // namespace

Client::Client(World& world, runtime::Runtime& runtime, uint64_t number,
               uint64_t seed)
    : world_(world), runtime_(runtime), number_(number), random_(seed) {}

void Client::Run(uint64_t acts) {
  for (; acts > 0; --acts) {
    Act();
    Pause();
  }
}

void Client::RunStranger(uint64_t notes) {
  Actor* const stranger = world_.NewStranger();
  Submit(stranger, kStrangersOwner);
  for (; notes > 0 && !world_.stopping && !world_.shutdown_begun; --notes) {
    Pause();
    if (stranger->pid.empty() || stranger->has_note) continue;
    // Before the first processes of both owners were pushed, nothing is fair.
    stranger->has_note = world_.core->scheduler.IsFair();
    stranger->note_since_round = world_.schedule.rounds();
    SendTo(*stranger);
  }
}

void Client::Pause() {
  world_.schedule.Boundary();
  const uint64_t r = Draw(16);
  if (r < 8) return runtime::FailPoint();
  world_.schedule.SleepFor(r < 15 ? Draw(20'000) : Draw(2'000'000),
                           /*busy=*/false);
}

void Client::Act() {
  const uint64_t r = Draw(100);
  if (world_.limits.are_tied && r >= 20 && r < 36) {
    return r < 30 ? Call() : LookUp();
  }
  if (r < 30) return world_.MayGrow() ? Submit() : Send();
  if (r < 60) return Send();
  if (r < 65) return world_.limits.is_crowded ? Send() : Control();
  if (r < 72) return Await();
  if (r < 76) return Look();
  if (r < 88) return PayDebt();
  if (r < 96) return AnswerExternal();
  if (r < 99) return AnswerAgain();
  AnswerNonsense();
}

void Client::Submit() {
  Submit(world_.NewActor(/*poisoned=*/false), runtime::Owner::kNobody);
}

void Client::Submit(Actor* actor, runtime::Owner owner) {
  ++world_.submits;
  const Note note{kFirstClient + number_, 0};
  const bool greets = Draw(2) == 0;
  runtime::SubmitRequest request{
      TypeOf(*actor), "run", {InputOf(actor), ""}, {}};
  request.priority = actor->priority;
  request.owner = owner;
  if (greets) request.messages.push_back({"note", {BytesOf(note, 0), ""}});
  if (world_.limits.are_tied && Draw(3) == 0) {
    request.name = "name " + std::to_string(Draw(3));
    request.name[4] = '/';
    if (world_.limits.has_store) request.name.clear();
  }
  const auto gone = world_.Gone();
  const size_t self = world_.schedule.current();
  bool refused = false;
  runtime_.Submit(request, [this, actor, self, gone, name = request.name,
                            &refused](absl::StatusOr<Pid> pid) {
    ++world_.submit_answers;
    world_.Check(!pid.ok() || actor->live, actor,
                 "a submit was answered before Init");
    if (pid.ok()) world_.Enter(*actor, *pid);
    if (pid.ok() && !name.empty()) {
      Actor*& holder = world_.names[name];
      world_.Check(holder == nullptr || !world_.Lives(*holder), actor,
                   "two hold a name");
      holder = actor;
    }
    // If this runs on a worker, possibly later, the process was started.
    if (world_.schedule.current() != self) return;
    refused = true;
    ++world_.submits_refused;
    if (runtime::ReasonOf(pid.status()) == runtime::reason::kNameTaken) {
      const auto holder = runtime::ParsePid(runtime::HolderOf(pid.status()));
      const Actor* by = holder.ok() ? world_.ActorOfPid(*holder) : nullptr;
      world_.Check(!name.empty() && holder.ok() && !gone.contains(by), actor,
                   "a name is held by who had ended");
      return;
    }
    world_.Check(
        runtime::ReasonOf(pid.status()) == runtime::reason::kDraining ||
            runtime::ReasonOf(pid.status()) == runtime::reason::kStopped ||
            (world_.limits.processes_are_few &&
             runtime::ReasonOf(pid.status()) == runtime::reason::kProcessLimit),
        actor, "a submit was refused for no reason");
  });
  world_.schedule.Trace("submit %s%s", World::NameOf(*actor).c_str(),
                        refused ? ": refused" : "");
  if (refused) return;
  actor->is_submitted = actor->inits == 0 && !world_.shutdown_begun;
  if (!greets) return;
  ++next_to_[actor->id];
  ++actor->sent_to_it;
  ++world_.sent;
}

void Client::Send() {
  Actor* to = world_.Pick(random_.Next());
  if (to == nullptr) return;
  for (uint64_t left = Draw(8) == 0 ? Draw(40) : 1; left > 0; --left) {
    if (!SendTo(*to)) return;
  }
}

bool Client::SendTo(Actor& to) {
  const Note note{kFirstClient + number_, next_to_[to.id]};
  const absl::Status status =
      runtime_.Send(to.pid, {"note", {BytesOf(note, 0), ""}});
  world_.schedule.Trace("send to %s: %s", World::NameOf(to).c_str(),
                        runtime::ReasonOf(status).c_str());
  if (status.ok()) {
    ++next_to_[to.id];
    ++to.sent_to_it;
    ++world_.sent;
    return true;
  }
  const std::string reason = runtime::ReasonOf(status);
  world_.Check(reason == runtime::reason::kProcessEnded
                   ? !to.live
                   : reason == runtime::reason::kMailboxFull &&
                         world_.limits.mailboxes_are_small,
               &to, "a send was refused for no reason");
  return false;
}

void Client::Call() {
  if (!calls_.empty() && Draw(4) == 0) {
    if (runtime_.CancelCall(calls_.back())) {
      // No callback follows, so the call is removed here.
      world_.open_calls.erase(numbers_[calls_.back()]);
    }
    calls_.pop_back();
    return;
  }
  Actor* to = world_.Pick(random_.Next());
  if (to == nullptr) return;
  const uint64_t number = world_.next_yield++;
  ++world_.calls;
  world_.open_calls.emplace(number, to);
  const Note note{kCall, number};
  const auto id = runtime_.Call(
      to->pid, {"call", {BytesOf(note, 0), ""}},
      [this, number, to](absl::StatusOr<runtime::Payload> answer) {
        world_.CheckAnswer(number, *to, answer);
      });
  if (id == 0) return;
  calls_.push_back(id);
  numbers_[id] = number;
}

void Client::LookUp() {
  const std::string name = "name/" + std::to_string(Draw(3));
  const auto gone = world_.Gone();
  const auto found = runtime_.FindName(name);
  if (!found.ok()) return;
  world_.Check(!gone.contains(world_.ActorOfPid(*found)), nullptr,
               "a name was found of who had ended");
}

void Client::Control() {
  Actor* to = world_.Pick(random_.Next());
  if (to == nullptr) return;
  const bool cancel = Draw(2) == 0;
  world_.schedule.Trace("%s %s", cancel ? "cancel" : "terminate",
                        World::NameOf(*to).c_str());
  to->may_be_told = true;
  const absl::Status status = cancel ? runtime_.Cancel(to->pid, "why not")
                                     : runtime_.Terminate(to->pid, "why not");
  if (status.ok()) to->told_to_end = true;
  world_.Check(status.ok() || !to->live, to,
               "a live process was not found for a cancel");
}

void Client::Await() {
  Actor* of = world_.Pick(random_.Next());
  if (of == nullptr) return;
  ++world_.awaits;
  ++of->awaits;
  World& world = world_;
  const runtime::Runtime::AwaitId id =
      runtime_.Await(of->pid, [&world, of](absl::StatusOr<Outcome> outcome) {
        ++world.await_answers;
        --of->awaits;
        world.Check(!of->live, of, "its end was told before it was closed");
        if (!outcome.ok()) return;
        world.Check((outcome->kind == runtime::EndKind::kResult) == of->done,
                    of, "it was told to have ended otherwise");
        world.Check(!of->done || outcome->result.bytes == of->result, of,
                    "another's result was told");
        world.Check(outcome->steps == of->steps, of,
                    "another number of steps was told");
      });
  world_.schedule.Trace("await %s", World::NameOf(*of).c_str());
  if (Draw(3) == 0) Pause();
  if (Draw(3) == 0 && id != 0 && runtime_.CancelAwait(of->pid, id)) {
    --world_.awaits;
    --of->awaits;
  }
}

void Client::Look() {
  const Actor* at = world_.Pick(random_.Next());
  if (at == nullptr) return;
  runtime::Runtime& runtime = runtime_;
  runtime.Describe(at->pid).status().IgnoreError();
  std::set<Pid> seen;
  uint32_t slot = 0;
  do {
    const runtime::ProcessPage page = runtime.ListProcesses({}, slot, 10);
    for (const runtime::ProcessInfo& info : page.processes) {
      world_.Check(seen.insert(info.pid).second, at, "listed twice");
    }
    slot = page.next_slot;
  } while (slot != 0);
  const runtime::RuntimeStats stats = runtime.Stats();
  world_.Check(stats.processes_ended <= stats.processes_started, nullptr,
               "more have ended than were started");
  world_.Check(stats.completions <= stats.yields, nullptr,
               "more was completed than yielded");
}

void Client::PayDebt() {
  if (world_.debts.empty()) return;
  const size_t which = random_.Next() % world_.debts.size();
  const Debt debt = world_.debts[which];
  const std::string bytes = std::to_string(debt.number);
  const actord_payload payload{{bytes.data(), bytes.size()}, {}};
  const actord_host* host = runtime_.host();
  world_.schedule.Trace("complete yield %llu%s",
                        static_cast<unsigned long long>(debt.number),
                        debt.paid ? " again" : "");
  // Another client may pay the same debt at the same moment.
  const int32_t status = Draw(4) == 0 ? ACTORD_ABORTED : ACTORD_OK;
  const bool first =
      host->complete(host, debt.handle, status, &payload) == ACTORD_OK;
  world_.Check(!(first && world_.debts[which].paid), nullptr,
               "a yield was completed twice");
  if (first) world_.debts[which].paid = true;
}

void Client::AnswerExternal() {
  const runtime::YieldPage page = runtime_.ListYields({}, 0, 16);
  if (page.yields.empty()) return;
  const runtime::ExternalYield& yield =
      page.yields[random_.Next() % page.yields.size()];
  Answered answered;
  answered.token = yield.token;
  answered.result = {
      Draw(4) == 0 ? absl::StatusCode::kAborted : absl::StatusCode::kOk,
      {yield.payload.bytes, ""}};
  if (Draw(8) == 0) Pause();
  answered.answer = runtime_.CompleteYield(yield.token, answered.result);
  world_.schedule.Trace("answer yield %s: %d", yield.payload.bytes.c_str(),
                        static_cast<int>(answered.answer));
  world_.Check(answered.answer != CompleteAnswer::kUnknown, nullptr,
               "a listed yield is unknown");
  answered_.push_back(answered);
}

void Client::AnswerAgain() {
  if (answered_.empty()) return;
  const Answered& before = answered_[random_.Next() % answered_.size()];
  YieldResult other = before.result;
  const bool same = Draw(2) == 0;
  if (!same) other.payload.bytes += "!";
  const CompleteAnswer answer = runtime_.CompleteYield(before.token, other);
  CompleteAnswer expected = before.answer;
  if (before.answer == CompleteAnswer::kAccepted) {
    expected = same ? CompleteAnswer::kDuplicate : CompleteAnswer::kConflict;
  } else if (before.answer == CompleteAnswer::kDuplicate && !same) {
    expected = CompleteAnswer::kConflict;
  } else if (before.answer == CompleteAnswer::kConflict) {
    // The other client's answer is not known here.
    return;
  }
  world_.Check(answer == expected, nullptr,
               "a second answer was not told the truth");
}

void Client::AnswerNonsense() {
  const Actor* of = world_.Pick(random_.Next());
  if (of == nullptr) return;
  runtime::YieldToken token{of->pid, 1'000'000 + Draw(10)};
  if (Draw(2) == 0) token.pid.slot += 1000;
  world_.Check(runtime_.CompleteYield(token, {}) == CompleteAnswer::kUnknown,
               nullptr, "a yield that never was is known");
  const actord_host* host = runtime_.host();
  world_.Check(host->complete(host, random_.Next() | (uint64_t{1} << 63),
                              ACTORD_OK, nullptr) != ACTORD_OK,
               nullptr, "a completion that never was is accepted");
}

}  // namespace actord::sim
