// Decides how often a child is restarted, after which pause, and with which
// siblings.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "handlers/supervisor/supervisor_plan.h"

namespace actord::handlers {

std::string SupervisorPlan::Seconds(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s",
                std::chrono::duration<double>(duration).count());
  return text;
}

bool SupervisorPlan::CountRestart(Duration now) {
  memory_.window.push_back(now);
  while (now - memory_.window.front() > memory_.spec.period)
    memory_.window.pop_front();
  if (memory_.window.size() > static_cast<size_t>(memory_.spec.intensity))
    return false;
  ++memory_.restarts;
  return true;
}

Duration SupervisorPlan::PauseOf(const Child& child, uint64_t random) const {
  const Backoff& backoff = memory_.spec.backoff;
  // Floating point cannot overflow here, and the maximum, a day, is exact.
  const double full =
      std::min(static_cast<double>(backoff.max.count()),
               std::ldexp(static_cast<double>(backoff.initial.count()),
                          std::min(child.failures - 1, 64)));
  const double part = static_cast<double>(random >> 11) * 0x1.0p-53;
  return Duration(
      static_cast<Duration::rep>(full * (1 - backoff.jitter * part)));
}

void SupervisorPlan::TakeAlong(const Child& child) {
  if (memory_.spec.strategy == Strategy::kOneForOne) return;
  const Duration not_before = child.not_before;
  const size_t first =
      memory_.spec.strategy == Strategy::kRestForOne
          ? static_cast<size_t>(&child - memory_.children.data()) + 1
          : 0;
  for (size_t i = first; i < memory_.children.size(); ++i) {
    Child& other = memory_.children[i];
    if (&other == &child || other.held) continue;
    // A temporary child is not restarted, unless it has never been up.
    other.wanted = other.spec.restart != Restart::kTemporary || !other.was_up;
    other.not_before = std::max(other.not_before, not_before);
    other.stop = other.state != State::kDown;
    // A restart_child may have stopped the child, and may wait for its start.
    if (!other.wanted && !other.stop) {
      Answer(other, Status(Code::kAborted, "the child was stopped"));
    }
  }
  // Forgets temporary children that stay down. This may move `child`.
  std::erase_if(memory_.children, [](const Child& other) {
    return other.spec.restart == Restart::kTemporary &&
           other.state == State::kDown && !other.wanted && !other.held &&
           !other.stop;
  });
}

void SupervisorPlan::GiveUp(const Child& child) {
  const std::string name = "child " + child.spec.id + " (" + child.spec.type;
  const std::string text =
      child.late_in_row > memory_.spec.intensity
          ? name + ") did not start in time " +
                std::to_string(child.late_in_row) +
                " times in a row, and only " +
                std::to_string(memory_.spec.intensity) +
                " such starts are allowed; how it ended: " + child.last_end
          : name + ") would have to be restarted, and of " +
                Seconds(memory_.spec.period) + " only " +
                std::to_string(memory_.spec.intensity) +
                " restarts are allowed; how it ended: " + child.last_end;
  Action report;
  report.status = Status(Code::kAborted, "");
  report.text = "gives up: " + text;
  actions_.push_back(std::move(report));
  End(Status(Code::kAborted, text));
}

}  // namespace actord::handlers
