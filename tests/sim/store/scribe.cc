#include "tests/sim/store/scribe.h"

#include <algorithm>
#include <chrono>

#include "tests/sim/store/outside.h"

namespace actord::sim {

using runtime::FromAbi;
using runtime::ToAbi;

namespace {

constexpr uint64_t kMostSleepMs = 6;
// Many sleep so long that they become dormant meanwhile.
constexpr uint64_t kMostLongSleepMs = 60;
// A scribe that has written so much only listens.
constexpr size_t kMostEntries = 60;

const char* NameOf(Command command, uint64_t draw) {
  switch (command) {
    case Command::kTaskOnce:
      return "task.once";
    case Command::kTaskAgain:
      return "task.again";
    case Command::kEffect:
      return draw % 2 == 0 ? "effect.inline" : "effect.pooled";
    default:
      return "";
  }
}

WorkPolicy PolicyOf(Command command) {
  WorkPolicy policy;
  if (command != Command::kTaskOnce && command != Command::kTaskAgain) {
    return policy;
  }
  policy.max_attempts = command == Command::kTaskOnce ? 1 : 4;
  policy.lease = std::chrono::milliseconds(50);
  policy.backoff = std::chrono::milliseconds(10);
  policy.max_backoff = std::chrono::milliseconds(20);
  return policy;
}

bool IsGet(const Event& event) {
  return event.is_message() && event.call() != 0 && event.topic() == "get";
}

}  // namespace

template <bool kReplayed>
Status BasicScribe<kReplayed>::Init(std::string_view method,
                                    const Payload& input) {
  if (method == "refuse") return {Code::kOutOfRange, "no more lives"};
  if (Diary::Decode(input.bytes, diary_)) {
    diary_.version = version_;
    diary_.Add({.kind = Entry::kLife});
    return {};
  }
  diary_ = {};
  diary_.version = version_;
  Entry begun{.kind = Entry::kBegun};
  if (!input.bytes.empty() && !ReadValue(input.bytes, begun.number)) {
    return {Code::kInvalidArgument, "no number"};
  }
  diary_.Add(begun);
  return {};
}

template <bool kReplayed>
Status BasicScribe<kReplayed>::Restore(std::string_view /*method*/,
                                       const RestoreFrom& from,
                                       RestoreContext& /*context*/) {
  if (Witness::outside->refuses_restores) return {Code::kInternal, "not today"};
  if (!Diary::Decode(from.snapshot.bytes, diary_)) {
    return {Code::kInternal, "no diary"};
  }
  if (diary_.version != version_ && diary_.IsRefusedBy(version_)) {
    return {Code::kFailedPrecondition, "not this one"};
  }
  diary_.version = version_;
  return {};
}

template <bool kReplayed>
void BasicScribe<kReplayed>::Step(Events events, StepOutput& out) {
  runtime::FailPoint();
  Witness::outside->HearStep(FromAbi(out.self()), version_, kReplayed);
  const bool is_asked_only =
      !events.empty() && std::all_of(events.begin(), events.end(), IsGet);
  if (is_over_) {
    Witness::outside->Broken(out.FormatPid(out.self()) +
                             " takes a step in the state of a former life");
  }
  // A cancel cannot be handed on.
  const bool is_told_to_end =
      std::any_of(events.begin(), events.end(),
                  [](const Event& event) { return event.is_cancel(); });
  // A reader changes nothing.
  const size_t last = is_asked_only || is_told_to_end || Draw(8, out) != 0
                          ? events.size() + 1
                          : Draw(events.size() + 1, out);
  for (size_t i = 0; i < events.size(); ++i) {
    if (i >= last && MayBeginAgain()) {
      const Events rest = events.From(i);
      return BeginAgain(out, &rest);
    }
    See(events[i], out);
  }
  if (is_asked_only) return;
  if (is_cancelled_) return out.Fail(Code::kCancelled, "it was cancelled");
  if (last == events.size() && MayBeginAgain()) {
    return BeginAgain(out, nullptr);
  }
  if (!diary_.owed.empty() && Draw(2, out) == 0) ReplyOne(out);
  // A few end, or wait for what they have yielded.
  const uint64_t draw = Draw(64, out);
  const bool has_acted = diary_.entries.size() > 4;
  if (has_acted && draw == 0) {
    while (!diary_.owed.empty()) ReplyOne(out);
    out.Done(Payload(diary_.Encode()));
  } else if (diary_.owed.empty() && draw < 8 && diary_.Outstanding() != 0) {
    out.Block();
  } else if (draw < 12) {
    out.Continue();
  }
  if (Witness::outside->schedule.traces()) {
    Witness::outside->schedule.Trace(
        "%s: %zu events, verdict %d, %zu entries, %zu yields",
        out.FormatPid(out.self()).c_str(), events.size(), out.verdict(),
        diary_.entries.size(), diary_.Outstanding());
  }
}

template <bool kReplayed>
void BasicScribe<kReplayed>::BeginAgain(StepOutput& out, const Events* unseen) {
  is_over_ = true;
  const bool ends = diary_.entries.size() > 4 && Draw(8, out) == 0;
  if (ends) Witness::outside->HearLast(FromAbi(out.self()), diary_);
  const std::string diary = diary_.Encode();
  const char* const method = ends ? "refuse" : "";
  if (unseen == nullptr) return out.ContinueAs(Payload(diary), method);
  out.ContinueAs(Payload(diary), method, *unseen);
}

template <bool kReplayed>
bool BasicScribe<kReplayed>::MayBeginAgain() const {
  return diary_.Outstanding() == 0 && diary_.owed.empty() &&
         diary_.entries.size() < kMostEntries;
}

template <bool kReplayed>
void BasicScribe<kReplayed>::See(const Event& event, StepOutput& out) {
  if (event.is_message()) {
    const bool is_errand = event.topic() == "errand";
    if (event.call() != 0 && !is_errand) return SeeCall(event, out);
    SeeMessage(event, out);
    // A client calls with an errand, too.
    if (event.call() != 0) out.Reply(event.call(), event.payload());
    return;
  }
  if (event.is_completion()) return SeeCompletion(event, out);
  if (event.is_cancel()) is_cancelled_ = event.payload().bytes != kLinger;
  if (event.is_exit()) {
    diary_.Add({.kind = Entry::kExit,
                .code = static_cast<uint32_t>(event.exit_reason()),
                .peer = FromAbi(event.from()),
                .number = event.tag()});
  }
}

template <bool kReplayed>
void BasicScribe<kReplayed>::SeeMessage(const Event& event, StepOutput& out) {
  Errand errand;
  if (!ReadValue(event.payload().bytes, errand)) {
    Witness::outside->Broken("a message of a scribe is cut");
  }
  const runtime::Pid from = FromAbi(event.from());
  // `code`: the client, which has less than 2^32 of them.
  diary_.Add({.kind = Entry::kCame,
              .code = static_cast<uint32_t>(errand.client),
              .peer = from,
              .number = errand.number,
              .value = static_cast<uint64_t>(errand.amount)});
  diary_.balance += errand.amount;
  if (!errand.witness.empty()) diary_.witness = errand.witness;
  diary_.Meet(from);
  diary_.Meet(errand.peer);
  if (errand.budget == 0 || diary_.entries.size() >= kMostEntries) return;
  for (uint64_t left = 1 + Draw(2, out); left > 0; --left) {
    Act(errand.budget - 1, out);
  }
}

template <bool kReplayed>
void BasicScribe<kReplayed>::SeeCall(const Event& event, StepOutput& out) {
  if (event.topic() == "get") {
    return out.Reply(event.call(), Payload(diary_.Encode()));
  }
  uint64_t number = 0;
  if (!ReadValue(event.payload().bytes, number)) {
    Witness::outside->Broken("a call of a scribe is cut");
  }
  diary_.Add(
      {.kind = Entry::kAsked, .peer = FromAbi(event.from()), .number = number});
  diary_.owed.push_back({event.call(), number});
}

template <bool kReplayed>
void BasicScribe<kReplayed>::SeeCompletion(const Event& event,
                                           StepOutput& out) {
  const Entry* const yielded = diary_.Find(Entry::kYielded, event.tag());
  if (yielded == nullptr) {
    Witness::outside->Broken(out.FormatPid(out.self()) +
                             " gets the completion of no yield, of tag " +
                             std::to_string(event.tag()));
  }
  if (diary_.Find(Entry::kCompleted, event.tag()) != nullptr) {
    Witness::outside->Broken(out.FormatPid(out.self()) +
                             " gets a second completion of its yield " +
                             std::to_string(event.tag()));
  }
  const auto now_ns = static_cast<uint64_t>(out.monotonic_now().count());
  const bool is_sleep = yielded->code == CodeOf(Command::kSleep);
  Entry completed{.kind = Entry::kCompleted, .number = event.tag()};
  if (const Error error = event.error()) {
    completed.code = static_cast<uint32_t>(error.code);
  } else {
    static_cast<void>(ReadValue(event.payload().bytes, completed.value));
  }
  if (is_sleep && completed.code == 0 && now_ns < yielded->value) {
    Witness::outside->Broken(out.FormatPid(out.self()) +
                             " is woken too early, by " +
                             std::to_string(yielded->value - now_ns) + " ns");
  }
  diary_.Add(completed);
  if (diary_.entries.size() < kMostEntries && Draw(2, out) == 0) Act(0, out);
}

template <bool kReplayed>
void BasicScribe<kReplayed>::Act(uint32_t budget, StepOutput& out) {
  switch (Draw(16, out)) {
    case 0:
    case 1:
      return Tell(out);
    case 2:
    case 3:
    case 11:
      return Sleep(out);
    case 4:
      return YieldOne(Command::kTaskOnce, out);
    case 5:
      return YieldOne(Command::kTaskAgain, out);
    case 6:
      return YieldOne(Command::kEffect, out);
    case 7:
      return YieldOne(Command::kRegister, out);
    case 8:
      return SpawnOne(out);
    case 9:
      return MonitorOne(out);
    case 10:
      return AskOne(out);
    default:
      return SendOne(budget, out);
  }
}

template <bool kReplayed>
void BasicScribe<kReplayed>::SendOne(uint32_t budget, StepOutput& out) {
  if (diary_.peers.empty()) return;
  const runtime::Pid to = diary_.peers[Draw(diary_.peers.size(), out)];
  Errand errand;
  errand.number = diary_.Count(Entry::kSent, to);
  errand.amount = static_cast<int64_t>(Draw(100, out));
  errand.budget = budget;
  errand.witness = diary_.witness;
  errand.peer = diary_.peers[Draw(diary_.peers.size(), out)];
  diary_.balance -= errand.amount;
  diary_.Add({.kind = Entry::kSent,
              .peer = to,
              .number = errand.number,
              .value = static_cast<uint64_t>(errand.amount)});
  out.Send(ToAbi(to), "errand", Payload(BytesOfValue(errand)));
}

template <bool kReplayed>
void BasicScribe<kReplayed>::Tell(StepOutput& out) {
  if (diary_.witness.empty()) return;
  uint64_t number = 0;
  for (const Entry& entry : diary_.entries) {
    if (entry.kind == Entry::kTold) ++number;
  }
  diary_.Add({.kind = Entry::kTold, .peer = diary_.witness, .number = number});
  out.Send(ToAbi(diary_.witness), "told", Payload(BytesOfValue(number)));
}

template <bool kReplayed>
void BasicScribe<kReplayed>::Sleep(StepOutput& out) {
  const uint64_t ms =
      Draw(Draw(2, out) == 0 ? kMostLongSleepMs : kMostSleepMs, out);
  const auto now_ns = static_cast<uint64_t>(out.monotonic_now().count());
  const Tag tag = out.Yield(
      "timer.sleep", Payload("{\"duration_ms\":" + std::to_string(ms) + "}"));
  diary_.Add({.kind = Entry::kYielded,
              .code = CodeOf(Command::kSleep),
              .number = tag,
              .value = now_ns + ms * 1'000'000});
}

template <bool kReplayed>
void BasicScribe<kReplayed>::YieldOne(Command command, StepOutput& out) {
  const uint64_t draw = Draw(4, out);
  Tag tag = 0;
  if (command == Command::kRegister) {
    tag = out.Yield("name.register", Payload(R"({"name":"name/)" +
                                             std::to_string(draw) + "\"}"));
  } else {
    YieldOptions options;
    options.policy = PolicyOf(command);
    tag =
        out.Yield(NameOf(command, draw), Payload(BytesOfValue(draw)), options);
  }
  diary_.Add({.kind = Entry::kYielded, .code = CodeOf(command), .number = tag});
}

