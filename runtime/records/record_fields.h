// The fields of each record, with their numbers. Fixed for ever: the golden
// file of the tests holds them (field_codec.h).
#pragma once

#include "runtime/records/field_codec.h"
#include "runtime/records/records.h"

namespace actord::runtime::records {

template <typename T, typename Visitor>
requires Is<T, Body>
void VisitFields(T& body, Visitor& visit) {
  visit(1, body.from);
  visit(2, body.topic);
  visit(3, body.payload);
}

template <typename T, typename Visitor>
requires Is<T, RequestKey>
void VisitFields(T& key, Visitor& visit) {
  visit(1, key.id);
  visit(2, key.fingerprint);
}

template <typename T, typename Visitor>
requires Is<T, Submitted>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.process_type);
  visit(3, record.method);
  visit(4, record.input);
  visit(5, record.name);
  visit(6, record.messages);
  visit(7, record.request);
  visit(8, record.parent);
  visit(9, record.yield);
  visit(10, record.monitor);
  visit(11, record.link);
  visit(12, record.keep_result);
  visit(13, record.priority);
  visit(14, record.owner);
  visit(15, record.durability);
  visit(16, record.unix_ns);
  visit(17, record.at_ns);
  visit(18, record.labels);
}

template <typename T, typename Visitor>
requires Is<T, Started>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.turn);
  visit(3, record.lifetime_ns);
  visit(4, record.image);
  visit(5, record.traps_exits);
  visit(6, record.durability);
  visit(7, record.record);
  visit(8, record.plugin);
}

template <typename T, typename Visitor>
requires Is<T, Input>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.to);
  visit(2, record.kind);
  visit(3, record.messages);
  visit(4, record.request);
  visit(5, record.owner);
  visit(6, record.tag);
  visit(7, record.status);
  visit(8, record.payload);
  visit(9, record.at_ns);
  visit(10, record.is_submit);
  visit(11, record.deadline_ns);
}

template <typename T, typename Visitor>
requires Is<T, Deadline>
void VisitFields(T& deadline, Visitor& visit) {
  visit(1, deadline.tag);
  visit(2, deadline.at_ns);
}

template <typename T, typename Visitor>
requires Is<T, End>
void VisitFields(T& end, Visitor& visit) {
  visit(1, end.reason);
  visit(2, end.result);
  visit(3, end.code);
  visit(4, end.message);
  visit(5, end.unix_ns);
  visit(6, end.at_ns);
}

template <typename T, typename Visitor>
requires Is<T, Continued>
void VisitFields(T& continued, Visitor& visit) {
  visit(1, continued.method);
  visit(2, continued.input);
  visit(3, continued.unseen);
}

template <typename T, typename Visitor>
requires Is<T, Step>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.turn);
  visit(3, record.consumed);
  visit(4, record.record);
  visit(5, record.deadlines);
  visit(6, record.image);
  visit(7, record.end);
  visit(8, record.at_ns);
  visit(9, record.order);
  visit(10, record.continued, FieldUse::kCritical);
}

template <typename T, typename Visitor>
requires Is<T, Done>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.tag);
  visit(3, record.command);
  visit(4, record.status);
  visit(5, record.result);
  visit(6, record.name);
  visit(7, record.target);
  visit(8, record.message);
  visit(9, record.others);
  visit(10, record.link);
  visit(11, record.monitor);
}

template <typename T, typename Visitor>
requires Is<T, Dropped>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.to);
  visit(2, record.positions);
  visit(3, record.reason);
  visit(4, record.request);
  visit(5, record.owner);
  visit(6, record.is_submit);
  visit(7, record.is_told);
  visit(8, record.is_call);
}

template <typename T, typename Visitor>
requires Is<T, Resent>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.letter);
  visit(2, record.to);
}

template <typename T, typename Visitor>
requires Is<T, Forgotten>
void VisitFields(T& record, Visitor& visit) { visit(1, record.letters); }

template <typename T, typename Visitor>
requires Is<T, Attempt>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.tag);
  visit(3, record.attempt);
  visit(4, record.worker);
  visit(5, record.lease_ns);
  visit(6, record.worker_owner);
}

template <typename T, typename Visitor>
requires Is<T, YieldOver>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.tag);
  visit(3, record.status);
  visit(4, record.payload);
}

template <typename T, typename Visitor>
requires Is<T, Ended>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.end);
  visit(3, record.consumed);
}

template <typename T, typename Visitor>
requires Is<T, Upgraded>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.pid);
  visit(2, record.from);
  visit(3, record.to);
  visit(4, record.traps_exits);
  visit(5, record.image);
}

template <typename T, typename Visitor>
requires Is<T, Plugin>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.number);
  visit(2, record.name);
  visit(3, record.version);
  visit(4, record.sha256);
}

template <typename T, typename Visitor>
requires Is<T, Time>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.unix_ns);
  visit(2, record.store_ns);
}

template <typename T, typename Visitor>
requires Is<T, Checkpoint>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.applied);
  visit(2, record.trim);
}

template <typename T, typename Visitor>
requires Is<T, OwnerName>
void VisitFields(T& record, Visitor& visit) {
  visit(1, record.owner);
  visit(2, record.name);
}

}  // namespace actord::runtime::records
