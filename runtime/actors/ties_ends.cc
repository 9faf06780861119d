// Tells an end to its watchers, and matches the events that the watchers find.
#include <actord/linked_failure.h>
#include <actord/text.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/actors/ties.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

template <typename Header>
std::string_view BytesOf(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

}  // namespace

Ties::Ended Ties::Refused(const Pid& pid, uint32_t reason,
                          absl::StatusCode code, std::string&& message) {
  Cause cause{pid, 1,
              detail::CutCause(absl::StrCat("could not be: ", message))};
  return {pid, reason, code, nullptr, std::move(message), std::move(cause)};
}

Ties::Ended Ties::NoProcess(const Pid& pid) {
  return Refused(pid, ACTORD_EXIT_NO_PROCESS, absl::StatusCode::kNotFound,
                 absl::StrCat("there is no process ", FormatPid(pid),
                              ", or it had ended before"));
}

Ties::Ended Ties::NoRoom(const Pid& pid) {
  return Refused(pid, ACTORD_EXIT_NO_ROOM, absl::StatusCode::kResourceExhausted,
                 absl::StrCat("process ", FormatPid(pid), " has ",
                              kMaxOfProcess, " watches, which is the limit"));
}

uint32_t Ties::FireLink(Sides& sides, const Pid& ended) {
  auto link = sides.watchers.extract({ended, 0});
  if (link.empty()) return 0;
  const uint32_t end = ++sides.ends;
  link.value().tag = end;
  sides.fired_links.insert(std::move(link));
  return end;
}

std::optional<uint32_t> Ties::Fire(const Watcher& watcher, const Pid& ended) {
  Shard& shard = ShardOf(watcher.pid);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(watcher.pid);
  if (it == shard.sides.end()) return std::nullopt;
  Sides& sides = it->second;
  if (watcher.tag == 0) {
    const uint32_t end = FireLink(sides, ended);
    return end == 0 ? std::nullopt : std::optional(end);
  }
  auto monitor = sides.monitors.extract(watcher.tag);
  if (monitor.empty()) return std::nullopt;
  sides.fired_monitors.insert(std::move(monitor));
  return 0;
}

bool Ties::TakeExit(const Pid& self, const Envelope& exit) {
  const auto header = exit.ReadHeader<ExitHeader>();
  Shard& shard = ShardOf(self);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(self);
  if (it == shard.sides.end()) return false;
  Sides& sides = it->second;
  --sides.places;
  const uint64_t monitor = exit.completion.tag;
  const size_t fired =
      monitor != 0
          ? sides.fired_monitors.erase(monitor)
          : sides.fired_links.erase({FromAbi(header.from), header.end});
  Tidy(shard, self);
  return fired != 0;
}

std::optional<std::string> Ties::TakeLinkedEnd(const Pid& self,
                                               const Envelope& end) {
  const auto header = end.ReadHeader<LinkedEndHeader>();
  Shard& shard = ShardOf(self);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(self);
  if (it == shard.sides.end()) return std::nullopt;
  Sides& sides = it->second;
  const Pid linked = FromAbi(header.from);
  if (sides.fired_links.erase({linked, header.end}) == 0) {
    --sides.places;
    Tidy(shard, self);
    return std::nullopt;
  }
  // The place is kept, because the process ends and loses all its places.
  const Pid first = FromAbi(header.first);
  std::string what(View(end.payload().bytes));
  std::string text = detail::LinkedFailureText(
      FormatPid(linked), {FormatPid(first), header.links, what});
  sides.cause = std::make_unique<const Cause>(
      Cause{first, header.links, std::move(what)});
  sides.linked = linked;
  return text;
}

std::optional<Ties::EndingLink> Ties::EndingLinkOf(const Pid& self) const {
  const Shard& shard = ShardOf(self);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(self);
  if (it == shard.sides.end() || it->second.cause == nullptr) {
    return std::nullopt;
  }
  return EndingLink{it->second.linked, it->second.cause->first};
}

void Ties::Forget(const Pid& pid, const Watcher& fired_link) {
  Shard& shard = ShardOf(pid);
  const MutexLock lock(shard.mutex);
  const auto it = shard.sides.find(pid);
  if (it == shard.sides.end()) return;  // the process has ended
  it->second.fired_links.erase(fired_link);
  --it->second.places;
  Tidy(shard, pid);
}

void Ties::FireStored(const Pid& self, uint64_t tag, const Pid& other,
                      uint32_t reason, absl::StatusCode code,
                      const Payload& result, std::string message, Lane& lane) {
  Mark(self, Owner::kAny);
  uint32_t end = 0;
  {
    Shard& shard = ShardOf(self);
    const MutexLock lock(shard.mutex);
    Sides& sides = shard.sides[self];
    ++sides.places;
    if (tag != 0) {
      sides.fired_monitors.emplace(tag, other);
    } else {
      sides.watchers.insert({other, 0});
      end = FireLink(sides, other);
    }
  }
  Cause cause{other, 1,
              detail::CutCause(absl::StrCat("has failed: ", message))};
  Tell({self, tag}, end,
       {other, reason, code, &result, std::move(message), std::move(cause)},
       lane);
}

