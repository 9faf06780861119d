// The messages between the program and its children while a plugin is checked.
// The children run the same program, so the numbers of fields are no contract.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/pid.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/records.h"
#include "runtime/store/state_values.h"
#include "runtime/upgrade_trial.h"

namespace actord::client {

using runtime::Is;

// An error, in a form that can be sent.
struct SentError {
  int32_t code = 0;
  std::string message = {};

  static SentError Of(const absl::Status& status) {
    return {static_cast<int32_t>(status.code()), std::string(status.message())};
  }
  [[nodiscard]] absl::Status ToStatus() const {
    return {static_cast<absl::StatusCode>(code), message};
  }
};
template <typename T, typename Visitor>
requires Is<T, SentError>
void VisitFields(T& error, Visitor& visit) {
  visit(1, error.code);
  visit(2, error.message);
}

// A process type of the file that is checked.
struct DescribedType {
  std::string name = {};
  std::string durability = {};  // "none", "image" or "replay"
};
template <typename T, typename Visitor>
requires Is<T, DescribedType>
void VisitFields(T& type, Visitor& visit) {
  visit(1, type.name);
  visit(2, type.durability);
}

struct PluginDescription {
  std::string name = {};
  std::string version = {};
  std::string sha256 = {};  // 64 hexadecimal digits
  std::vector<DescribedType> types = {};
};
template <typename T, typename Visitor>
requires Is<T, PluginDescription>
void VisitFields(T& plugin, Visitor& visit) {
  visit(1, plugin.name);
  visit(2, plugin.version);
  visit(3, plugin.sha256);
  visit(4, plugin.types);
}

// A message of a child that runs code of plugins.
struct CheckerReply {
  std::optional<PluginDescription> description = {};
  // The answer to a SentContent.
  std::optional<runtime::TrialResult> result = {};
  std::vector<std::string> warnings = {};
  // An error that ends the check.
  std::optional<SentError> error = {};
};
template <typename T, typename Visitor>
requires Is<T, CheckerReply>
void VisitFields(T& reply, Visitor& visit) {
  visit(1, reply.description);
  visit(2, reply.result);
  visit(3, reply.warnings);
  visit(4, reply.error);
}

// The parts of a stored process that a trial needs.
struct SentContent {
  runtime::ProcessEntry entry = {};
  std::optional<std::string> image = {};
  std::vector<runtime::Consumed> mailbox = {};
  std::vector<runtime::HistoryEntry> history = {};
};
template <typename T, typename Visitor>
requires Is<T, SentContent>
void VisitFields(T& content, Visitor& visit) {
  visit(1, content.entry);
  visit(2, content.image);
  visit(3, content.mailbox);
  visit(4, content.history);
}

struct SentProcess {
  runtime::Pid pid = {};
  std::string process_type = {};
  runtime::records::PluginNumber plugin = runtime::records::kNoPlugin;
  std::string content = {};  // an encoded SentContent
};
template <typename T, typename Visitor>
requires Is<T, SentProcess>
void VisitFields(T& process, Visitor& visit) {
  visit(1, process.pid);
  visit(2, process.process_type);
  visit(3, process.plugin);
  visit(4, process.content);
}

// How many processes of a type have a state that this plugin has written.
struct LiveCount {
  std::string process_type = {};
  runtime::records::PluginNumber plugin = runtime::records::kNoPlugin;
  uint64_t processes = 0;
};
template <typename T, typename Visitor>
requires Is<T, LiveCount>
void VisitFields(T& count, Visitor& visit) {
  visit(1, count.process_type);
  visit(2, count.plugin);
  visit(3, count.processes);
}

// The first message of the child that reads the store.
struct StoreHead {
  uint64_t incarnation = 0;
  uint64_t store_ns = 0;  // the store's clock
  std::vector<runtime::records::Plugin> plugins = {};
  std::vector<LiveCount> counts = {};  // of all types
};
template <typename T, typename Visitor>
requires Is<T, StoreHead>
void VisitFields(T& head, Visitor& visit) {
  visit(1, head.incarnation);
  visit(2, head.store_ns);
  visit(3, head.plugins);
  visit(4, head.counts);
}

// A message of the child that reads the store. Exactly one field is set.
struct StoreMessage {
  std::optional<StoreHead> head = {};
  std::optional<SentProcess> process = {};
  std::optional<SentError> error = {};
  std::vector<std::string> damage = {};  // findings of a damaged store
  bool is_end = false;
};
template <typename T, typename Visitor>
requires Is<T, StoreMessage>
void VisitFields(T& message, Visitor& visit) {
  visit(1, message.head);
  visit(2, message.process);
  visit(3, message.error);
  visit(4, message.damage);
  visit(5, message.is_end);
}

}  // namespace actord::client
