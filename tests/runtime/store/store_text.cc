#include "tests/runtime/store/store_text.h"

#include <algorithm>
#include <sstream>

#include "runtime/records/record_codec.h"
#include "runtime/store/record_bodies.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_values.h"
#include "tests/runtime/store/expected_state.h"

namespace actord::runtime {
namespace {

class StoreText {
 public:
  StoreText(StateStore& store, RecordSource& source)
      : store_(store), source_(source) {}

  std::vector<std::string> Write() {
    const auto meta = Value<StoreMeta>(
        store_.Get(KeyOf(KeyKind::kMeta)).value().value_or(""));
    Add("clock ", meta.store_ns);
    Add("incarnation ", meta.incarnation);
    Each(KeyKind::kProcess, [&](auto key, auto value) { Process(key, value); });
    Each(KeyKind::kMail, [&](auto key, auto value) {
      const uint64_t position = NumberIn(key, 18);
      Add("mail ", position, " ",
          EventOf(PidIn(key, 2), position, Value<Mail>(value), key));
    });
    Each(KeyKind::kLetter, [&](auto key, auto value) {
      const uint64_t position = NumberIn(key, 2);
      const auto letter = Value<Letter>(value);
      Add("letter ", position, " ",
          EventOf(letter.to, position, letter.mail, key), " reason ",
          static_cast<int>(letter.reason), " owner ",
          static_cast<int>(letter.owner));
    });
    Each(KeyKind::kName, [&](auto key, auto value) {
      Add("name ", static_cast<int>(OwnerIn(key)), " ", key.substr(4), " ",
          FormatPid(PidIn(value, 0)));
    });
    Each(KeyKind::kGroup, [&](auto key, auto /*value*/) {
      const size_t end = key.size() - kKeyPidBytes;
      Add("group ", static_cast<int>(OwnerIn(key)), " ", key.substr(4, end - 5),
          " ", FormatPid(PidIn(key, end)));
    });
    Each(KeyKind::kExit, [&](auto key, auto value) {
      const auto exit = Value<ExitEntry>(value);
      Add("exit ", FormatPid(PidIn(key, 2)), " ", FormatPid(PidIn(key, 18)),
          " ", NumberIn(key, 34), " ",
          exit.unknown_process ? "unknown process" : EndText(exit.end));
    });
    Each(KeyKind::kTimer, [&](auto key, auto /*value*/) {
      Add("timer ", NumberIn(key, 2), " ", FormatPid(PidIn(key, 10)), " ",
          NumberIn(key, 26));
    });
    Each(KeyKind::kOutcome, [&](auto key, auto value) {
      const auto entry = Value<OutcomeEntry>(value);
      if (entry.expires_ns < meta.store_ns) return;
      Add("outcome ", FormatPid(PidIn(key, 2)), " ", EndText(entry.end),
          " steps ", entry.steps, " result ", entry.end.result.bytes, " until ",
          entry.expires_ns);
    });
    Each(KeyKind::kRequest, [&](auto key, auto value) {
      const auto entry = Value<RequestEntry>(value);
      if (entry.is_open) {
        if (store_.Get(KeyOf(KeyKind::kCall, entry.lsn)).value() != key) {
          Add("LOST call ", entry.lsn);
        }
        return Add("request ", KeyOfRequest(key), " ", entry.fingerprint.high,
                   " ", entry.lsn, " ", FormatPid(entry.pid), " open");
      }
      if (!store_
               .Get(KeyOf(KeyKind::kOrder, IdKindIn(key), entry.expires_ns,
                          entry.lsn))
               .value()
               .has_value()) {
        Add("LOST order of id ", IdIn(key));
      }
      if (entry.expires_ns < meta.store_ns) return;
      Add("request ", KeyOfRequest(key), " ", entry.fingerprint.high, " ",
          entry.lsn, " ", FormatPid(entry.pid), MoreOf(key, entry), " until ",
          entry.expires_ns);
    });
    uint64_t open = 0;
    Each(KeyKind::kRequest, [&](auto, auto value) {
      if (Value<RequestEntry>(value).is_open) ++open;
    });
    Each(KeyKind::kCall, [&](auto, auto) { --open; });
    if (open != 0) Add("LOST call without an id");
    uint64_t answers = 0;
    Each(KeyKind::kAnswer, [&](auto, auto) { ++answers; });
    if (answers != meta.call_ids) Add("LOST answers of calls: ", answers);
    uint64_t orders = 0;
    Each(KeyKind::kOrder, [&](auto, auto) { ++orders; });
    if (orders !=
        meta.submit_ids + meta.message_ids + meta.call_ids + meta.yield_ids) {
      Add("LOST count of ids: ", orders);
    }
    Each(KeyKind::kOwner, [&](auto key, auto value) {
      Add("owner ", static_cast<int>(OwnerIn(key)), " ", value);
    });
    Each(KeyKind::kPlugin, [&](auto key, auto value) {
      const auto plugin = Value<records::Plugin>(value);
      if (key != KeyOf(KeyKind::kPlugin, plugin.number)) Add("LOST plugin");
      Add("plugin ", plugin.number, " ", plugin.sha256.substr(0, 1), " ",
          plugin.name, " ", plugin.version);
    });
    Each(KeyKind::kHistory, [&](auto key, auto value) {
      const auto entry = Value<HistoryEntry>(value);
      const Pid pid = PidIn(key, 2);
      Add("history ", FormatPid(pid), " ", NumberIn(key, 18), " consumed ",
          entry.consumed.size());
      std::optional<records::Any> step;
      if (!records::Decode(static_cast<uint16_t>(records::Kind::kStep), 0,
                           entry.step, step)
               .ok()) {
        Add("LOST step ", NumberIn(key, 18));
      }
      for (const Consumed& one : entry.consumed) {
        Add("consumed ", one.position, " ",
            EventOf(pid, one.position, one.mail, key));
      }
    });
    Each(KeyKind::kBody, [&](auto key, auto value) {
      if (!store_.Get(value).value().has_value()) {
        Add("LOST holder of body ", NumberIn(key, 2));
      }
    });
    std::sort(lines_.begin(), lines_.end());
    return std::move(lines_);
  }