void Ties::OnEnd(const EndRecord& end_record, Lane& lane) {
  const Pid& pid = end_record.pid;
  const Outcome& outcome = *end_record.outcome;
  Sides sides;
  {
    Shard& shard = ShardOf(pid);
    const MutexLock lock(shard.mutex);
    const auto it = shard.sides.find(pid);
    if (it == shard.sides.end()) return;
    sides = std::move(it->second);
    shard.sides.erase(it);
  }
  FailPoint();
  for (const auto& [tag, watched] : sides.monitors) {
    Shard& shard = ShardOf(watched);
    const MutexLock lock(shard.mutex);
    const auto it = shard.sides.find(watched);
    if (it == shard.sides.end()) continue;
    it->second.watchers.erase({pid, tag});
    Tidy(shard, watched);
  }
  if (sides.watchers.empty()) return;
  Ended ended{pid,
              rules::ExitReasonOf(outcome.kind),
              outcome.code,
              &outcome.result,
              outcome.message,
              {}};
  if (sides.cause == nullptr) {
    ended.cause = {
        pid, 1,
        detail::CutCause(absl::StrCat("has failed: ", outcome.message))};
  } else {
    ended.cause = *sides.cause;
    ++ended.cause.links;
  }
  for (const Watcher& watcher : sides.watchers) {
    if (const auto end = Fire(watcher, pid)) {
      FailPoint();
      Tell(watcher, *end, ended, lane);
    }
  }
}

void Ties::Tell(const Watcher& watcher, uint32_t end, const Ended& ended,
                Lane& lane) {
  const ProcessType* type = nullptr;
  for (;;) {
    const FoundProcess process = processes_.Find(watcher.pid);
    if (!process) return;
    type = process->type.load(std::memory_order_acquire);
    // A durable process may have become dormant, and its slot may have another
    // process.
    if (!IsHomePid(watcher.pid) || process.IsStill()) break;
  }
  const bool traps = type != nullptr && rules::TrapsExits(*type->descriptor);
  switch (rules::TieEndOf(watcher.tag != 0, traps, ended.reason)) {
    case rules::TieEnd::kTells:
      return SendExit(watcher, end, ended, lane);
    case rules::TieEnd::kForgets:
      return Forget(watcher.pid, {ended.pid, end});
    case rules::TieEnd::kEnds:
      return EndLinked(watcher.pid, end, ended, lane);
  }
}

void Ties::SendExit(const Watcher& watcher, uint32_t end, const Ended& ended,
                    Lane& lane) {
  ExitHeader header;
  header.from = ToAbi(ended.pid);
  header.reason = ended.reason;
  header.end = end;
  const auto exit = [&](const actord_payload& payload, int32_t status) {
    Envelope* const envelope =
        lane.NewEnvelope(ACTORD_EVENT_EXIT, BytesOf(header), payload);
    envelope->completion.tag = watcher.tag;
    envelope->completion.status = status;
    return Run(Run::Kind::kExit, envelope, Owner::kAny);
  };
  const std::string_view text = CutUtf8(ended.message, kMaxErrorTextBytes);
  Run run = exit(rules::CarriesResult(ended.reason) ? ToAbi(*ended.result)
                                                    : TextPayload(text),
                 static_cast<int32_t>(ended.code));
  if (delivery_.Post(watcher.pid, run, lane) == Posted::kMailboxFull) {
    lane.Free(run.first);
    const std::string why =
        absl::StrCat("its result of ", ended.result->bytes.size(),
                     " bytes finds no room in the mailbox");
    run = exit(TextPayload(why), ACTORD_RESOURCE_EXHAUSTED);
    delivery_.Post(watcher.pid, run, lane);
  }
  if (run.first != nullptr)
    lane.Free(run.first);  // the watcher has ended meanwhile
}

void Ties::EndLinked(const Pid& pid, uint32_t end, const Ended& ended,
                     Lane& lane) {
  LinkedEndHeader header;
  header.from = ToAbi(ended.pid);
  header.first = ToAbi(ended.cause.first);
  header.links = ended.cause.links;
  header.end = end;
  Run run(Run::Kind::kLinkedEnd,
          lane.NewEnvelope(kEventLinkedEnd, BytesOf(header),
                           TextPayload(ended.cause.what)),
          Owner::kAny);
  if (delivery_.Post(pid, run, lane) != Posted::kDelivered) {
    lane.Free(run.first);
  }
}

}  // namespace actord::runtime
