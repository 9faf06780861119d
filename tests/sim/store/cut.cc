#include "tests/sim/store/cut.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/memory/buffer_pool.h"
#include "runtime/records/state_image.h"
#include "runtime/step/record_format.h"

namespace actord::sim {

using runtime::MailKind;
using runtime::Pid;
using runtime::StoredProcess;

namespace {

absl::Status Strange(const Pid& pid, const char* what) {
  return absl::InternalError("the store has " + FormatPid(pid) + " with " +
                             what);
}

Entry CameOf(const Errand& errand, const Pid& from) {
  return {.kind = Entry::kCame,
          .code = static_cast<uint32_t>(errand.client),
          .peer = from,
          .number = errand.number,
          .value = static_cast<uint64_t>(errand.amount)};
}

// Messages that a former life has handed on wait before the mailbox.
absl::Status AddUnseen(const StoredProcess& stored, Cut::Process& process) {
  runtime::BufferPool pool;
  runtime::BufferCache buffers(pool);
  runtime::DecodedRecord unseen;
  absl::Status status =
      runtime::DecodeTurn(stored.entry.unseen, buffers, unseen);
  if (!status.ok() || stored.entry.unseen_left > unseen.events.size()) {
    return Strange(stored.pid, "unseen events that are none");
  }
  for (size_t i = unseen.events.size() - stored.entry.unseen_left;
       i < unseen.events.size(); ++i) {
    const actord_event& event = unseen.events[i];
    Errand errand;
    if (event.type != ACTORD_EVENT_MESSAGE ||
        !ReadValue(runtime::View(event.payload.bytes), errand)) {
      continue;  // an exit, or another call
    }
    process.mail.push_back(CameOf(errand, runtime::FromAbi(event.from)));
  }
  return absl::OkStatus();
}

bool SameHistory(const std::vector<runtime::StepOfHistory>& a,
                 const std::vector<runtime::StepOfHistory>& b) {
  const auto bytes_of = [](const runtime::StepOfHistory& step) {
    return runtime::ValueOf(runtime::HistoryEntry{
        .step = runtime::ValueOf(step.step), .consumed = step.consumed});
  };
  return std::ranges::equal(a, b, {}, bytes_of, bytes_of);
}

absl::Status AddLiving(runtime::DurableStore& store, StoredProcess&& stored,
                       Cut& cut) {
  Cut::Process& process = cut.processes[stored.pid];
  const bool is_image =
      stored.entry.durability == runtime::records::Durability::kImage;
  process.is_replayed = !is_image;
  process.is_started = stored.entry.started;
  process.plugin = stored.entry.plugin;
  process.is_cancelled = stored.entry.runtime.cancel_requested;
  if (stored.WaitsForMessages()) {
    // Both ways to read a process must agree: at a start, and alone.
    const absl::StatusOr<StoredProcess> alone =
        store.ReadProcess(stored.pid, runtime::DurableStore::WithState);
    if (!alone.ok()) return alone.status();
    if (alone->image != stored.image ||
        !SameHistory(alone->history, stored.history)) {
      return Strange(stored.pid, "two images or two histories");
    }
  }
  if (!stored.entry.started) {
    // Init has not run, or runs again.
    const std::string& input = stored.entry.input.bytes;
    Diary& diary = process.diary.emplace();
    if (!Diary::Decode(input, diary)) {
      diary = {};
      Entry begun{.kind = Entry::kBegun};
      static_cast<void>(ReadValue(input, begun.number));
      diary.Add(begun);
    }
  } else if (is_image) {
    runtime::StateImage image;
    if (!stored.image || !runtime::DecodeFields(*stored.image, image).ok() ||
        !Diary::Decode(image.state.bytes, process.diary.emplace())) {
      return Strange(stored.pid, "an image that is none");
    }
  }
  absl::Status status = AddUnseen(stored, process);
  if (!status.ok()) return status;
  for (const StoredProcess::Event& event : stored.mailbox) {
    switch (event.mail.kind) {
      case MailKind::kMessage: {
        Errand errand;
        if (!ReadValue(event.mail.body->payload.bytes, errand)) {
          return Strange(stored.pid, "a message that is none");
        }
        process.mail.push_back(CameOf(errand, event.mail.from));
        break;
      }
      case MailKind::kCompletion:
        process.completions.insert(event.mail.tag);
        break;
      case MailKind::kCancel:
        process.is_cancelled = true;
        break;
      default:
        break;
    }
  }
  for (const runtime::records::YieldImage& yield :
       stored.entry.runtime.yields) {
    // The answer to a call waits in the mailbox.
    if (yield.answer == 0) process.yields.insert(yield.tag);
  }
  for (const StoredProcess::Exit& exit : stored.exits) {
    process.exits.insert(exit.tag);
  }
  return absl::OkStatus();
}

}  // namespace

const Diary* Cut::DiaryOf(const Pid& pid) const {
  const auto found = processes.find(pid);
  return found == processes.end() || !found->second.diary
             ? nullptr
             : &*found->second.diary;
}

std::vector<Entry> Cut::Came(const Process& process) {
  std::vector<Entry> came;
  for (const Entry& entry : process.diary->entries) {
    if (entry.kind == Entry::kCame) came.push_back(entry);
  }
  came.insert(came.end(), process.mail.begin(), process.mail.end());
  return came;
}

absl::StatusOr<Cut> Cut::Of(runtime::OpenedStore& store) {
  Cut cut;
  cut.is_of_store = true;
  absl::Status status = store.ForEachProcess(
      runtime::DurableStore::WithState, [&](StoredProcess&& stored) {
        return AddLiving(store, std::move(stored), cut);
      });
  std::set<uint32_t> plugins;
  status.Update(store.ForEachPlugin([&](runtime::records::Plugin&& plugin) {
    plugins.insert(plugin.number);
  }));
  absl::Status strange;
  for (const auto& [pid, process] : cut.processes) {
    if (process.is_started && !plugins.contains(process.plugin)) {
      strange = Strange(pid, "a plugin that it does not know");
    }
  }
  status.Update(store.ForEachOutcome(
      [&](const Pid& pid, runtime::OutcomeEntry&& outcome) {
        Process& process = cut.processes[pid];
        process.has_ended = true;
        process.end = static_cast<runtime::EndKind>(outcome.end.reason);
        process.was_refused =
            outcome.end.reason == runtime::records::EndReason::kInitRefused;
        if (outcome.end.reason != runtime::records::EndReason::kResult) return;
        if (!Diary::Decode(outcome.end.result.bytes, process.diary.emplace())) {
          strange = Strange(pid, "a result that is no diary");
        }
      }));
  status.Update(strange);
  status.Update(
      store.ForEachLetter([&](uint64_t /*position*/, runtime::Letter&& letter) {
        Errand errand;
        const auto found = cut.processes.find(letter.to);
        if (found == cut.processes.end() || !letter.mail.body ||
            !ReadValue(letter.mail.body->payload.bytes, errand)) {
          return;  // to the witness, or a call
        }
        found->second.letters.push_back(CameOf(errand, letter.mail.from));
      }));
  if (!status.ok()) return status;
  return cut;
}

}  // namespace actord::sim