 private:
  static std::string KeyOfRequest(std::string_view key) {
    static constexpr const char* kKinds[] = {"", "submit", "message", "call",
                                             "yield"};
    std::string id(IdIn(key));
    if (IdKindIn(key) == kYieldId) {
      const YieldToken token = YieldOfId(id);
      id = FormatPid(token.pid) + " " + std::to_string(token.tag);
    }
    return std::string(kKinds[IdKindIn(key)]) + " " +
           std::to_string(static_cast<int>(OwnerIn(key))) + " " + id;
  }
  std::string MoreOf(std::string_view key, const RequestEntry& entry) {
    if (IdKindIn(key) == kYieldId) {
      return " attempts " + std::to_string(entry.attempts) + " of " +
             std::to_string(static_cast<int>(entry.worker_owner));
    }
    if (IdKindIn(key) != kCallId) return "";
    const auto bytes = store_.Get(KeyOf(KeyKind::kAnswer, entry.lsn)).value();
    if (!bytes.has_value()) return " LOST answer";
    const auto answer = Value<CallAnswer>(*bytes);
    if (answer.callee_ended) return " answer ended";
    return " answer " + std::to_string(answer.status) + " " +
           answer.payload.bytes;
  }

  template <typename... Parts>
  void Add(const Parts&... parts) {
    std::ostringstream text;
    ((text << parts), ...);
    lines_.push_back(text.str());
  }
  template <typename Use>
  void Each(KeyKind kind, Use use) {
    const std::string first = KeyOf(kind);
    std::vector<std::pair<std::string, std::string>> found;
    const absl::Status status =
        store_.Scan(first, BehindPrefix(first),
                    [&](std::string_view k, std::string_view v) {
                      found.emplace_back(k, v);
                      return true;
                    });
    if (!status.ok()) Add("damaged: ", status.ToString());
    for (const auto& [key, value] : found) {
      use(std::string_view(key), std::string_view(value));
    }
  }
  template <typename T>
  T Value(std::string_view bytes) {
    T value;
    const absl::Status status = DecodeFields(bytes, value);
    if (!status.ok()) Add("damaged: ", status.ToString());
    return value;
  }

