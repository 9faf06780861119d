// The fields of the items of a store in JSON, with their names. They are fixed:
// docs/durability.md lists them, and exports of earlier versions must be read.
//
// A visitor has
//   visit(NAME, VALUE)        a field of any type below
//   visit.Bytes(NAME, VALUE)  a string of bytes, in base64
// A field with its initial value is not written.
#pragma once

#include "runtime/records/runtime_image.h"
#include "runtime/records/state_image.h"
#include "runtime/store/state_values.h"
#include "runtime/store_tools/items/store_items.h"

namespace actord::client::items {

template <typename T, typename Type>
concept Of = std::same_as<std::remove_const_t<T>, Type>;

template <Of<runtime::StoreItem> T, typename V>
void Visit(T& item, V& visit) {
  visit("store_id_high", item.id.high);
  visit("store_id_low", item.id.low);
  visit("position", item.position);
  visit("incarnation", item.incarnation);
  visit("store_ns", item.store_ns);
  visit("clock_unix_ns", item.clock_unix_ns);
  visit("clock_store_ns", item.clock_store_ns);
}
template <Of<runtime::OwnerItem> T, typename V>
void Visit(T& item, V& visit) {
  visit("number", item.number);
  visit("name", item.name);
}
template <Of<runtime::records::Plugin> T, typename V>
void Visit(T& item, V& visit) {
  visit("number", item.number);
  visit("name", item.name);
  visit("version", item.version);
  visit.Bytes("sha256", item.sha256);
  visit.Bytes("unknown", item.unknown);
}
template <Of<runtime::Payload> T, typename V>
void Visit(T& payload, V& visit) {
  visit.Bytes("data", payload.bytes);
  visit("content_type", payload.content_type);
}
template <Of<runtime::StoredBody> T, typename V>
void Visit(T& body, V& visit) {
  visit("topic", body.topic);
  visit("payload", body.payload);
}
// A position in this journal.
template <Of<runtime::Position> T, typename V>
void Visit(T& position, V& visit) {
  visit("position", position.lsn);
}
template <Of<runtime::Positions> T, typename V>
void Visit(T& positions, V& visit) {
  visit("list", positions.list);
}
template <Of<runtime::Mail> T, typename V>
void Visit(T& mail, V& visit) {
  visit("kind", mail.kind);
  visit("from", mail.from);
  visit("tag", mail.tag);
  visit("status", mail.status);
  visit("body", mail.body);
}
template <Of<runtime::records::TurnImage> T, typename V>
void Visit(T& turn, V& visit) {
  visit("next_tag", turn.next_tag);
  visit("step", turn.step);
  visit("verdict", turn.verdict);
  visit("blocked", turn.blocked);
  visit("step_due", turn.step_due);
  visit("cancel_seen", turn.cancel_seen);
  visit.Bytes("unknown", turn.unknown);
}
template <Of<runtime::records::YieldImage> T, typename V>
void Visit(T& yield, V& visit) {
  visit("tag", yield.tag);
  visit("kind", yield.kind);
  visit("command", yield.command);
  visit("payload", yield.payload);
  visit.Bytes("policy", yield.policy);
  visit("deadline_ns", yield.deadline_ns);
  visit("attempts", yield.attempts);
  visit("worker", yield.worker);
  visit("worker_owner", yield.worker_owner);
  visit("lease_ns", yield.lease_ns);
  visit("callee", yield.callee);
  visit("failed", yield.failed);
  visit("cancelled", yield.cancelled);
  visit("answer", yield.answer);
  visit("begun_ns", yield.begun_ns);
  visit.Bytes("unknown", yield.unknown);
}
template <Of<runtime::records::OwedCall> T, typename V>
void Visit(T& owed, V& visit) {
  visit("call", owed.call);
  visit("caller", owed.caller);
  visit("tag", owed.tag);
  visit.Bytes("unknown", owed.unknown);
}
template <Of<runtime::records::Watch> T, typename V>
void Visit(T& watch, V& visit) {
  visit("other", watch.other);
  visit("tag", watch.tag);
  visit.Bytes("unknown", watch.unknown);
}
template <Of<runtime::Fingerprint> T, typename V>
void Visit(T& fingerprint, V& visit) {
  visit("high", fingerprint.high);
  visit("low", fingerprint.low);
}
template <Of<runtime::records::RequestKey> T, typename V>
void Visit(T& key, V& visit) {
  visit("id", key.id);
  visit("fingerprint", key.fingerprint);
  visit.Bytes("unknown", key.unknown);
}
template <Of<runtime::records::End> T, typename V>
void Visit(T& end, V& visit) {
  visit("reason", end.reason);
  visit("result", end.result);
  visit("code", end.code);
  visit("message", end.message);
  visit("unix_ns", end.unix_ns);
  visit("at_ns", end.at_ns);
  visit.Bytes("unknown", end.unknown);
}
template <Of<runtime::ExitEntry> T, typename V>
void Visit(T& entry, V& visit) {
  visit("position", entry.lsn);
  visit("end", entry.end);
  visit("unknown_process", entry.unknown_process);
}
template <Of<runtime::ProcessItem::Exit> T, typename V>
void Visit(T& exit, V& visit) {
  visit("of", exit.of);
  visit("tag", exit.tag);
  visit("exit", exit.entry);
}
template <Of<runtime::ProcessItem::Event> T, typename V>
void Visit(T& event, V& visit) {
  visit("position", event.position);
  visit("event", event.mail);
}
template <Of<runtime::Consumed> T, typename V>
void Visit(T& consumed, V& visit) {
  visit("position", consumed.position);
  visit("event", consumed.mail);
}
template <Of<runtime::ProcessItem::Step> T, typename V>
void Visit(T& step, V& visit) {
  visit("position", step.position);
  visit.Bytes("record", step.entry.step);
  visit("consumed", step.entry.consumed);
}
template <Of<runtime::StateImage> T, typename V>
void Visit(T& image, V& visit) {
  visit.Bytes("data", image.state.bytes);
  visit("content_type", image.state.content_type);
  visit("plugin_version", image.version);
  visit("flat_version", image.flat_version);
  visit("next_tag", image.next_tag);
  visit.Bytes("unknown", image.unknown);
}
template <Of<runtime::ProcessItem> T, typename V>
void Visit(T& item, V& visit) {
  auto& entry = item.entry;
  auto& image = entry.runtime;
  visit("pid", item.pid);
  visit("process_type", entry.process_type);
  visit("method", entry.method);
  visit("plugin", entry.plugin);
  visit("durability", entry.durability);
  visit("owner", image.owner);
  visit("names", image.names);
  visit("labels", image.labels);
  visit("groups", image.groups);
  visit("parent", image.parent);
  visit("priority", image.priority);
  visit("keep_result", image.keep_result);
  visit("started_unix_ns", image.started_unix_ns);
  visit("lifetime_ns", image.lifetime_ns);
  visit("has_begun", entry.started);
  visit("input", entry.input);
  visit("spawn_tag", entry.yield);
  visit("request", entry.request);
  visit.Bytes("init", entry.init);
  visit("life_after_step", entry.life_after_step);
  visit("life_from_tag", entry.life_from_tag);
  visit.Bytes("unseen", entry.unseen);
  visit("unseen_left", entry.unseen_left);
  visit("unseen_positions", entry.unseen_positions);
  visit("turn", image.turn);
  visit("cancel_requested", image.cancel_requested);
  visit("cancel_deadline_ns", image.cancel_deadline_ns);
  visit("cancel_after_ns", image.cancel_after_ns);
  visit("traps_exits", image.traps_exits);
  visit("yields", image.yields);
  visit("owed_calls", image.owed_calls);
  visit("watches", image.watches);
  visit("watchers", image.watchers);
  visit.Bytes("unknown", image.unknown);
  visit.Image("image", item.image);
  visit("mailbox", item.mailbox);
  visit("exits", item.exits);
  visit("history", item.history);
}
template <Of<runtime::LetterItem> T, typename V>
void Visit(T& item, V& visit) {
  visit("position", item.position);
  visit("to", item.letter.to);
  visit("reason", item.letter.reason);
  visit("owner", item.letter.owner);
  visit("at_ns", item.letter.at_ns);
  visit("event", item.letter.mail);
}
template <Of<runtime::OutcomeItem> T, typename V>
void Visit(T& item, V& visit) {
  visit("pid", item.pid);
  visit("owner", item.entry.owner);
  visit("steps", item.entry.steps);
  visit("started_unix_ns", item.entry.started_unix_ns);
  visit("process_type", item.entry.process_type);
  visit("name", item.entry.name);
  visit("labels", item.entry.labels);
  visit("expires_ns", item.entry.expires_ns);
  visit("end", item.entry.end);
}
template <Of<runtime::CallAnswer> T, typename V>
void Visit(T& answer, V& visit) {
  visit("callee_ended", answer.callee_ended);
  visit("status", answer.status);
  visit("payload", answer.payload);
}
template <Of<runtime::IdItem> T, typename V>
void Visit(T& item, V& visit) {
  visit.IdKind("of", item.kind);
  visit("owner", item.owner);
  visit("id", item.id);
  visit("pid_of_yield", item.yield.pid);
  visit("tag", item.yield.tag);
  visit("fingerprint", item.entry.fingerprint);
  visit("position", item.entry.lsn);
  visit("pid", item.entry.pid);
  visit("expires_ns", item.entry.expires_ns);
  visit("is_submitted", item.entry.is_submitted);
  visit("is_open", item.entry.is_open);
  visit("attempts", item.entry.attempts);
  visit("worker_owner", item.entry.worker_owner);
  visit("answer", item.answer);
}

}  // namespace actord::client::items
