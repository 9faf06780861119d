#include "runtime/store_tools/items/read_items.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/record_bodies.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

template <typename T>
absl::Status Decode(std::string_view value, T& into) {
  const absl::Status status = DecodeFields(value, into);
  return status.ok() ? status : absl::DataLossError(status.message());
}

// Keys are numbers here: the sum of two keys of the same size, halved.
std::string MiddleOf(const std::string& low, const std::string& high) {
  std::string middle(low.size(), '\0');
  unsigned carry = 0;
  for (size_t i = low.size(); i-- > 0;) {
    carry += static_cast<unsigned char>(low[i]);
    carry += static_cast<unsigned char>(high[i]);
    middle[i] = static_cast<char>(carry & 0xff);
    carry >>= 8;
  }
  for (char& digit : middle) {
    const unsigned value = carry << 8 | static_cast<unsigned char>(digit);
    digit = static_cast<char>(value >> 1);
    carry = value & 1;
  }
  return middle;
}

}  // namespace

absl::Status ItemReader::Lose(const std::string& what,
                              const absl::Status& why) {
  if (lost_ == nullptr) {
    return {why.code(), absl::StrCat(what, ": ", why.message())};
  }
  (*lost_)(absl::StrCat(what, ": ", why.message()));
  return absl::OkStatus();
}

absl::Status ItemReader::Scan(const std::string& prefix,
                              const std::string& what,
                              absl::FunctionRef<absl::Status(
                                  std::string_view key, std::string_view value)>
                                  use) {
  const std::string end = BehindPrefix(prefix);
  std::string first = prefix;
  while (first < end) {
    absl::Status failed;
    std::string last = first;
    const absl::Status status = state_.Scan(
        first, end, [&](std::string_view key, std::string_view value) {
          last = key;
          failed = use(key, value);
          return failed.ok();
        });
    if (!failed.ok()) return failed;
    if (status.ok()) return status;
    absl::Status told = Lose(what + " that cannot be read", status);
    if (!told.ok()) return told;
    first = NextReadable(std::move(last), end);
  }
  return absl::OkStatus();
}

std::string ItemReader::NextReadable(std::string key, const std::string& end) {
  const auto is_readable = [&](const std::string& from) {
    return state_
        .Scan(from, end,
              [](std::string_view, std::string_view) { return false; })
        .ok();
  };
  // A damaged block has neighbouring keys. So the steps are short at first: the
  // last byte is counted up, then the byte before, and so on.
  const size_t bytes = std::max(key.size() + 1, kBehindPid + sizeof(uint64_t));
  std::string low = std::move(key);
  low.resize(bytes, '\0');
  std::string high;
  for (size_t kept = bytes; high.empty(); --kept) {
    std::string next = BehindPrefix(low.substr(0, kept));
    if (next >= end) return end;
    next.resize(bytes, '\0');
    (is_readable(next) ? high : low) = std::move(next);
  }
  for (;;) {
    std::string middle = MiddleOf(low, high);
    if (middle == low) return high;
    (is_readable(middle) ? high : low) = std::move(middle);
  }
}