  void Process(std::string_view key, std::string_view value) {
    const Pid pid = PidIn(key, 2);
    const std::string name = FormatPid(pid);
    const auto entry = Value<ProcessEntry>(value);
    const records::RuntimeImage& image = entry.runtime;
    ExpectedState::Life life;
    life.type = entry.process_type;
    life.plugin = entry.plugin;
    life.method = entry.method;
    life.started = entry.started;
    life.input = entry.input.bytes;
    life.image =
        Value<ImageEntry>(
            store_.Get(KeyOf(KeyKind::kImage, pid)).value().value_or(""))
            .image;
    life.turn = image.turn;
    life.cancel_requested = image.cancel_requested;
    life.traps = image.traps_exits;
    life.owner = static_cast<uint16_t>(image.owner);
    life.priority = image.priority;
    life.keep_result = image.keep_result;
    life.parent = image.parent;
    life.spawn = entry.yield;
    life.lifetime = image.lifetime_ns;
    Add("process ", name, " ", LifeText(life));
    for (const records::YieldImage& yield : image.yields) {
      ExpectedState::Yield one;
      one.is_call = yield.kind == records::YieldKind::kCall;
      one.text = yield.payload.bytes;
      one.deadline = yield.deadline_ns;
      one.attempts = yield.attempts;
      one.worker = yield.worker;
      one.worker_owner = static_cast<uint16_t>(yield.worker_owner);
      one.callee = yield.callee;
      one.failed = yield.failed;
      one.cancelled = yield.cancelled;
      one.answer = yield.answer;
      Add("yield ", name, " ", YieldText(yield.tag, one));
    }
    for (const records::OwedCall& owed : image.owed_calls) {
      Add("owed ", name, " ", owed.call, " ", FormatPid(owed.caller), " ",
          owed.tag);
    }
    for (const records::Watch& watch : image.watches) {
      Add("watch ", name, " ", FormatPid(watch.other), " ", watch.tag);
    }
    for (const records::Watch& watch : image.watchers) {
      Add("watcher ", name, " ", FormatPid(watch.other), " ", watch.tag);
    }
    for (const std::string& held : image.names) {
      const auto holder = store_.Get(KeyOf(KeyKind::kName, image.owner, held));
      std::string self;
      keys::Append(pid, self);
      if (holder.value() != self) Add("LOST name ", held, " of ", name);
    }
  }

  std::string EventOf(const Pid& to, uint64_t position, const Mail& mail,
                      std::string_view key) {
    ExpectedState::Event event;
    event.to = to;
    event.what = static_cast<ExpectedState::What>(mail.kind);
    event.from = mail.from;
    event.tag = mail.tag;
    event.status = mail.status;
    if (mail.body.has_value()) {
      event.topic = mail.body->topic;
      event.text = mail.body->payload.bytes;
      return EventText(event);
    }
    // Its body is in the journal, and the index leads back to it.
    const auto indexed = store_.Get(KeyOf(KeyKind::kBody, position)).value();
    if (indexed != std::string(key)) Add("LOST index of body ", position);
    const absl::StatusOr<SourceRecord> source = source_.At(mail.lsn);
    std::optional<records::Any> record;
    if (!source.ok() ||
        !records::Decode(source->kind, source->flags, source->payload, record)
             .ok()) {
      return "LOST body";
    }
    const absl::StatusOr<StoredBody> body =
        BodyIn(*record, position - mail.lsn, buffers_);
    if (!body.ok()) return "LOST body";
    event.topic = body->topic;
    event.text = body->payload.bytes;
    return EventText(event);
  }

  StateStore& store_;
  RecordSource& source_;
  BufferPool pool_;
  BufferCache buffers_{pool_};
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> TextOf(StateStore& store, RecordSource& source) {
  return StoreText(store, source).Write();
}

}  // namespace actord::runtime
