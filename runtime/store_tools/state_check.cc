#include "runtime/store_tools/state_check.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/records/record_codec.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

constexpr absl::string_view kAdvice = "; restore the directory from a backup";

// The offset of the PID of a live process in keys of this kind.
std::optional<size_t> PidOffsetOf(KeyKind kind) {
  switch (kind) {
    case KeyKind::kImage:
    case KeyKind::kMail:
    case KeyKind::kExit:
    case KeyKind::kHistory:
      return kKeyKindBytes;
    case KeyKind::kTimer:
      return kKeyKindBytes + sizeof(uint64_t);
    default:
      return std::nullopt;
  }
}

// The minimum size of a key of this kind; 0: the kind is unknown.
size_t LeastBytesOf(KeyKind kind) {
  switch (kind) {
    case KeyKind::kMeta:
      return kKeyKindBytes;
    case KeyKind::kProcess:
    case KeyKind::kImage:
    case KeyKind::kOutcome:
      return kBehindPid;
    case KeyKind::kMail:
    case KeyKind::kHistory:
      return kBehindPid + sizeof(uint64_t);
    case KeyKind::kBody:
    case KeyKind::kLetter:
    case KeyKind::kExpiry:
    case KeyKind::kCall:
    case KeyKind::kAnswer:
      return kKeyKindBytes + sizeof(uint64_t);
    case KeyKind::kName:
    case KeyKind::kOwner:
      return kKeyKindBytes + sizeof(Owner);
    case KeyKind::kRequest:
      return kKeyKindBytes + sizeof(Owner) + 1;
    case KeyKind::kGroup:
      return kKeyKindBytes + sizeof(Owner) + 1 + kKeyPidBytes;
    case KeyKind::kExit:
      return kBehindPid + kKeyPidBytes + sizeof(uint64_t);
    case KeyKind::kTimer:
      return kKeyKindBytes + sizeof(uint64_t) + kKeyPidBytes + sizeof(uint64_t);
    case KeyKind::kOrder:
      return kKeyKindBytes + 1 + 2 * sizeof(uint64_t);
    case KeyKind::kPlugin:
      return kKeyKindBytes + 1;
  }
  return 0;
}

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(ToAbsl(bytes));
}

}  // namespace

void StateCheck::Damage(std::string_view key, std::string_view what) {
  report_.Add({.is_damage = true,
               .text = absl::StrCat("state store: the entry with the key ",
                                    Hex(key), ": ", ToAbsl(what), kAdvice)});
}

template <typename T>
bool StateCheck::Decode(std::string_view key, std::string_view value, T& into) {
  const absl::Status status = DecodeFields(value, into);
  if (status.ok()) return true;
  Damage(key, std::string(status.message()));
  return false;
}

bool StateCheck::Lives(std::string_view key, size_t offset) {
  return std::binary_search(pids_.begin(), pids_.end(), PidIn(key, offset));
}

absl::Status StateCheck::Run() {
  // Kinds are in the order of their numbers, so kProcess comes before all kinds
  // that refer to processes.
  absl::Status status = state_.Scan(
      std::string(kKeyKindBytes, '\0'), std::string(kKeyKindBytes, '\xff'),
      [&](std::string_view key, std::string_view value) {
        CheckEntry(key, value);
        return true;
      });
  if (!status.ok()) return status;
  for (const Holder& holder : holders_) {
    const auto found = state_.Get(holder.key);
    if (!found.ok()) return found.status();
    if (!found->has_value()) {
      Damage(holder.key, absl::StrCat("it is missing, but ", holder.why));
    }
  }
  for (const uint64_t call : answers_wanted_) {
    if (answers_.contains(call)) continue;
    Damage(KeyOf(KeyKind::kAnswer, call),
           "it is missing, but the id of its call says that there is one");
  }
  CheckIdCounts();
  Finish();
  return absl::OkStatus();
}

void StateCheck::CheckEntry(std::string_view key, std::string_view value) {
  if (key.size() < kKeyKindBytes) return Damage(key, "its key is too short");
  const auto kind =
      static_cast<KeyKind>(static_cast<unsigned char>(key[0]) << 8 |
                           static_cast<unsigned char>(key[1]));
  const size_t least = LeastBytesOf(kind);
  if (least == 0) {
    return Damage(key, "this version of actord does not know its kind");
  }
  if (key.size() < least) return Damage(key, "its key is too short");
  const std::optional<size_t> pid = PidOffsetOf(kind);
  if (pid.has_value() && !Lives(key, *pid)) {
    return Damage(
        key, absl::StrCat("it belongs to process ", FormatPid(PidIn(key, *pid)),
                          ", which does not live"));
  }
  StoreReport::State& state = report_.state;
  switch (kind) {
    case KeyKind::kMeta:
      (void)Decode(key, value, meta_);
      return;
    case KeyKind::kProcess:
      return CheckProcess(key, value);
    case KeyKind::kMail:
      return CheckMail(key, value);
    case KeyKind::kHistory:
      return CheckHistory(key, value);
    case KeyKind::kOwner:
      return CheckOwner(key, value);
    case KeyKind::kPlugin:
      return CheckPlugin(key, value);
    case KeyKind::kImage: {
      ImageEntry image;
      (void)Decode(key, value, image);
      return;
    }
    case KeyKind::kOutcome: {
      OutcomeEntry outcome;
      state.outcomes += Decode(key, value, outcome);
      return;
    }
    case KeyKind::kLetter: {
      Letter letter;
      if (!Decode(key, value, letter)) return;
      ++state.dead_letters;
      return CheckBody(letter.mail, NumberIn(key, kKeyKindBytes), key);
    }
    case KeyKind::kExit: {
      ExitEntry exit;
      (void)Decode(key, value, exit);
      return;
    }
    case KeyKind::kRequest: {
      RequestEntry request;
      if (!Decode(key, value, request)) return;
      ++CountOf(IdKindIn(key));
      if (IdKindIn(key) == kCallId && !request.is_open) {
        answers_wanted_.push_back(request.lsn);
      }
      return;
    }
    case KeyKind::kAnswer: {
      CallAnswer answer;
      if (!Decode(key, value, answer)) return;
      answers_.insert(NumberIn(key, kKeyKindBytes));
      return;
    }
    default:
      return CheckReferences(kind, key, value);
  }
}

