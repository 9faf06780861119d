// actord/context_sends.h: publications and lines of the log of a coroutine
// process, and messages that it sends later.
// Included by context.h; authors of plugins do not need it.
//
// Each message that is sent later has a timer of the daemon. When the timer
// completes, the message is sent. Every then sets the next timer, one period
// after the due time of the last one.
//
// Thread-safety: belongs to its process. Ownership: as in context.h.
#pragma once

#include <actord/commands.h>
#include <actord/context.h>
#include <actord/result.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace actord {
namespace detail {

// The sum of `a`, which is not negative, and max(b, 0), saturated at the
// longest Duration.
inline Duration SumOf(Duration a, Duration b) {
  const Duration later = std::max(b, Duration::zero());
  return later < Duration::max() - a ? a + later : Duration::max();
}

}  // namespace detail

inline Duration Context::Clock() const {
  const StepOutput now = out();
  return now.Has(offsetof(actord_step_api, monotonic_ns))
             ? now.monotonic_now()
             : now.now().time_since_epoch();
}

inline void Context::Publish(std::string_view topic, const Payload& payload) {
  if (step_ != nullptr) out().Publish(topic, payload);
}

inline void Context::Log(LogLevel level, std::string_view text) {
  if (step_ != nullptr) out().Log(level, text);
}

inline Tag Context::SendAfter(Duration duration, const Pid& to,
                              std::string topic, OwnedPayload payload) {
  return AddDueSend(duration, Duration::zero(), to, std::move(topic),
                    std::move(payload));
}

inline Tag Context::Every(Duration period, const Pid& to, std::string topic,
                          OwnedPayload payload) {
  const Duration beat =
      std::max<Duration>(period, std::chrono::milliseconds(1));
  return AddDueSend(beat, beat, to, std::move(topic), std::move(payload));
}

inline Tag Context::AddDueSend(Duration delay, Duration period, const Pid& to,
                               std::string topic, OwnedPayload payload) {
  if (step_ == nullptr) return 0;
  const Tag tag =
      out().Yield(commands::Sleep(delay), {.timeout = Duration::max()});
  due_sends_ = new detail::DueSend{tag,
                                   tag,
                                   detail::SumOf(Clock(), delay),
                                   period,
                                   to,
                                   std::move(topic),
                                   std::move(payload),
                                   due_sends_};
  return tag;
}

inline void Context::CancelSend(Tag id) {
  detail::DueSend** link = &due_sends_;
  while (*link != nullptr && (*link)->id != id) link = &(*link)->next;
  if (*link == nullptr) return;
  const std::unique_ptr<detail::DueSend> send(*link);
  *link = send->next;
  GiveUp(send->tag);
}

bool Context::OnDueSend(const actord_event* event) {
  detail::DueSend** link = &due_sends_;
  while (*link != nullptr && (*link)->tag != event->tag) link = &(*link)->next;
  if (*link == nullptr) return false;
  detail::DueSend& send = **link;
  if (const Error error = Event(event).error()) throw Failure(Status(error));
  out().Send(send.to, send.topic, send.payload);
  if (send.period == Duration::zero()) {
    const std::unique_ptr<detail::DueSend> sent(&send);
    *link = sent->next;
    return true;
  }
  const Duration now = Clock();
  send.due = detail::SumOf(send.due, send.period);
  if (send.due <= now) {
    send.due += ((now - send.due) / send.period + 1) * send.period;
  }
  send.tag =
      out().Yield(commands::Sleep(std::max(send.due - now, Duration::zero())),
                  {.timeout = Duration::max()});
  return true;
}

}  // namespace actord
