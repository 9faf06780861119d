#include "daemon/streams/watch_stream.h"

#include <utility>

#include "daemon/wire/proto_responses.h"
#include "daemon/wire/rpc_message.h"

namespace actord::daemon {

using runtime::LifecycleLog;

absl::Status WatchStream::Open(WatchOrder order, std::string named_parent) {
  const absl::MutexLock lock(&mutex_);
  order_ = std::move(order);
  named_parent_ = std::move(named_parent);
  // The log records every event from now on, before the walk begins.
  const absl::StatusOr<LifecycleLog::ReaderId> reader =
      log_.Open(std::static_pointer_cast<WatchStream>(shared_from_this()));
  if (!reader.ok()) return reader.status();
  reader_ = *reader;
  place_.cursor = log_.end();
  if (order_.resumes) {
    place_ = *order_.resumes;
    // Without the events since the token, the pages that were sent before are
    // useless.
    if (!log_.Holds(place_.cursor)) place_.slot.reset();
  } else if (!order_.resumes_other_run) {
    place_.slot = 0;
  }
  if (order_.skip_snapshot) place_.slot.reset();
  missed_other_run_ = order_.resumes_other_run;
  greets_ = !place_.slot.has_value() && !missed_other_run_;
  return absl::OkStatus();
}

void WatchStream::Wake() { Continue(); }

void WatchStream::OnEnded() {
  if (reader_ != 0) log_.Close(reader_);
}

bool WatchStream::TakeOutput() {
  outgoing_.Clear();
  if (!TakeUpdate()) return false;
  told_cursor_ = place_.cursor;
  outgoing_.set_resume_token(
      MakeResumeToken(runtime_.options().incarnation, order_.scope, place_));
  outgoing_.set_parent_pid(std::exchange(named_parent_, {}));
  return true;
}

bool WatchStream::TakeUpdate() {
  if (std::exchange(greets_, false)) return true;
  if (std::exchange(missed_other_run_, false)) {
    TakeMissed(0, place_.cursor);
    return true;
  }
  if (!place_.slot) return TakeEvents();
  if (IsBehind()) {
    if (TakeEvents()) return true;
    // None of the events was for this client.
    caught_up_to_.reset();
  }
  TakePage();
  return true;
}

bool WatchStream::IsBehind() {
  // Before the first page, the client has no page that could become stale.
  if (*place_.slot == 0) return false;
  if (!caught_up_to_) caught_up_to_ = log_.end();
  if (place_.cursor < *caught_up_to_ || !log_.Holds(place_.cursor)) return true;
  caught_up_to_.reset();
  return false;
}

void WatchStream::TakeMissed(uint64_t count, uint64_t cursor) {
  outgoing_.mutable_missed()->set_count(count);
  log_.CountMissed(count);
  place_.cursor = cursor;
  caught_up_to_.reset();
  if (!order_.skip_snapshot) place_.slot = 0;
}

void WatchStream::TakePage() {
  const runtime::ProcessPage page =
      runtime_.ListProcesses(order_.filter, *place_.slot, kPageProcesses);
  v1::ProcessSnapshot& snapshot = *outgoing_.mutable_snapshot();
  snapshot.set_first(*place_.slot == 0);
  uint32_t next_slot = page.next_slot;
  size_t bytes = 0;
  for (const runtime::ProcessInfo& info : page.processes) {
    v1::Process* process = snapshot.add_processes();
    WriteProcess(info, process);
    owner_labels_.Write(info.owner, process);
    bytes += process->ByteSizeLong();
    if (bytes > kPageBytes && snapshot.processes_size() > 1) {
      // The next page begins with this process.
      snapshot.mutable_processes()->RemoveLast();
      next_slot = info.place;
      break;
    }
  }
  if (next_slot != 0) {
    place_.slot = next_slot;
  } else {
    place_.slot.reset();
    snapshot.set_last(true);
  }
}

bool WatchStream::TakeEvents() {
  const LifecycleLog::Reading reading =
      log_.Read(reader_, place_.cursor, order_.filter, {});
  if (reading.lost) {
    // A snapshot will contain the effect of the remaining events.
    const uint64_t cursor = order_.skip_snapshot ? reading.oldest : reading.end;
    TakeMissed(reading.known ? cursor - place_.cursor : 0, cursor);
    return true;
  }
  place_.cursor = reading.next;
  for (const runtime::LifecycleEvent& event : reading.events) {
    v1::ProcessEvent* const proto = outgoing_.mutable_events()->add_events();
    WriteEvent(event, proto);
    if (proto->has_started()) {
      owner_labels_.Write(event.owner, proto->mutable_started());
    } else {
      owner_labels_.Write(event.owner, proto->mutable_ended());
    }
  }
  if (!reading.events.empty()) return true;
  // No event was for this client. The stream sends only a token in two cases:
  // the log has more events to read, or the cursor has moved by an eighth of
  // the log's limit since the last token. An older token could be lost from the
  // log when the client needs it.
  const uint64_t told_again = runtime_.limits().watch_max_events() / 8 + 1;
  return !reading.waits || place_.cursor - told_cursor_ >= told_again;
}

absl::Status WatchStream::WriteOutput(grpc::ByteBuffer* bytes) {
  absl::Status status = WriteMessage(outgoing_, bytes);
  // An idle stream holds no page.
  outgoing_ = {};
  return status;
}

}  // namespace actord::daemon