absl::Status ItemReader::LoadBodies(Records records) {
  // Positions of records, and of the bodies in them.
  std::vector<std::pair<uint64_t, uint64_t>> wanted;
  const auto want = [&](uint64_t position, const Mail& mail) {
    if (!mail.body.has_value()) wanted.emplace_back(mail.lsn, position);
  };
  const auto scan = [&](KeyKind kind, const std::string& what, auto take) {
    return Scan(KeyOf(kind), what,
                [&](std::string_view key, std::string_view value) {
                  take(key, value);
                  return absl::OkStatus();
                });
  };
  absl::Status status =
      scan(KeyKind::kMail, "messages", [&](auto key, auto value) {
        Mail mail;
        if (Decode(value, mail).ok()) want(NumberIn(key, kBehindPid), mail);
      });
  if (!status.ok()) return status;
  status = scan(KeyKind::kLetter, "dead letters", [&](auto key, auto value) {
    Letter letter;
    if (Decode(value, letter).ok()) {
      want(NumberIn(key, kKeyKindBytes), letter.mail);
    }
  });
  if (!status.ok()) return status;
  status = scan(KeyKind::kHistory, "steps", [&](auto /*key*/, auto value) {
    HistoryEntry entry;
    if (!Decode(value, entry).ok()) return;
    for (const Consumed& one : entry.consumed) want(one.position, one.mail);
  });
  if (!status.ok() || wanted.empty()) return status;
  std::sort(wanted.begin(), wanted.end());
  auto next = wanted.begin();
  return records([&](const RecordView& record) {
    while (next != wanted.end() && next->first < record.lsn) ++next;
    if (next == wanted.end()) return absl::CancelledError("that is all");
    if (next->first != record.lsn) return absl::OkStatus();
    std::optional<records::Any> decoded;
    const absl::Status read =
        records::Decode(record.kind, record.flags, record.payload, decoded);
    for (; next != wanted.end() && next->first == record.lsn; ++next) {
      if (!read.ok() || !decoded.has_value()) continue;
      auto body = BodyIn(*decoded, next->second - record.lsn, buffers_);
      if (body.ok()) bodies_.emplace(next->second, *std::move(body));
    }
    return absl::OkStatus();
  });
}

absl::Status ItemReader::Complete(uint64_t position, Mail& mail) const {
  if (mail.body.has_value()) return absl::OkStatus();
  const auto found = bodies_.find(position);
  if (found == bodies_.end()) {
    return absl::DataLossError(absl::StrCat(
        "its content at position ", position, " is not in the journal"));
  }
  mail.body = found->second;
  mail.lsn = position;
  return absl::OkStatus();
}

absl::StatusOr<StoreMeta> ItemReader::Meta() {
  const auto bytes = state_.Get(KeyOf(KeyKind::kMeta));
  if (!bytes.ok()) return bytes.status();
  StoreMeta meta;
  if (!bytes->has_value()) return absl::DataLossError("the state store is new");
  absl::Status status = Decode(**bytes, meta);
  if (!status.ok()) return status;
  return meta;
}

absl::Status ItemReader::ReadRest(ProcessItem& process) {
  const std::string name = "process " + FormatPid(process.pid);
  // A loss without which the process cannot continue.
  absl::Status broken;
  const auto image = state_.Get(KeyOf(KeyKind::kImage, process.pid));
  if (!image.ok()) return image.status();
  if (image->has_value()) {
    absl::Status status = Decode(**image, process.image.emplace());
    if (!status.ok()) return status;
  }
  const bool is_replayed =
      process.entry.durability == records::Durability::kReplay;
  if (process.entry.started && !process.image && !is_replayed) {
    return absl::DataLossError("its image is missing");
  }
  const auto scan = [&](KeyKind kind, auto use) {
    const std::string prefix = KeyOf(kind, process.pid);
    const absl::Status status =
        state_.Scan(prefix, BehindPrefix(prefix), [&](auto key, auto value) {
          broken.Update(use(key, value));
          return broken.ok();
        });
    broken.Update(status);
    return broken;
  };
  absl::Status status = scan(KeyKind::kHistory, [&](auto key, auto value) {
    ProcessItem::Step& step = process.history.emplace_back();
    step.position = NumberIn(key, kBehindPid);
    absl::Status read = Decode(value, step.entry);
    for (Consumed& one : step.entry.consumed) {
      if (read.ok()) read = Complete(one.position, one.mail);
    }
    return read;
  });
  if (!status.ok()) return status;
  status = scan(KeyKind::kExit, [&](auto key, auto value) {
    ProcessItem::Exit& exit = process.exits.emplace_back();
    exit.of = PidIn(key, kBehindPid);
    exit.tag = NumberIn(key, kBehindPid + kKeyPidBytes);
    return Decode(value, exit.entry);
  });
  if (!status.ok()) return status;
  return scan(KeyKind::kMail, [&](auto key, auto value) {
    ProcessItem::Event event;
    event.position = NumberIn(key, kBehindPid);
    absl::Status read = Decode(value, event.mail);
    if (read.ok()) read = Complete(event.position, event.mail);
    if (!read.ok()) {
      return Lose(
          absl::StrCat("the event at position ", event.position, " for ", name),
          read);
    }
    process.mailbox.push_back(std::move(event));
    return absl::OkStatus();
  });
}

