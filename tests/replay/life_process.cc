#include "tests/replay/life_process.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace actord::replay {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMostOthers = 8;

}  // namespace

Status Life::Init(std::string_view method, const Payload& input) {
  Mix(method);
  Mix(input.bytes);
  generations_ =
      input.bytes.empty() ? 0 : std::stoull(std::string(input.bytes));
  if (method == "other" && generations_ % 2 == 1) {
    return {Code::kInvalidArgument, "of an odd generation"};
  }
  if (generations_ > 1000) throw std::runtime_error("too many generations");
  return {};
}

void Life::Step(Events events, StepOutput& out) {
  ++steps_;
  for (const Event event : events) See(event);
  if (others_.empty()) others_.push_back(out.self());
  for (uint64_t left = out.random() % 5; left > 0; --left) Act(out);
  Decide(out);
}

void Life::See(const Event& event) {
  Mix(static_cast<uint64_t>(event.type()));
  Mix(event.tag());
  Mix(static_cast<uint64_t>(event.error().code));
  Mix(event.payload().bytes);
  if (!event.from().empty()) {
    if (others_.size() == kMostOthers) others_.erase(others_.begin());
    others_.push_back(event.from());
  }
  if (event.is_cancel()) cancelled_ = true;
  if (event.is_completion()) std::erase(outstanding_, event.tag());
  if (event.is_exit()) std::erase(monitors_, event.tag());
  if (event.is_message()) {
    Mix(event.topic());
    if (event.call() != 0) calls_.push_back(event.call());
  }
}

Pid Life::Somebody(StepOutput& out) const {
  return others_[out.random() % others_.size()];
}

void Life::Act(StepOutput& out) {
  const uint64_t kind = out.random() % 16;
  if (kind < 4) {
    const std::string padding(out.random() % 8 == 0 ? 1500 : 0, 'p');
    out.Send(Somebody(out), "note", Mark() + padding);
  } else if (kind < 7) {
    YieldOne(out);
  } else if (kind == 7) {
    SpawnOne(out);
  } else if (kind == 8) {
    Mix(static_cast<uint64_t>(out.now().time_since_epoch().count()));
    Mix(static_cast<uint64_t>(out.monotonic_now().count()));
  } else if (kind == 9) {
    Mix(out.max_payload_bytes());
    Mix(out.FormatPid(out.parent()));
    out.Log(LogLevel::kDebug, Mark());
  } else {
    ActOnOthers(kind, out);
  }
}

void Life::ActOnOthers(uint64_t kind, StepOutput& out) {
  if (kind < 12) {
    const YieldOptions options{.timeout = 1ms};
    const Tag tag = out.random() % 4 == 0
                        ? out.Call(out.random() % 2 == 0 ? "root" : "nobody",
                                   "ask", Mark(), options)
                        : out.Call(Somebody(out), "ask", Mark(), options);
    outstanding_.push_back(tag);
  } else if (kind == 12 && !calls_.empty()) {
    if (out.random() % 4 == 0) {
      out.ReplyError(calls_.back(), Code::kNotFound, "nothing");
    } else {
      out.Reply(calls_.back(), Mark());
    }
    calls_.pop_back();
  } else if (kind == 13) {
    monitors_.push_back(out.Monitor(Somebody(out)));
  } else if (kind == 14) {
    if (!monitors_.empty() && out.random() % 2 == 0) {
      out.Demonitor(monitors_.back());
      monitors_.pop_back();
    } else if (out.random() % 4 == 0) {
      out.Link(Somebody(out));
    } else {
      out.Unlink(Somebody(out));
    }
  } else if (!outstanding_.empty()) {
    out.CancelYield(outstanding_.front());
  }
}

void Life::SpawnOne(StepOutput& out) {
  if (generations_ == 0) return;
  constexpr const char* kTypes[] = {"life", "life.cancellable", "life.trapping",
                                    "life.coroutine", "life.unknown"};
  constexpr const char* kMethodsOfAll[] = {"run", "run", "other", "unknown"};
  ChildOptions options;
  options.priority = static_cast<int>(out.random() % 32);
  options.keep_result = out.random() % 2 == 0;
  options.link = out.random() % 8 == 0;
  Tag monitor = 0;
  if (out.random() % 2 == 0) options.monitor = &monitor;
  const Pid child = out.Spawn(kTypes[out.random() % std::size(kTypes)],
                              kMethodsOfAll[out.random() % 4],
                              std::to_string(generations_ - 1), options);
  if (child.empty()) {
    Mix("no room");
    return;
  }
  if (monitor != 0) monitors_.push_back(monitor);
  others_.push_back(child);
  out.Send(child, "hello", Mark());
}

void Life::YieldOne(StepOutput& out) {
  constexpr const char* kCommands[] = {"inline", "pooled", "sleep", "ext.e",
                                       "unknown"};
  YieldOptions options;
  if (out.random() % 2 == 0) options.timeout = 2ms;
  if (out.random() % 8 == 0) options.policy.max_attempts = 3;
  outstanding_.push_back(out.Yield(kCommands[out.random() % 5],
                                   std::to_string(out.random() % 3'000'000),
                                   options));
}

void Life::Decide(StepOutput& out) {
  if (cancelled_) {
    if (out.random() % 2 == 0) return out.Fail(Code::kCancelled, "as asked");
    return out.Done(Mark());
  }
  if (steps_ > 40) return out.Done(Mark());
  const uint64_t r = out.random() % 256;
  if (r == 0) throw std::runtime_error("by intention");
  if (r == 1) return out.Fail(Code::kAborted, Mark());
  if (r == 2) return out.Block();  // at times without a yield: it fails
  if (r == 3) out.Send(out.self(), "huge", std::string(1 << 16, 'x'));
  if (r < 8) return out.Done(Mark());
  if (r < 32) return out.Continue();
  if (r < 64 && !outstanding_.empty()) out.Block();
}

Task<OwnedPayload> CoroutineLife::Main(Context& ctx) {
  std::string seen;
  for (int i = 0; i < 4; ++i) {
    const Result<OwnedPayload> slept =
        co_await ctx.Run("inline", std::to_string(ctx.random() % 1000));
    seen += slept.ok() ? slept->bytes : std::string(slept.error().message);
    const auto rested =
        co_await Try(ctx.Sleep(std::chrono::microseconds(ctx.random() % 500)));
    if (!rested.ok()) break;
  }
  co_return OwnedPayload(seen);
}

}  // namespace actord::replay
