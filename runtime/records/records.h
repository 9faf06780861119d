// The records of the journal: one type for each kind. docs/journal-format.md
// describes them byte by byte, and record_codec.h encodes and decodes them.
//
// Two clocks: `unix_ns` is the wall clock. All other times (`_ns`) are of the
// store's clock, which also runs during a downtime and never goes back.
//
// The position of body i of a record is its lsn + i (position.h).
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/position.h"
#include "runtime/records/runtime_image.h"

namespace actord::runtime::records {

// The kinds in the headers of the records. Fixed for ever. Kind 1 is the
// journal's own (format.h).
enum class Kind : uint16_t {
  kSubmitted = 2,
  kStarted = 3,
  kInput = 4,
  kStep = 5,
  kDone = 6,
  kDropped = 7,
  kResent = 8,
  kForgotten = 9,
  kAttempt = 10,
  kYieldOver = 11,
  kEnded = 12,
  kUpgraded = 13,
  kPlugin = 14,
  kTime = 15,
  kCheckpoint = 16,
  kOwner = 17,
};

struct Body {
  Pid from = {};  // empty: from outside
  std::string topic = {};
  Payload payload = {};
  std::string unknown = {};
  friend bool operator==(const Body&, const Body&) = default;
};

// A request id or a message id of a client, which makes a repeated request do
// nothing.
struct RequestKey {
  std::string id = {};  // empty: none
  Fingerprint fingerprint = {};
  std::string unknown = {};
  friend bool operator==(const RequestKey&, const RequestKey&) = default;
};

// The number of a plugin file in the records of its store. The numbers of a
// store begin at 1.
using PluginNumber = uint32_t;
// The code is built in, or not known.
inline constexpr PluginNumber kNoPlugin = 0;

enum class Durability : uint8_t { kImage, kReplay };
constexpr Durability LastOf(Durability) { return Durability::kReplay; }

// A process was submitted, from outside or by process.spawn. Reserved before
// its name is registered and before its PID can be found.
struct Submitted {
  static constexpr Kind kKind = Kind::kSubmitted;
  Pid pid = {};
  std::string process_type = {};
  std::string method = {};
  Payload input = {};
  std::string name = {};            // empty: none
  std::vector<Body> messages = {};  // body i is message i
  RequestKey request = {};
  Pid parent = {};
  uint64_t yield = 0;    // the parent's process.spawn; 0: none
  uint64_t monitor = 0;  // tag of the parent's monitor; 0: none
  bool link = false;     // to the parent
  bool keep_result = false;
  uint8_t priority = 0;
  Owner owner = Owner::kNobody;
  Durability durability = Durability::kImage;
  uint64_t unix_ns = 0;
  uint64_t at_ns = 0;
  std::vector<std::string> labels = {};  // KEY=VALUE, in the order of the keys
  std::string unknown = {};
  friend bool operator==(const Submitted&, const Submitted&) = default;
};

// Init has returned OK.
struct Started {
  static constexpr Kind kKind = Kind::kStarted;
  Pid pid = {};
  TurnImage turn = {};
  uint64_t lifetime_ns = 0;
  std::optional<std::string> image = {};
  bool traps_exits = false;  // the end of a linked process is an event
  // The kind of durability. Needed for a child that a step has spawned, because
  // it has no SUBMITTED.
  Durability durability = Durability::kImage;
  // For a replay type: the answers that Init got, as a turn of record_format.h.
  std::string record = {};
  PluginNumber plugin = kNoPlugin;  // has run Init
  std::string unknown = {};
  friend bool operator==(const Started&, const Started&) = default;
};

enum class InputKind : uint8_t {
  kMessages,
  kCompletion,
  kCancel,
  kTerminate,
  kCall,  // from outside, with a request key; the store keeps its answer
};
constexpr InputKind LastOf(InputKind) { return InputKind::kCall; }

// A durable process has accepted an input from outside the durable set: 1 to 64
// messages, or one event; with a request key perhaps no message.
struct Input {
  static constexpr Kind kKind = Kind::kInput;
  Pid to = {};
  InputKind kind = InputKind::kMessages;
  // For kMessages: body i is message i. For kCall: one message, the call.
  std::vector<Body> messages = {};
  // For kCompletion: has no id. If it has a fingerprint, the completion is the
  // answer to an external task, which the store remembers.
  RequestKey request = {};
  Owner owner = Owner::kNobody;  // of the request's key
  uint64_t tag = 0;              // of kCompletion
  int32_t status = 0;            // of kCompletion
  // For kCompletion: body 0. For kCancel and kTerminate: the reason.
  Payload payload = {};
  uint64_t at_ns = 0;
  bool is_submit = false;  // the key is a request id of Submit
  // For kCancel: the time, on the store's clock, at which the process is
  // terminated unless it has ended; 0: never.
  uint64_t deadline_ns = 0;
  std::string unknown = {};
  friend bool operator==(const Input&, const Input&) = default;
};

struct Deadline {
  uint64_t tag = 0;
  uint64_t at_ns = 0;
  friend bool operator==(const Deadline&, const Deadline&) = default;
};

enum class EndReason : uint8_t {  // as EndKind (outcome.h)
  kResult,
  kFailed,
  kThrew,
  kInitRefused,
  kCancelled,
  kTerminated,
  kLimit,
};
constexpr EndReason LastOf(EndReason) { return EndReason::kLimit; }

struct End {
  EndReason reason = EndReason::kResult;
  Payload result = {};       // of kResult
  int32_t code = 0;          // an absl::StatusCode, of all other reasons
  std::string message = {};  // of all other reasons
  uint64_t unix_ns = 0;
  uint64_t at_ns = 0;
  std::string unknown = {};
  friend bool operator==(const End&, const End&) = default;
};

// The process begins again: Init of a new state is next.
struct Continued {
  std::string method = {};
  Payload input = {};
  // The events that the first step gets first: a turn of record_format.h.
  std::string unseen = {};
  std::string unknown = {};
  friend bool operator==(const Continued&, const Continued&) = default;
};

// The position of the first event that a step hands on to the next life of its
// process. The others follow. `step`: the position of the record. The effects
// of the step have the positions before; the record has at least a byte for
// each effect and each event, so no other record has these positions.
constexpr uint64_t UnseenPosition(uint64_t step, size_t effects) {
  return step + effects + 1;
}

// A step has returned well. Reserved before any of its effects is published.
struct Step {
  static constexpr Kind kKind = Kind::kStep;
  Pid pid = {};
  TurnImage turn = {};
  // The events of the step that have a position.
  Positions consumed = {};
  // The events without a position (timeouts, exits, link ends, and messages
  // from a volatile process or a caller outside), the answers and the effects,
  // as EncodeTurn (step/record_format.h) writes them. Effect i is body i.
  std::string record = {};
  // The deadlines of the yields and calls among the effects.
  std::vector<Deadline> deadlines = {};
  std::optional<std::string> image = {};  // unset: unchanged
  std::optional<End> end = {};            // the process ends with this step
  uint64_t at_ns = 0;
  // For a replay type, if the step had events of both kinds: bit i % 8 of byte
  // i / 8 is set if event i is the next one of `consumed`, and clear if it is
  // the next one of `record`. Empty: the events of `consumed` come first.
  std::string order = {};
  // The process begins again with this step. Its outstanding yields are over,
  // and a STARTED follows.
  std::optional<Continued> continued = {};
  std::string unknown = {};
  friend bool operator==(const Step&, const Step&) = default;
};

enum class Command : uint8_t {
  kOther,  // changes nothing durable; only the completion counts
  kRegisterName,
  kReleaseName,
  kJoinGroup,
  kLeaveGroup,
  kSend,
  kCancel,
  kTerminate,
  // A volatile child has begun, with ties to the process. (For a durable child
  // SUBMITTED has the ties; a volatile child without ties is an INPUT.)
  kSpawn,
};
constexpr Command LastOf(Command) { return Command::kSpawn; }

// A built-in command of a durable process was carried out, or refused. It is
// the completion of the yield, as body 0.
struct Done {
  static constexpr Kind kKind = Kind::kDone;
  Pid pid = {};
  uint64_t tag = 0;
  Command command = Command::kOther;
  int32_t status = 0;  // an ACTORD_ error: nothing was done
  Payload result = {};
  std::string name = {};  // the name or the group
  Pid target = {};  // for kSend, kCancel and kTerminate; for kSpawn the child
  // Body 1: for kSend the message; for kCancel and kTerminate the reason.
  std::optional<Body> message = {};
  // For kSend: further receivers of the same message, as bodies 2, 3 and so on.
  std::vector<Pid> others = {};
  bool link = false;     // for kSpawn: the process and the child are linked
  bool monitor = false;  // for kSpawn: the process has a monitor with this tag
  std::string unknown = {};
  friend bool operator==(const Done&, const Done&) = default;
};

enum class DropReason : uint8_t {  // up to kDroppedAtEnd: DeadLetterReason
  kUnknownProcess,
  kEnded,
  kMailboxFull,
  kDroppedAtEnd,
  kQuarantined,  // only of a call: the callee is in quarantine
  kYieldLimit,   // only of a call: the caller has too many outstanding yields
};
constexpr DropReason LastOf(DropReason) { return DropReason::kYieldLimit; }

// Messages and calls could not be delivered. A message becomes a dead letter
// with its own position as id, unless its sender was told. A call fails. If the
// messages belong to an INPUT with a request key, the key is forgotten. Without
// one, `owner` is the owner of dead letters whose receiver had ended.
struct Dropped {
  static constexpr Kind kKind = Kind::kDropped;
  Pid to = {};
  Positions positions = {};
  DropReason reason = DropReason::kUnknownProcess;
  std::string request = {};      // the id of that key; empty: none
  Owner owner = Owner::kNobody;  // of the id, or of the dead letters
  bool is_submit = false;        // as in INPUT
  bool is_told = false;          // the sender of the messages
  bool is_call = false;          // the id belongs to a call
  std::string unknown = {};
  friend bool operator==(const Dropped&, const Dropped&) = default;
};

// A dead letter was sent again: body 0.
struct Resent {
  static constexpr Kind kKind = Kind::kResent;
  Position letter = {};
  Pid to = {};
  std::string unknown = {};
  friend bool operator==(const Resent&, const Resent&) = default;
};

// These messages are no longer dead letters, or never were.
struct Forgotten {
  static constexpr Kind kKind = Kind::kForgotten;
  Positions letters = {};
  std::string unknown = {};
  friend bool operator==(const Forgotten&, const Forgotten&) = default;
};

// An external task is about to be handed to a worker.
struct Attempt {
  static constexpr Kind kKind = Kind::kAttempt;
  Pid pid = {};
  uint64_t tag = 0;
  uint32_t attempt = 0;  // from 1
  std::string worker = {};
  uint64_t lease_ns = 0;                // when the lease ends
  Owner worker_owner = Owner::kNobody;  // of the worker
  std::string unknown = {};
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// A yield has failed without an answer: its completion is body 0.
struct YieldOver {
  static constexpr Kind kKind = Kind::kYieldOver;
  Pid pid = {};
  uint64_t tag = 0;
  int32_t status = 0;
  Payload payload = {};
  std::string unknown = {};
  friend bool operator==(const YieldOver&, const YieldOver&) = default;
};

// A process has ended outside a step.
struct Ended {
  static constexpr Kind kKind = Kind::kEnded;
  Pid pid = {};
  End end = {};
  // The events that the failed step has taken. They do not become dead letters.
  Positions consumed = {};
  std::string unknown = {};
  friend bool operator==(const Ended&, const Ended&) = default;
};

// Restore of another version has returned OK. The outstanding commands stay.
struct Upgraded {
  static constexpr Kind kKind = Kind::kUpgraded;
  Pid pid = {};
  PluginNumber from = kNoPlugin;
  PluginNumber to = kNoPlugin;
  bool traps_exits = false;  // as in Started
  // For a replay type: it replaces the history. Unset: the image in the store
  // is also valid for the new version.
  std::optional<std::string> image = {};
  std::string unknown = {};
  friend bool operator==(const Upgraded&, const Upgraded&) = default;
};

// Assigns a number to a plugin file, for ever. Reserved after the file
// `plugins/<sha256>.so` is durable, and before a type of the plugin is in
// force.
struct Plugin {
  static constexpr Kind kKind = Kind::kPlugin;
  PluginNumber number = kNoPlugin;
  std::string name = {};
  std::string version = {};
  std::string sha256 = {};  // 32 bytes
  std::string unknown = {};
  friend bool operator==(const Plugin&, const Plugin&) = default;
};

struct Time {
  static constexpr Kind kKind = Kind::kTime;
  uint64_t unix_ns = 0;
  uint64_t store_ns = 0;
  std::string unknown = {};
  friend bool operator==(const Time&, const Time&) = default;
};

// The state store is durable up to `applied`, and records before `trim` are no
// longer needed. Only for people who read a journal; the store itself decides.
struct Checkpoint {
  static constexpr Kind kKind = Kind::kCheckpoint;
  Position applied = {};
  Position trim = {};
  std::string unknown = {};
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Assigns the number of an owner to a name, for ever. Reserved before any
// record that belongs to the owner.
struct OwnerName {
  static constexpr Kind kKind = Kind::kOwner;
  Owner owner = Owner::kNobody;
  std::string name = {};
  std::string unknown = {};
  friend bool operator==(const OwnerName&, const OwnerName&) = default;
};

using Any = std::variant<Submitted, Started, Input, Step, Done, Dropped, Resent,
                         Forgotten, Attempt, YieldOver, Ended, Upgraded, Plugin,
                         Time, Checkpoint, OwnerName>;

}  // namespace actord::runtime::records
