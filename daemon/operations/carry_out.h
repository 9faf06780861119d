// Carries out one submission, one send or one completion, for unary calls and
// streams: checks the request, looks up its id, performs it, and answers.
//
// Thread-safety: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "actord/v1/process.pb.h"
#include "daemon/access/access.h"
#include "daemon/access/request_trace.h"
#include "daemon/operations/find_process.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/actors/request_ids.h"
#include "runtime/process/errors.h"
#include "runtime/runtime.h"
#include "runtime/table/home_pid.h"

namespace actord::daemon {

// Returns INVALID_ARGUMENT: `id`, the value of `field`, belongs to another
// request.
absl::Status IdReused(const char* field, const std::string& id);

// OK, or the reason why the access may not send to the process. Looks the type
// of the process up only if the access depends on it.
absl::Status CheckReceiver(const runtime::Runtime& runtime,
                           const Access& access, const runtime::Pid& pid);
// The members of a group (find_process.h), or the reason why the access may not
// send to one of them.
absl::StatusOr<std::vector<runtime::Pid>> FindReceivers(
    const runtime::Runtime& runtime, const Access& access, const Address& to);
// CheckReceiver for the holder of the name, if there is one. The holder may
// change afterwards: the processes decide who holds a name.
absl::Status CheckHolder(const runtime::Runtime& runtime, const Access& access,
                         const std::string& name);
// nullopt: the access may answer the yield. Otherwise the result for the
// answer: an error, or kUnknown for a yield that the access does not see and
// that no worker of its owner has held. The answer to a yield that does not
// wait has no effect.
std::optional<absl::StatusOr<runtime::CompleteAnswer>> CheckYield(
    runtime::Runtime& runtime, const Access& access,
    const runtime::YieldToken& token);

// Submits `request`, and moves the payloads out of `request`.
// Calls `done(const absl::StatusOr<Pid>&, bool duplicate, bool delivered)`
// exactly once, on this thread or another thread, also when the runtime shuts
// down. `done` is copied; a `done` of up to two words needs no allocation. The
// runtime and `ids` are borrowed until `done` is called.
template <typename Done>
void CarryOutSubmit(runtime::Runtime& runtime, const Access& access,
                    runtime::RequestIds& ids, v1::SubmitRequest* request,
                    Done done) {
  const RequestTrace trace(*request);
  absl::StatusOr<runtime::SubmitRequest> submit =
      ReadSubmit(request, runtime::PayloadLimit(runtime.limits()));
  const absl::StatusOr<bool> delivers =
      submit.ok() ? ReadNameConflict(*request) : submit.status();
  if (!delivers.ok()) {
    done(delivers.status(), false, false);
    return;
  }
  absl::Status allowed = access.MaySubmit(submit->process_type);
  submit->owner = access.owner();
  if (allowed.ok() && *delivers && !submit->name.empty()) {
    allowed = CheckHolder(runtime, access, submit->name);
  }
  if (!allowed.ok()) {
    done(allowed, false, false);
    return;
  }
  const auto start = [&](auto started) {
    if (!*delivers || submit->name.empty()) {
      runtime.Submit(*submit,
                     [started](const absl::StatusOr<runtime::Pid>& pid) {
                       started(pid, false);
                     });
      return;
    }
    runtime.SubmitOrDeliver(
        *std::move(submit),
        [started](const absl::StatusOr<runtime::Submitted>& answer) {
          if (answer.ok()) {
            started(answer->pid, answer->delivered);
          } else {
            started(answer.status(), false);
          }
        });
  };
  const std::string& id = request->request_id();
  if (id.empty()) {
    start([done](const absl::StatusOr<runtime::Pid>& pid, bool delivered) {
      done(pid, false, delivered);
    });
    return;
  }
  const runtime::Fingerprint content = Fingerprint(ids.content_key(), *submit);
  const auto key = ids.KeyOf(access.owner(), id);
  const runtime::RequestIds::Role role =
      ids.Begin(key, content, [done](const absl::StatusOr<runtime::Pid>& pid) {
        done(pid, true, false);
      });
  if (role == runtime::RequestIds::Role::kReused) {
    done(IdReused("request_id", id), false, false);
  } else if (role == runtime::RequestIds::Role::kFirst) {
    submit->request_id = runtime::RequestId{id, content, access.owner()};
    start([&ids, key, done](const absl::StatusOr<runtime::Pid>& pid,
                            bool delivered) {
      // End comes before the answer, so that the id is remembered when the
      // client has the answer.
      ids.End(key, pid);
      done(pid, false, delivered);
    });
  }
}

// Reads the message of `request`, which is moved out of it, and finds the
// receiver. An error is the reason why the message is not sent. Precondition:
// the message goes to one process, and to no group.
absl::StatusOr<runtime::Pid> ReadMessageTo(const runtime::Runtime& runtime,
                                           const Access& access,
                                           v1::SendRequest* request,
                                           runtime::Message& message);

// WhenDurable for the message that `sender` has sent. A unary call, whose
// sender is the runtime, may write the record on its thread. A stream continues
// to read.
template <typename Sender>
void WhenSent(const runtime::Runtime& runtime, const Sender& /*sender*/,
              uint64_t position, absl::AnyInvocable<void() &&> then) {
  if constexpr (std::is_same_v<Sender, runtime::Runtime>) {
    runtime.WhenDurableHere(position, std::move(then));
  } else {
    runtime.WhenDurable(position, std::move(then));
  }
}

// How a message was sent.
struct SendResult {
  bool is_duplicate = false;
  // The message is on the disk, for each process that has it.
  bool is_logged = false;
  // Of a message to a group: the members whose mailboxes have it, and the live
  // members that were refused it.
  uint32_t delivered = 0;
  uint32_t refused = 0;
};

// Sends `message` to each member. A refusal keeps it from that member alone.
// `position`: where the last record of a durable member ends. OK: a member has
// the message; otherwise the first refusal.
template <typename Sender>
absl::Status SendToMembers(const std::vector<runtime::Pid>& members,
                           const Access& access, Sender& sender,
                           const runtime::Message& message, uint64_t& position,
                           SendResult& sent) {
  absl::Status refusal;
  bool is_logged = true;
  for (const runtime::Pid& pid : members) {
    uint64_t end = 0;
    absl::Status status =
        sender.Send(pid, message, access.sees(), &end, nullptr);
    position = std::max(position, end);
    if (status.ok()) {
      ++sent.delivered;
      is_logged = is_logged && end != 0;
    } else if (runtime::ReasonOf(status) != runtime::reason::kProcessEnded) {
      ++sent.refused;
      if (refusal.ok()) refusal = std::move(status);
    }
  }
  sent.is_logged = is_logged && sent.delivered != 0;
  // The gate has charged one of them.
  if (ClientQuota* const quota = access.quota(); quota != nullptr) {
    const size_t more = members.size() - 1;
    quota->Charge(more, more * message.payload.bytes.size());
  }
  if (sent.delivered != 0) return absl::OkStatus();
  return refusal.ok() ? NoMembers() : refusal;
}

// Moves the payload out of `request`, sends the message, and calls `done(const
// absl::Status&, const SendResult&)` exactly once, on this thread or another
// thread. `sender` is the runtime, or a BulkSender of the runtime. `message`
// may contain anything; its memory is swapped with the memory of `request`, and
// so reused. Returns the refusal of the message if it is known already, perhaps
// before `done` is called with it; otherwise OK.
template <typename Sender, typename Done>
absl::Status CarryOutSend(const runtime::Runtime& runtime, const Access& access,
                          Sender& sender, runtime::RequestIds& ids,
                          v1::SendRequest* request, runtime::Message& message,
                          Done done) {
  const RequestTrace trace(*request);
  Address to;
  const absl::Status status =
      ReadSend(request, runtime::PayloadLimit(runtime.limits()), to, message);
  if (!status.ok()) {
    done(status, SendResult());
    return status;
  }
  uint64_t position = 0;
  if (to.is_group) {
    SendResult sent;
    const absl::StatusOr<std::vector<runtime::Pid>> members =
        FindReceivers(runtime, access, to);
    const absl::Status result =
        members.ok()
            ? SendToMembers(*members, access, sender, message, position, sent)
            : members.status();
    WhenSent(runtime, sender, position,
             [done, result, sent] { done(result, sent); });
    return result;
  }
  const auto send =
      [&](const runtime::RequestId* id) -> absl::StatusOr<runtime::Pid> {
    const absl::StatusOr<runtime::Pid> pid = Resolve(runtime, access, to);
    if (!pid.ok()) return pid.status();
    absl::Status allowed = CheckReceiver(runtime, access, *pid);
    if (!allowed.ok()) return allowed;
    absl::Status sent =
        sender.Send(*pid, message, access.sees(), &position, id);
    if (!sent.ok()) return sent;
    return *pid;
  };
  if (request->message_id().empty()) {
    const absl::Status sent = send(nullptr).status();
    if (position == 0) {
      done(sent, SendResult());
    } else {
      WhenSent(runtime, sender, position, [done, sent] {
        done(sent, SendResult{.is_logged = sent.ok()});
      });
    }
    return sent;
  }
  const runtime::RequestId id = {std::move(*request->mutable_message_id()),
                                 Fingerprint(ids.content_key(), to, message),
                                 access.owner()};
  const auto key = ids.KeyOf(id.owner, id.id);
  const runtime::RequestIds::Role role = ids.Begin(
      key, id.fingerprint, [done](const absl::StatusOr<runtime::Pid>& sent) {
        done(sent.status(),
             SendResult{.is_duplicate = true,
                        .is_logged = sent.ok() && runtime::IsHomePid(*sent)});
      });
  if (role == runtime::RequestIds::Role::kReused) {
    absl::Status reused = IdReused("message_id", id.id);
    done(reused, SendResult());
    return reused;
  }
  if (role == runtime::RequestIds::Role::kFirst) {
    const absl::StatusOr<runtime::Pid> sent = send(&id);
    // End comes before the answer, so that the id is remembered when the client
    // has the answer. A repeat waits, too, until the message is durable.
    const auto end = [&ids, key, sent, done, position] {
      ids.End(key, sent);
      done(sent.status(), SendResult{.is_logged = sent.ok() && position != 0});
    };
    if (position == 0) {
      end();
    } else {
      WhenSent(runtime, sender, position, end);
    }
    return sent.status();
  }
  return absl::OkStatus();
}

// The answer, or the error of an answer after which the yield stays pending:
// MAILBOX_FULL, NOT_RESTORED or PROCESS_QUARANTINED.
absl::StatusOr<runtime::CompleteAnswer> AnswerOrError(
    const runtime::Runtime& runtime, const runtime::YieldToken& token,
    runtime::CompleteAnswer answer);

// Completes the yield or task of `completion`, and returns whether the
// completion was accepted. The errors of AnswerOrError; nothing was changed
// then.
absl::StatusOr<runtime::CompleteAnswer> CarryOutCompletion(
    runtime::Runtime& runtime, const Access& access,
    const Completion& completion);

}  // namespace actord::daemon
