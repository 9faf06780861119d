// The values of the state store (state_keys.h), as numbered fields
// (field_codec.h).
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/record_fields.h"
#include "runtime/records/records.h"
#include "runtime/records/runtime_image.h"

namespace actord::runtime {

struct StoreMeta {
  // The position of the first record that is not applied.
  uint64_t applied = 0;
  // The highest incarnation that has opened the journal.
  uint64_t incarnation = 0;
  // The wall clock of the last TIME, and the highest time of the store's clock
  // in any record.
  uint64_t unix_ns = 0;
  uint64_t store_ns = 0;
  // The positions at which this round and the previous one began. The store
  // needs no record before `previous_round`, except for bodies that a running
  // EndRound moves.
  uint64_t round = 0;
  uint64_t previous_round = 0;
  // The store needs no record before this position.
  uint64_t trim = 0;
  uint64_t time_ns = 0;  // the store's clock of the last TIME
  // Numbers of kOrder entries: for request ids, and for message ids of
  // messages.
  uint64_t submit_ids = 0;
  uint64_t message_ids = 0;
  // The same for calls, and for answers to yields.
  uint64_t call_ids = 0;
  uint64_t yield_ids = 0;
};
template <typename T, typename Visitor>
requires Is<T, StoreMeta>
void VisitFields(T& meta, Visitor& visit) {
  visit(1, meta.applied);
  visit(2, meta.incarnation);
  visit(3, meta.unix_ns);
  visit(4, meta.store_ns);
  visit(5, meta.round);
  visit(6, meta.previous_round);
  visit(7, meta.trim);
  visit(8, meta.time_ns);
  visit(9, meta.submit_ids);
  visit(10, meta.message_ids);
  visit(11, meta.call_ids);
  visit(12, meta.yield_ids);
}

struct ProcessEntry {
  std::string process_type;
  std::string method;
  records::Durability durability = records::Durability::kImage;
  // False: recovery calls Init again, with `input`.
  bool started = false;
  Payload input;       // until there is an image
  uint64_t yield = 0;  // the parent's process.spawn, until it is completed
  records::RuntimeImage runtime;
  // The request of the Submit, until Init has returned.
  records::RequestKey request;
  // For a replay type: the answers that Init got (Started::record).
  std::string init;
  // The plugin whose code holds the state, once Init has returned.
  records::PluginNumber plugin = records::kNoPlugin;
  // For a process that has begun again: the number of the last step before, and
  // the first tag of its life. No step sees a completion of a lower tag.
  uint64_t life_after_step = 0;
  uint64_t life_from_tag = 0;
  // The events that its steps get first (records::Continued), until a step has
  // got the last one; and how many of them no step has got, the last ones.
  std::string unseen;
  uint64_t unseen_left = 0;
  // The positions of these events, which name them if they become dead letters.
  Positions unseen_positions;
};
template <typename T, typename Visitor>
requires Is<T, ProcessEntry>
void VisitFields(T& entry, Visitor& visit) {
  visit(1, entry.process_type);
  visit(2, entry.method);
  visit(3, entry.durability);
  visit(4, entry.started);
  visit(5, entry.input);
  visit(6, entry.yield);
  visit(7, entry.runtime);
  visit(8, entry.request);
  visit(9, entry.init);
  visit(10, entry.plugin);
  visit(11, entry.life_after_step);
  visit(12, entry.life_from_tag);
  visit(13, entry.unseen);
  visit(14, entry.unseen_left);
  visit(15, entry.unseen_positions);
}

struct ImageEntry {
  std::string image;
  uint64_t lsn = 0;  // of the record that held it
};
template <typename T, typename Visitor>
requires Is<T, ImageEntry>
void VisitFields(T& entry, Visitor& visit) {
  visit(1, entry.image);
  visit(2, entry.lsn);
}

enum class MailKind : uint8_t {
  kMessage,
  kCall,
  kCompletion,
  kCancel,
  kTerminate
};
constexpr MailKind LastOf(MailKind) { return MailKind::kTerminate; }

struct StoredBody {
  std::string topic;
  Payload payload;
};
template <typename T, typename Visitor>
requires Is<T, StoredBody>
void VisitFields(T& body, Visitor& visit) {
  visit(1, body.topic);
  visit(2, body.payload);
}

// An event in a mailbox. Its position is in its key.
struct Mail {
  MailKind kind = MailKind::kMessage;
  uint64_t lsn = 0;  // of the record that holds the body
  Pid from;
  uint64_t tag = 0;    // of the caller's yield, or of the completed yield
  int32_t status = 0;  // of kCompletion
  // Unset: the body is in the journal.
  std::optional<StoredBody> body;
};
template <typename T, typename Visitor>
requires Is<T, Mail>
void VisitFields(T& mail, Visitor& visit) {
  visit(1, mail.kind);
  visit(2, mail.lsn);
  visit(3, mail.from);
  visit(4, mail.tag);
  visit(5, mail.status);
  visit(6, mail.body);
}

// An event that a step has consumed, with its position.
struct Consumed {
  uint64_t position = 0;
  Mail mail;
};
template <typename T, typename Visitor>
requires Is<T, Consumed>
void VisitFields(T& consumed, Visitor& visit) {
  visit(1, consumed.position);
  visit(2, consumed.mail);
}

// A step of a process of a replay type, since its last image.
struct HistoryEntry {
  std::string step;  // the payload of the STEP
  std::vector<Consumed> consumed;
};
template <typename T, typename Visitor>
requires Is<T, HistoryEntry>
void VisitFields(T& entry, Visitor& visit) {
  visit(1, entry.step);
  visit(2, entry.consumed);
}

// A dead letter. Its position, which is its id, is in its key.
struct Letter {
  Mail mail;  // as it was in the mailbox
  Pid to;
  records::DropReason reason = records::DropReason::kUnknownProcess;
  Owner owner = Owner::kNobody;  // of the receiver, if it was known
  uint64_t at_ns = 0;            // the store's clock
};
template <typename T, typename Visitor>
requires Is<T, Letter>
void VisitFields(T& letter, Visitor& visit) {
  visit(1, letter.mail);
  visit(2, letter.to);
  visit(3, letter.reason);
  visit(4, letter.owner);
  visit(5, letter.at_ns);
}

// An end that a watcher has yet to receive.
struct ExitEntry {
  uint64_t lsn = 0;  // of the record of the end; gives the order
  records::End end;
  bool unknown_process = false;  // the watch began when there was no process
};
template <typename T, typename Visitor>
requires Is<T, ExitEntry>
void VisitFields(T& entry, Visitor& visit) {
  visit(1, entry.lsn);
  visit(2, entry.end);
  visit(3, entry.unknown_process);
}

struct OutcomeEntry {
  records::End end;
  uint64_t steps = 0;
  uint64_t started_unix_ns = 0;
  Owner owner = Owner::kNobody;
  uint64_t expires_ns = 0;  // the store's clock
  std::string process_type;
  std::string name;  // that it has held longest
  std::vector<std::string> labels;
};
template <typename T, typename Visitor>
requires Is<T, OutcomeEntry>
void VisitFields(T& entry, Visitor& visit) {
  visit(1, entry.end);
  visit(2, entry.steps);
  visit(3, entry.started_unix_ns);
  visit(4, entry.owner);
  visit(5, entry.expires_ns);
  visit(6, entry.process_type);
  visit(7, entry.name);
  visit(8, entry.labels);
}

struct RequestEntry {
  Fingerprint fingerprint = {};
  uint64_t lsn = 0;  // of the record that did it
  Pid pid = {};      // that was submitted, or that got the messages
  uint64_t expires_ns = 0;
  bool is_submitted = false;  // the record is a SUBMITTED
  // For a call: it is not answered, so its time has not begun.
  bool is_open = false;
  // For the answer to a yield: the attempts that were handed out by then, and
  // the owner of the worker that had the last one.
  uint32_t attempts = 0;
  Owner worker_owner = Owner::kNobody;
};
template <typename T, typename Visitor>
requires Is<T, RequestEntry>
void VisitFields(T& entry, Visitor& visit) {
  visit(1, entry.fingerprint);
  visit(2, entry.lsn);
  visit(3, entry.pid);
  visit(4, entry.expires_ns);
  visit(5, entry.is_submitted);
  visit(6, entry.is_open);
  visit(7, entry.attempts);
  visit(8, entry.worker_owner);
}

// The answer to a call with a message id.
struct CallAnswer {
  bool callee_ended = false;  // and gave no answer
  int32_t status = 0;
  Payload payload = {};  // the result, or the text of the error
};
template <typename T, typename Visitor>
requires Is<T, CallAnswer>
void VisitFields(T& answer, Visitor& visit) {
  visit(1, answer.callee_ended);
  visit(2, answer.status);
  visit(3, answer.payload);
}

template <typename T>
std::string ValueOf(const T& value) {
  std::string bytes;
  EncodeFields(value, bytes);
  return bytes;
}

}  // namespace actord::runtime
