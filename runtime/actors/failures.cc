#include "runtime/actors/failures.h"

#include <actord/text.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/delivery/traced_events.h"
#include "runtime/process/process_info.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// The newest steps of a recorded process, within kMaxStepBytes, so that a few
// failures with many steps do not push all others out.
std::vector<NotedStep> Newest(std::vector<NotedStep> steps) {
  size_t bytes = 0;
  auto first = steps.end();
  while (first != steps.begin()) {
    bytes += std::prev(first)->ChargeBytes();
    if (bytes > Failures::kMaxStepBytes) break;
    --first;
  }
  steps.erase(steps.begin(), first);
  return steps;
}

}  // namespace

void Failures::Add(const Process& process, const Pid& pid,
                   const EndCause& cause, std::vector<NotedStep> last_steps,
                   const StepLines& lines) {
  ACTORD_ASSERT(IsFailure(cause.kind), "failures.h: the process has failed");
  const auto made = std::make_shared<ProcessFailure>();
  ProcessFailure& failure = *made;
  failure.pid = pid;
  failure.parent = process.parent.Load();
  failure.owner = process.owner.load(std::memory_order_relaxed);
  if (const ProcessType* type = process.type.load(std::memory_order_relaxed)) {
    failure.process_type = type->name;
  }
  const uint8_t wanted = process.wanted.load(std::memory_order_relaxed);
  if ((wanted & Wanted::kNamed) != 0) {
    failure.name = names_.NameOf(pid).value_or(std::string());
  }
  if ((wanted & Wanted::kWatched) != 0) {
    if (const auto link = ties_.EndingLinkOf(pid)) {
      failure.linked = link->linked;
      failure.first_cause = link->first;
    }
  }
  if (const TraceContext* const trace = StepTrace::Of(TracedProcessOf(pid))) {
    failure.trace_id = TraceIdText(*trace);
  }
  failure.kind = cause.kind;
  failure.code = cause.code;
  failure.message = CutUtf8(cause.message, kMaxMessageBytes);
  failure.steps = process.steps.load(std::memory_order_relaxed);
  failure.started_unix_ns =
      process.started_unix_ns.load(std::memory_order_relaxed);
  failure.ended_unix_ns = clock_.UnixNs();
  failure.last_steps = Newest(std::move(last_steps));
  const size_t max_count = limits_.failure_max_count();
  const size_t max_bytes = limits_.failure_max_bytes();
  if (ChargeOf(failure) > max_bytes) failure.last_steps.clear();
  const size_t charge = ChargeOf(failure);
  std::vector<Kept> dropped;
  {
    const MutexLock lock(mutex_);
    CountType(failure.process_type);
    if (max_count != 0 && charge <= max_bytes) {
      Forget(max_count - 1, max_bytes - charge, dropped);
      failure.id = End();
      kept_.push_back(made);
      ids_.emplace(pid, failure.id);
      bytes_ += charge;
    }
  }
  if (told_ != nullptr) told_(failure, lines);
}

void Failures::CountType(const std::string& type) {
  const auto it = of_types_.find(type);
  const bool is_counted =
      !type.empty() &&
      (it != of_types_.end() || of_types_.size() < kMaxCountedTypes);
  ++of_types_[is_counted ? type : kOtherTypes];
}

std::map<std::string, uint64_t> Failures::CountsByType() const {
  const MutexLock lock(mutex_);
  return of_types_;
}

size_t Failures::ChargeOf(const ProcessFailure& failure) {
  // Overhead of the deque, of the map, and of the blocks of the heap.
  constexpr size_t kOverheadBytes = 96;
  size_t bytes = sizeof(ProcessFailure) + failure.process_type.size() +
                 failure.name.size() + failure.message.size() +
                 failure.trace_id.size() + kOverheadBytes;
  for (const NotedStep& step : failure.last_steps) bytes += step.ChargeBytes();
  return bytes;
}

void Failures::Forget(size_t max_count, size_t max_bytes,
                      std::vector<Kept>& dropped) {
  while (!kept_.empty() && (kept_.size() > max_count || bytes_ > max_bytes)) {
    const size_t charge = ChargeOf(*kept_.front());
    ACTORD_ASSERT(charge <= bytes_, "failures.h: what is dropped was counted");
    bytes_ -= charge;
    ids_.erase(kept_.front()->pid);
    dropped.push_back(std::move(kept_.front()));
    kept_.pop_front();
    ++first_;
  }
}

void Failures::Trim() {
  std::vector<Kept> dropped;
  const MutexLock lock(mutex_);
  const bool keeps = limits_.failure_max_count() != 0;
  Forget(limits_.failure_max_count(), keeps ? limits_.failure_max_bytes() : 0,
         dropped);
}

std::shared_ptr<const ProcessFailure> Failures::Find(const Pid& pid,
                                                     Owner by) const {
  const MutexLock lock(mutex_);
  const auto it = ids_.find(pid);
  if (it == ids_.end()) return nullptr;
  ACTORD_ASSERT(it->second - first_ < kept_.size(),
                "failures.h: a failure that is found is kept");
  const Kept& failure = kept_[it->second - first_];
  return Sees(by, failure->owner) ? failure : nullptr;
}

bool Failures::Matches(const FailureQuery& query,
                       const ProcessFailure& failure) {
  return Sees(query.by, failure.owner) && failure.id > query.after &&
         (query.process_type.empty() ||
          query.process_type == failure.process_type) &&
         (query.pid.empty() || query.pid == failure.pid) &&
         failure.ended_unix_ns >= query.since_unix_ns;
}

bool Failures::ListSome(const FailureQuery& query, uint64_t& at,
                        FailurePage& page) const {
  const MutexLock lock(mutex_);
  for (size_t looked = 0; looked < kLookedAtOnce; ++looked) {
    if (query.newest_first) {
      at = std::min(at, End() - 1);
    } else {
      at = std::max(at, first_);
    }
    if (at < first_ || at >= End()) return false;
    const Kept& failure = kept_[at - first_];
    if (Matches(query, *failure)) {
      if (page.failures.size() == query.page_size) {
        page.next = at;
        return false;
      }
      page.failures.push_back(failure);
    }
    at = query.newest_first ? at - 1 : at + 1;
  }
  return true;
}

FailurePage Failures::List(const FailureQuery& query) const {
  FailurePage page;
  uint64_t at = query.first;
  if (at == 0 && query.newest_first) at = UINT64_MAX;
  for (size_t looked = 0; looked < kMaxLookedAt; looked += kLookedAtOnce) {
    if (!ListSome(query, at, page)) return page;
  }
  page.next = at;
  return page;
}

}  // namespace actord::runtime
