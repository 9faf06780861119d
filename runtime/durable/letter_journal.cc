#include "runtime/durable/letter_journal.h"

#include <algorithm>
#include <utility>

#include "runtime/delivery/logged_events.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

// Maximum number of letters in one record.
constexpr size_t kPerRecord = 1000;
// Maximum number of messages in one INPUT.
constexpr size_t kMessagesPerRecord = 64;
// The memory of a message beside its text. Unit: bytes.
constexpr size_t kMessageOverheadBytes = 64;

size_t BytesOf(const Envelope& message) {
  return message.topic_bytes + message.payload_bytes +
         message.payload().content_type.size + kMessageOverheadBytes;
}

records::Body MessageOf(const Envelope& message) {
  return {.from = FromAbi(message.from),
          .topic = std::string(message.topic()),
          .payload = FromAbi(message.payload())};
}

}  // namespace

std::vector<const Envelope*> LetterJournal::WithoutNoted(
    std::span<const Envelope* const> messages) {
  std::vector<const Envelope*> others;
  const MutexLock lock(mutex_);
  for (const Envelope* const message : messages) {
    if (!noted_.contains(message)) others.push_back(message);
  }
  return others;
}

void LetterJournal::KeepBeforeEnd(const Pid& to, Owner owner,
                                  std::span<const Envelope* const> all) {
  // A step that ends its process has written them, and then the record of the
  // step was too large, so the process ends in another way.
  const std::vector<const Envelope*> unwritten = WithoutNoted(all);
  std::span<const Envelope* const> messages = unwritten;
  const size_t max_bytes = durable_.store().journal().max_record_bytes() / 2;
  while (!messages.empty()) {
    records::Input input{.to = to,
                         .kind = records::InputKind::kMessages,
                         .owner = owner,
                         .at_ns = durable_.NowNs()};
    size_t bytes = 0;
    for (const Envelope* const message : messages) {
      bytes += BytesOf(*message);
      // A message that is too large for a record is alone.
      if (!input.messages.empty() &&
          (bytes > max_bytes || input.messages.size() == kMessagesPerRecord)) {
        break;
      }
      input.messages.push_back(MessageOf(*message));
    }
    const std::span<const Envelope* const> written =
        messages.first(input.messages.size());
    messages = messages.subspan(written.size());
    // Without a record a message is a letter in memory alone.
    const absl::StatusOr<uint64_t> at = durable_.Append(input);
    if (!at.ok()) continue;
    for (size_t i = 0; i < written.size(); ++i) Note(*written[i], *at + i);
  }
}

void LetterJournal::Note(const Envelope& message, uint64_t position) {
  const MutexLock lock(mutex_);
  noted_[&message] = position;
}

absl::Status LetterJournal::Forget(const std::vector<uint64_t>& positions) {
  for (size_t i = 0; i < positions.size(); i += kPerRecord) {
    records::Forgotten record;
    const size_t end = std::min(i + kPerRecord, positions.size());
    for (size_t j = i; j < end; ++j) {
      record.letters.list.push_back({.lsn = positions[j]});
    }
    const absl::StatusOr<uint64_t> at = durable_.Append(record);
    if (!at.ok()) return at.status();
  }
  return absl::OkStatus();
}

uint64_t LetterJournal::Keep(const Envelope& message, const Pid& to,
                             Owner owner) {
  // The record would be a message for a process that lives.
  if (!IsHomePid(to) || processes_.Lives(to)) return 0;
  {
    const MutexLock lock(mutex_);
    const auto noted = noted_.find(&message);
    if (noted != noted_.end()) {
      const uint64_t position = noted->second;
      noted_.erase(noted);
      return position;
    }
  }
  records::Input input{.to = to,
                       .kind = records::InputKind::kMessages,
                       .owner = owner,
                       .at_ns = durable_.NowNs()};
  input.messages.push_back(MessageOf(message));
  const absl::StatusOr<uint64_t> at = durable_.Append(input);
  if (!at.ok()) return 0;
  // The message is a letter already, because its receiver has ended.
  durable_
      .Append(records::Dropped{.to = to,
                               .positions = {{{.lsn = *at}}},
                               .reason = records::DropReason::kDroppedAtEnd,
                               .owner = owner})
      .IgnoreError();
  return *at;
}

absl::Status LetterJournal::Resend(Owner by, const Pid& to,
                                   const Envelope& message,
                                   uint64_t& position) {
  if (IsHomePid(to)) return ResendToDurable(by, to, message, position);
  Envelope* const copy = lane_.NewEnvelope(ACTORD_EVENT_MESSAGE,
                                           message.topic(), message.payload());
  copy->from = message.from;
  absl::Status status = delivery_.SendOrExplain(by, to, copy, lane_);
  // If the daemon ends before the record is durable, the receiver ends with it.
  if (status.ok() && position != 0) {
    return durable_
        .Append(records::Resent{.letter = {.lsn = position}, .to = to})
        .status();
  }
  return status;
}

absl::Status LetterJournal::ResendToDurable(Owner by, const Pid& to,
                                            const Envelope& message,
                                            uint64_t& position) {
  const FoundProcess process = processes_.Find(to, by);
  if (!process) return processes_.WhyNotFound(to, by);
  absl::Status status = durable_.CheckRoom();
  if (!status.ok()) return status;
  const uint64_t units =
      LoggedBytesFor(message.topic(), message.payload()) / kBufferUnitBytes;
  const uint64_t word = process->activity.load(std::memory_order_relaxed);
  if (!delivery_.HasRoom(word, 1, units)) {
    return delivery_.Explain(by, to, Posted::kMailboxFull, lane_);
  }
  absl::StatusOr<uint64_t> at = absl::InternalError("");
  if (position != 0) {
    at =
        durable_.Append(records::Resent{.letter = {.lsn = position}, .to = to});
  } else {
    records::Input input{.to = to,
                         .kind = records::InputKind::kMessages,
                         .owner = by,
                         .at_ns = durable_.NowNs()};
    input.messages.push_back(MessageOf(message));
    at = durable_.Append(input);
  }
  if (!at.ok()) return at.status();
  Envelope* const copy = NewLoggedMessage(message.from, message.topic(),
                                          message.payload(), *at, lane_);
  const Posted posted = delivery_.Send(by, to, copy, lane_);
  if (posted == Posted::kDelivered) return absl::OkStatus();
  lane_.Free(copy);
  // Another thread has filled the mailbox, or the process has ended. In the
  // journal the message is a dead letter again, at its new position.
  position = *at;
  if (posted == Posted::kMailboxFull || posted == Posted::kOverQuota) {
    durable_
        .Append(records::Dropped{.to = to,
                                 .positions = {{{.lsn = *at}}},
                                 .reason = records::DropReason::kMailboxFull})
        .IgnoreError();
  }
  return delivery_.Explain(by, to, posted, lane_);
}

}  // namespace actord::runtime