void StateCheck::CheckReferences(KeyKind kind, std::string_view key,
                                 std::string_view value) {
  switch (kind) {
    case KeyKind::kName:
      ++report_.state.names;
      if (value.size() != kKeyPidBytes || !Lives(value, 0)) {
        Damage(key, "it is a name, and its process does not live");
      }
      return;
    case KeyKind::kGroup:
      ++report_.state.groups;
      if (!Lives(key, key.size() - kKeyPidBytes)) {
        Damage(key, "it is a member of a group, and does not live");
      }
      return;
    case KeyKind::kBody:
      holders_.push_back(
          {std::string(value), "a body of the journal names it"});
      return;
    case KeyKind::kOrder:
      ++orders_[static_cast<uint8_t>(key[kKeyKindBytes])];
      return;
    case KeyKind::kCall:
      holders_.push_back({std::string(value), "an unanswered call names it"});
      return;
    default:
      return;
  }
}

void StateCheck::CheckProcess(std::string_view key, std::string_view value) {
  ProcessEntry entry;
  if (!Decode(key, value, entry)) return;
  pids_.push_back(PidIn(key, kKeyKindBytes));
  ++report_.state.processes;
  report_.state.yields += entry.runtime.yields.size();
  ++types_[{entry.process_type,
            entry.durability == records::Durability::kReplay}];
  ++owners_[static_cast<uint16_t>(entry.runtime.owner)].processes;
  if (entry.plugin != records::kNoPlugin) ++plugins_[entry.plugin].processes;
}

void StateCheck::CheckBody(const Mail& mail, uint64_t position,
                           std::string_view key) {
  if (mail.body.has_value()) return;
  if (mail.lsn < first_lsn_ || mail.lsn >= end_lsn_ || position < mail.lsn) {
    return Damage(key, absl::StrCat("its body is at position ", position,
                                    ", but the journal holds positions ",
                                    first_lsn_, " to ", end_lsn_));
  }
  bodies_.push_back({.lsn = mail.lsn, .index = position - mail.lsn});
}

void StateCheck::CheckMail(std::string_view key, std::string_view value) {
  Mail mail;
  if (!Decode(key, value, mail)) return;
  ++report_.state.messages;
  CheckBody(mail, NumberIn(key, kBehindPid), key);
}

void StateCheck::CheckHistory(std::string_view key, std::string_view value) {
  HistoryEntry entry;
  if (!Decode(key, value, entry)) return;
  ++report_.state.history_steps;
  records::Step step;
  if (!Decode(key, entry.step, step)) return;
  for (const Consumed& one : entry.consumed) {
    CheckBody(one.mail, one.position, key);
  }
}

void StateCheck::CheckOwner(std::string_view key, std::string_view value) {
  const auto number = static_cast<uint16_t>(OwnerIn(key));
  if (number == 0) return Damage(key, "the number 0 is of no owner");
  owners_[number].name = value;
}

void StateCheck::CheckPlugin(std::string_view key, std::string_view value) {
  records::Plugin plugin;
  if (!Decode(key, value, plugin)) return;
  if (key != KeyOf(KeyKind::kPlugin, plugin.number)) {
    return Damage(key, absl::StrCat("it is plugin ", plugin.number));
  }
  StoreReport::PluginVersion& version = plugins_[plugin.number];
  version.sha256 = Hex(plugin.sha256);
  version.name = plugin.name;
  version.version = plugin.version;
}

uint64_t& StateCheck::CountOf(uint8_t kind) {
  StoreReport::State& state = report_.state;
  switch (kind) {
    case kSubmitId:
      return state.request_ids;
    case kCallId:
      return state.call_ids;
    case kYieldId:
      return state.yield_answers;
    default:
      return state.message_ids;
  }
}

void StateCheck::CheckIdCounts() {
  const auto check = [this](uint64_t said, uint8_t kind, const char* what) {
    if (said == orders_[kind]) return;
    Damage(KeyOf(KeyKind::kMeta),
           absl::StrCat("it says that there are ", said, " ", what,
                        ", and there are ", orders_[kind]));
  };
  check(meta_.submit_ids, kSubmitId, "request ids");
  check(meta_.message_ids, kMessageId, "message ids");
  check(meta_.call_ids, kCallId, "answered calls with a message id");
  check(meta_.yield_ids, kYieldId, "answers to yields");
}

void StateCheck::Finish() {
  std::sort(bodies_.begin(), bodies_.end());
  for (const auto& [type, processes] : types_) {
    report_.types.push_back(
        {.name = type.first, .is_replay = type.second, .processes = processes});
  }
  for (auto& [number, owner] : owners_) {
    owner.number = number;
    if (number != 0 && owner.name.empty()) {
      Damage(KeyOf(KeyKind::kOwner, Owner{number}),
             "processes belong to this owner, and its name is missing");
    }
    report_.owners.push_back(owner);
  }
  for (auto& [number, plugin] : plugins_) {
    plugin.number = number;
    if (plugin.sha256.empty()) {
      Damage(KeyOf(KeyKind::kPlugin, number),
             "processes are of this plugin, and its name is missing");
    }
    report_.plugins.push_back(plugin);
  }
}

}  // namespace actord::runtime