template <bool kReplayed>
void BasicScribe<kReplayed>::SpawnOne(StepOutput& out) {
  ChildOptions options;
  options.keep_result = true;
  Tag monitor = 0;
  if (Draw(2, out) == 0) options.monitor = &monitor;
  const char* const type =
      Draw(3, out) == 0 ? ReplayedScribe::kName : Scribe::kName;
  const runtime::Pid child = FromAbi(out.Spawn(type, "run", {}, options));
  if (child.empty()) return;
  diary_.Add({.kind = Entry::kSpawned, .peer = child});
  if (monitor != 0) {
    diary_.Add({.kind = Entry::kMonitored, .peer = child, .number = monitor});
  }
  diary_.Meet(child);
}

template <bool kReplayed>
void BasicScribe<kReplayed>::MonitorOne(StepOutput& out) {
  if (diary_.peers.empty()) return;
  const runtime::Pid peer = diary_.peers[Draw(diary_.peers.size(), out)];
  const Tag tag = out.Monitor(ToAbi(peer));
  diary_.Add({.kind = Entry::kMonitored, .peer = peer, .number = tag});
}

template <bool kReplayed>
void BasicScribe<kReplayed>::AskOne(StepOutput& out) {
  if (diary_.peers.empty()) return;
  const runtime::Pid peer = diary_.peers[Draw(diary_.peers.size(), out)];
  if (peer == FromAbi(out.self())) return;
  YieldOptions options;
  options.timeout = std::chrono::milliseconds(100);
  const uint64_t number = 1000 + diary_.entries.size();
  const Tag tag =
      out.Call(ToAbi(peer), "ask", Payload(BytesOfValue(number)), options);
  diary_.Add({.kind = Entry::kYielded,
              .code = CodeOf(Command::kAsk),
              .peer = peer,
              .number = tag,
              .value = number});
}

template <bool kReplayed>
void BasicScribe<kReplayed>::ReplyOne(StepOutput& out) {
  const Diary::Owed owed = diary_.owed.front();
  diary_.owed.erase(diary_.owed.begin());
  out.Reply(owed.call, Payload(BytesOfValue(owed.number)));
}

template class BasicScribe<false>;
template class BasicScribe<true>;

void Witness::Step(Events events, StepOutput& /*out*/) {
  for (const Event event : events) {
    uint64_t number = 0;
    if (!event.is_message()) continue;
    if (!ReadValue(event.payload().bytes, number)) {
      outside->Broken("a message of a witness is cut");
    }
    outside->HearTold(FromAbi(event.from()), number);
  }
}

}  // namespace actord::sim