absl::Status ItemReader::ReadProcesses(
    absl::FunctionRef<bool(const Pid&, const ProcessEntry&)> wants, Use use) {
  return Scan(KeyOf(KeyKind::kProcess), "processes",
              [&](std::string_view key, std::string_view value) {
                ProcessItem process;
                process.pid = PidIn(key, kKeyKindBytes);
                absl::Status status = Decode(value, process.entry);
                if (status.ok() && !wants(process.pid, process.entry)) {
                  return absl::OkStatus();
                }
                if (status.ok()) status = ReadRest(process);
                if (status.ok()) return use(std::move(process));
                return Lose("process " + FormatPid(process.pid), status);
              });
}

absl::Status ItemReader::ReadIds(Use use) {
  return Scan(
      KeyOf(KeyKind::kRequest), "ids of requests",
      [&](std::string_view key, std::string_view value) {
        IdItem item{.kind = IdKindIn(key),
                    .owner = OwnerIn(key),
                    .id = std::string(IdIn(key))};
        const std::string name = "the id " + item.id;
        absl::Status status = Decode(value, item.entry);
        if (status.ok() && item.kind == kCallId && !item.entry.is_open) {
          const auto answer =
              state_.Get(KeyOf(KeyKind::kAnswer, item.entry.lsn));
          status = answer.status();
          if (status.ok() && !answer->has_value()) {
            status = absl::DataLossError("the answer of its call is missing");
          }
          if (status.ok()) status = Decode(**answer, item.answer.emplace());
        }
        if (!status.ok()) return Lose(name, status);
        if (item.kind == kYieldId) {
          item.yield = YieldOfId(item.id);
          item.id.clear();
        }
        return use(std::move(item));
      });
}

absl::Status ItemReader::ReadHead(Use use) {
  absl::Status status =
      Scan(KeyOf(KeyKind::kOwner), "names of owners",
           [&](std::string_view key, std::string_view value) {
             return use(
                 OwnerItem{.number = OwnerIn(key), .name = std::string(value)});
           });
  if (!status.ok()) return status;
  return Scan(KeyOf(KeyKind::kPlugin), "versions of plugins",
              [&](std::string_view /*key*/, std::string_view value) {
                records::Plugin plugin;
                const absl::Status read = Decode(value, plugin);
                if (!read.ok()) return Lose("a version of a plugin", read);
                return use(std::move(plugin));
              });
}

absl::Status ItemReader::ReadTail(Use use) {
  absl::Status status = Scan(
      KeyOf(KeyKind::kLetter), "dead letters",
      [&](std::string_view key, std::string_view value) {
        LetterItem item;
        item.position = NumberIn(key, kKeyKindBytes);
        absl::Status read = Decode(value, item.letter);
        if (read.ok()) {
          read = Complete(item.position, item.letter.mail);
        }
        if (read.ok()) return use(std::move(item));
        return Lose(absl::StrCat("the dead letter 0.", item.position), read);
      });
  if (!status.ok()) return status;
  status =
      Scan(KeyOf(KeyKind::kOutcome), "results",
           [&](std::string_view key, std::string_view value) {
             OutcomeItem item;
             item.pid = PidIn(key, kKeyKindBytes);
             const absl::Status read = Decode(value, item.entry);
             if (read.ok()) return use(std::move(item));
             return Lose("the result of process " + FormatPid(item.pid), read);
           });
  return status.ok() ? ReadIds(use) : status;
}

}  // namespace actord::runtime
