// actord/context_events.h: delivers events to the coroutines that wait for
// them. Included by context.h; authors of plugins do not need it.
//
// 1. An event is handed to at most one coroutine, which runs at once, until it
//    waits again. Only then is the next event handled.
// 2. A running coroutine may destroy any waiting coroutine, which then leaves
//    its list. So after a coroutine has run, all positions in lists are
//    invalid: loops start again at the front.
// 3. A message that no coroutine waits for is queued. A completion that no
//    coroutine waits for belongs to a cancelled wait and is dropped. An event
//    of an unknown type is ignored.
//
// Thread-safety: belongs to its process. Ownership: as in context.h.
#pragma once

#include <actord/commands.h>
#include <actord/context.h>

#include <algorithm>
#include <vector>

namespace actord {

inline Context::~Context() {
  while (last_queued_ != nullptr) Dequeue(detail::Receiver());
  while (due_sends_ != nullptr) {
    delete std::exchange(due_sends_, due_sends_->next);
  }
  while (queued_exits_ != nullptr) {
    delete std::exchange(queued_exits_, queued_exits_->next);
  }
  while (timers_ != nullptr) {
    delete std::exchange(timers_, timers_->next);
  }
}

inline bool Context::HandleEvents(const detail::QueueLimits& limits) {
  detail::EventCursor& events = events_;
  while (events.next != events.end) {
    const actord_event* const event = *events.next++;
    switch (Event(event).type()) {
      case EventType::kMessage:
        OnMessage(event);
        break;
      case EventType::kCompletion:
        OnCompletion(event);
        break;
      case EventType::kCancel:
        OnCancel(Event(event));
        break;
      case EventType::kExit:
        OnExit(event);
        break;
    }
    if (!ready_.empty() || cancel_due_) [[unlikely]]
      ResumeReady();
  }
  return queued_messages_ == 0 ||
         (queued_messages_ <= limits.messages && queued_bytes_ <= limits.bytes);
}

inline void Context::ResumeContinuing() {
  if (continuing_.empty()) [[likely]]
    return;
  while (detail::Waiter* waiter = continuing_.PopFront()) {
    ready_.PushBack(*waiter);
  }
  ResumeReady();
}

inline void Context::SayWhatIsAwaited(StepOutput& out) const {
  if (!continuing_.empty()) {
    out.Continue();
  } else if (receivers_.empty() && exit_receivers_.empty()) {
    out.Block();
  }
}

inline void Context::OnMessage(const actord_event* event) {
  detail::Waiter* const first = receivers_.front();
  if (first == nullptr || !static_cast<detail::Receiver*>(first)->WantsAny()) {
    return OfferByTopic(event);
  }
  receivers_.Remove(*first);
  first->event = event;
  Resume(*first);
}

void Context::OfferByTopic(const actord_event* event) {
  const std::string_view topic = Event(event).topic();
  for (detail::Waiter* waiter = receivers_.front(); waiter != nullptr;
       waiter = receivers_.After(*waiter)) {
    if (static_cast<detail::Receiver*>(waiter)->Wants(topic)) {
      receivers_.Remove(*waiter);
      waiter->event = event;
      return Resume(*waiter);
    }
  }
  Enqueue(Event(event));
}

void Context::OnCompletion(const actord_event* event) {
  const Tag tag = event->tag;
  for (detail::Waiter* waiter = callers_.front(); waiter != nullptr;
       waiter = callers_.After(*waiter)) {
    if (static_cast<detail::Caller*>(waiter)->tag == tag) {
      callers_.Remove(*waiter);
      waiter->event = event;
      return Resume(*waiter);
    }
  }
  if (due_sends_ != nullptr && OnDueSend(event)) return;
  OnTimer(event);
}

void Context::OnExit(const actord_event* event) {
  for (detail::Waiter* waiter = exit_receivers_.front(); waiter != nullptr;
       waiter = exit_receivers_.After(*waiter)) {
    if (static_cast<detail::ExitReceiver*>(waiter)->Wants(event->tag)) {
      exit_receivers_.Remove(*waiter);
      waiter->event = event;
      return Resume(*waiter);
    }
  }
  detail::QueuedExit** last = &queued_exits_;
  while (*last != nullptr) last = &(*last)->next;
  *last = new detail::QueuedExit{Exit(Event(event))};
  ++queued_messages_;
  queued_bytes_ += (*last)->exit.payload.bytes.size();
}

inline detail::QueuedExit** Context::FindExit(
    const detail::ExitReceiver& receiver) {
  detail::QueuedExit** link = &queued_exits_;
  while (*link != nullptr && !receiver.Wants((*link)->exit.monitor)) {
    link = &(*link)->next;
  }
  return link;
}

inline Exit Context::DequeueExit(const detail::ExitReceiver& receiver) {
  return DequeueExit(FindExit(receiver));
}

inline Exit Context::DequeueExit(detail::QueuedExit** link) {
  const std::unique_ptr<detail::QueuedExit> queued(*link);
  *link = queued->next;
  --queued_messages_;
  queued_bytes_ -= queued->exit.payload.bytes.size();
  return std::move(queued->exit);
}

inline void Context::Demonitor(Tag monitor) {
  if (step_ == nullptr) return;
  out().Demonitor(monitor);
  detail::ExitReceiver receiver;
  receiver.any = false;
  receiver.monitor = monitor;
  if (*FindExit(receiver) != nullptr) DequeueExit(receiver);
}

inline void Context::Unlink(const Pid& pid) {
  if (step_ == nullptr) return;
  out().Unlink(pid);
  for (detail::QueuedExit** link = &queued_exits_; *link != nullptr;) {
    const Exit& exit = (*link)->exit;
    if (exit.monitor == 0 && exit.pid == pid) {
      DequeueExit(link);
    } else {
      link = &(*link)->next;
    }
  }
}

void Context::OnCancel(const Event& event) {
  if (cancelled()) return;
  cancel_reason_ = std::make_unique<std::string>(event.payload().bytes);
  cancel_due_ = true;
}

inline void Context::CancelAll() {
  cancel_due_ = false;
  // Includes waiters that are due but have not been resumed yet.
  for (detail::Waiter* waiter = ready_.front(); waiter != nullptr;
       waiter = ready_.After(*waiter)) {
    waiter->cancelled = true;
  }
  for (detail::WaiterList* list :
       {&receivers_, &callers_, &exit_receivers_, &sleepers_, &continuing_}) {
    while (detail::Waiter* waiter = list->PopFront()) {
      waiter->cancelled = true;
      ready_.PushBack(*waiter);
    }
  }
}

inline void Context::ContinueAs(OwnedPayload input, std::string method) {
  if (step_ == nullptr) return;
  out().Require(offsetof(actord_step_api, continue_as));
  next_life_ = std::make_unique<detail::NextLife>(
      detail::NextLife{std::move(input), std::move(method)});
}

void Context::GiveNextLife(StepOutput& out) const {
  std::vector<actord_event> events;
  events.reserve(queued_messages_);
  const detail::QueuedMessage* queued = last_queued_;
  while (queued != nullptr) {
    queued = queued->next;
    const Message& message = queued->message;
    events.push_back({.type = ACTORD_EVENT_MESSAGE,
                      .status = ACTORD_OK,
                      .tag = 0,
                      .from = message.from(),
                      .topic = detail::ToAbi(message.topic()),
                      .payload = message.payload().ToAbi(),
                      .call = message.call(),
                      .reason = 0,
                      .reserved = 0});
    if (queued == last_queued_) break;
  }
  for (const detail::QueuedExit* exits = queued_exits_; exits != nullptr;
       exits = exits->next) {
    const Exit& exit = exits->exit;
    events.push_back({.type = ACTORD_EVENT_EXIT,
                      .status = static_cast<int32_t>(exit.code),
                      .tag = exit.monitor,
                      .from = exit.pid,
                      .topic = {},
                      .payload = exit.payload.view().ToAbi(),
                      .call = 0,
                      .reason = static_cast<uint32_t>(exit.reason),
                      .reserved = 0});
  }
  std::vector<const actord_event*> unseen;
  unseen.reserve(events.size());
  for (const actord_event& event : events) unseen.push_back(&event);
  out.ContinueAs(next_life_->input, next_life_->method, unseen.data(),
                 unseen.size());
}

void Context::ResumeReady() {
  while (true) {
    if (cancel_due_ && shields_ == 0) CancelAll();
    detail::Waiter* const waiter = ready_.PopFront();
    if (waiter == nullptr) return;
    Resume(*waiter);
  }
}

void Context::Enqueue(const Event& event) {
  auto* const queued = new detail::QueuedMessage{Message(event)};
  if (last_queued_ == nullptr) {
    queued->next = queued;
  } else {
    queued->next = std::exchange(last_queued_->next, queued);
  }
  last_queued_ = queued;
  ++queued_messages_;
  queued_bytes_ += queued->message.bytes();
}

inline detail::QueuedMessage* Context::BeforeQueued(
    const detail::Receiver& receiver) const {
  detail::QueuedMessage* previous = last_queued_;
  do {
    if (receiver.Wants(previous->next->message.topic())) return previous;
    previous = previous->next;
  } while (previous != last_queued_);
  return nullptr;
}

inline Message Context::Dequeue(const detail::Receiver& receiver) {
  detail::QueuedMessage* const previous = BeforeQueued(receiver);
  const std::unique_ptr<detail::QueuedMessage> queued(previous->next);
  --queued_messages_;
  queued_bytes_ -= queued->message.bytes();
  previous->next = queued->next;
  if (queued.get() == last_queued_) {
    last_queued_ = queued.get() == previous ? nullptr : previous;
  }
  return std::move(queued->message);
}

inline const actord_event* Context::TakeNext(const detail::Receiver& receiver) {
  detail::EventCursor& events = events_;
  if (events.next == events.end || !receivers_.empty()) return nullptr;
  const Event event(*events.next);
  if (!event.is_message() || !receiver.Wants(event.topic())) return nullptr;
  return *events.next++;
}

inline void Context::AddSleeper(detail::Sleeper& sleeper) {
  const Time now = this->now();
  sleeper.deadline = sleeper.duration < Time::max() - now
                         ? now + sleeper.duration
                         : Time::max();
  detail::Waiter* later = sleepers_.front();
  while (later != nullptr &&
         static_cast<detail::Sleeper*>(later)->deadline <= sleeper.deadline) {
    later = sleepers_.After(*later);
  }
  sleepers_.InsertBefore(later, sleeper);
  if (timers_ == nullptr || sleeper.deadline < timers_->deadline) {
    Arm(sleeper.deadline, sleeper.duration);
  }
}

inline void Context::Arm(Time deadline, Duration duration) {
  // The timeout is infinite, not the daemon's default: only the sleep may end
  // this yield.
  const Tag tag =
      out().Yield(commands::Sleep(duration), {.timeout = Duration::max()});
  timers_ = new detail::Timer{tag, deadline, timers_};
}

void Context::OnTimer(const actord_event* event) {
  detail::Timer** link = &timers_;
  while (*link != nullptr && (*link)->tag != event->tag) {
    link = &(*link)->next;
  }
  if (*link == nullptr) return;
  const std::unique_ptr<detail::Timer> timer(*link);
  *link = timer->next;
  // The timer's deadline counts as reached even if the wall clock was set back
  // meanwhile, so that its sleepers do not sleep for their whole duration
  // again.
  const Time now = this->now();
  const Time reached = std::max(now, timer->deadline);
  while (detail::Waiter* const first = sleepers_.front()) {
    auto& sleeper = static_cast<detail::Sleeper&>(*first);
    if (sleeper.deadline > reached) {
      // None of the remaining timers covers this sleeper.
      if (timers_ == nullptr || sleeper.deadline < timers_->deadline) {
        Arm(sleeper.deadline,
            std::min(sleeper.deadline - now, sleeper.duration));
      }
      break;
    }
    sleepers_.Remove(sleeper);
    sleeper.event = event;
    ready_.PushBack(sleeper);
  }
}

}  // namespace actord
