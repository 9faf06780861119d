// Records of a call, with something of each kind, for the tests of their bytes.
//
// Thread-safety: one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/step/record_format.h"

namespace actord::runtime {

class Records : public ::testing::Test {
 protected:
  Content NewContent(uint16_t type, std::string_view topic,
                     std::string_view bytes, std::string_view content_type) {
    return Content(Envelope::Create(buffers_, type, topic,
                                    {ToAbi(bytes), ToAbi(content_type)}));
  }
  // One item of each kind that a step's record may have.
  std::string OneOfEachKind() {
    const Pid other{1, 7, 12, 3};
    actord_event message{};
    message.type = ACTORD_EVENT_MESSAGE;
    message.from = ToAbi(other);
    message.call = 99;
    message.topic = ToAbi(std::string_view("topic"));
    message.payload = TextPayload("bytes");
    actord_event exit{};
    exit.type = ACTORD_EVENT_EXIT;
    exit.status = ACTORD_ABORTED;
    exit.tag = 4;
    exit.from = ToAbi(other);
    exit.reason = ACTORD_EXIT_FAILED;
    const actord_event* const events[] = {&message, &exit};
    AtomicPid parent;
    parent.Store({1, 7, 1, 1});
    const TurnInput input{.self = {1, 7, 2, 5},
                          .parent = &parent,
                          .step = 17,
                          .next_tag = 21,
                          .max_steps = 1000,
                          .yields = 2,
                          .replies = 1,
                          .cancel_requested = true,
                          .more_events = true,
                          .events = events};
    StepRecord record;
    record.verdict = ACTORD_STEP_FAIL;
    record.next_tag = 24;
    record.answers = {
        UnixTimeAnswer{1'700'000'000'000'000'000},
        MonotonicTimeAnswer{12345},
        RandomAnswer{0x0123456789abcdef},
        ReserveChildAnswer{
            "type", "method", 16, {1, 7, 3, 9}, SpawnRefusal::kUnknownMethod},
        HolderAnswer{"name", other},
        RoomForTieAnswer{3, true},
        PayloadLimitAnswer{1 << 20}};
    Content send = NewContent(ACTORD_EVENT_MESSAGE, "topic", "payload", "a/b");
    send->from = ToAbi(input.self);
    Content yield = NewContent(ACTORD_EVENT_COMPLETION, "command", "{}", "");
    yield->completion.tag = 21;
    const actord_work_policy policy{.struct_size = sizeof(policy),
                                    .max_attempts = 3,
                                    .lease_ns = 1,
                                    .attempt_timeout_ns = 2,
                                    .start_timeout_ns = 3,
                                    .backoff_ns = 4,
                                    .max_backoff_ns = 5};
    const std::string policy_bytes(reinterpret_cast<const char*>(&policy),
                                   sizeof(policy));
    Content call =
        NewContent(kEventCall, std::string(8, '\0') + "ask", "?", "");
    call->WriteHeader(CallHeader{22});
    call->from = ToAbi(input.self);
    Content reply = NewContent(ACTORD_EVENT_COMPLETION, "", "answer", "");
    reply->completion.status = ACTORD_NOT_FOUND;
    Add(record, SendEffect{std::move(send), other});
    Add(record, SpawnEffect{NewContent(ACTORD_EVENT_MESSAGE, "", "input", ""),
                            {1, 7, 3, 9},
                            23,
                            SpawnRefusal::kUnknownMethod,
                            true,
                            true});
    Add(record,
        SpawnEffect{{}, {1, 7, 4, 1}, 0, SpawnRefusal::kNone, false, false});
    Add(record,
        YieldEffect{std::move(yield), 1'000'000,
                    NewContent(ACTORD_EVENT_COMPLETION, "", policy_bytes, "")});
    Add(record, CallEffect{std::move(call), other, 2'000'000});
    Add(record, ReplyEffect{std::move(reply), 99});
    Add(record, TieEffect{TieEffect::Kind::kUnlink, other, 0});
    Add(record, CancelEffect{20});
    Content publication =
        NewContent(ACTORD_EVENT_MESSAGE, "room/7", "move", "a/b");
    publication->from = ToAbi(input.self);
    Add(record, PublishEffect{std::move(publication)});
    Add(record, LogEffect{ACTORD_LOG_WARNING,
                          NewContent(ACTORD_EVENT_MESSAGE, "", "a line", "")});
    record.result = {"result", "text/plain"};
    record.failure_code = absl::StatusCode::kAborted;
    record.failure = "why";
    record.misuse = absl::InvalidArgumentError("a rule");
    record.thrown = "threw: it";
    std::string bytes;
    EncodeRecord(input, record, bytes);
    Free(record);
    return bytes;
  }
  // Of a step after which the process begins again.
  static std::string OfNextLife() {
    const TurnInput input{.self = {1, 7, 2, 5}, .step = 18, .events = {}};
    StepRecord record;
    record.verdict = ACTORD_STEP_CONTINUE_AS;
    record.next_tag = 24;
    record.continuation = std::make_unique<Continuation>(
        Continuation{"method", {"input", "text/plain"}, "unseen"});
    std::string bytes;
    EncodeRecord(input, record, bytes);
    return bytes;
  }
  static std::string OfInit() {
    const std::string text = "input";
    TurnInput input{.self = {1, 7, 2, 5}, .events = {}};
    input.init = {.struct_size = sizeof(actord_init),
                  .method = 1,
                  .input = TextPayload(text)};
    StepRecord record;
    record.answers = {PayloadLimitAnswer{4096}};
    std::string bytes;
    EncodeRecord(input, record, bytes);
    return bytes;
  }
  // The record's bytes when it has been read and written again; the error, if
  // it cannot be read.
  std::string Again(std::string_view bytes) {
    DecodedRecord decoded;
    const absl::Status status = DecodeRecord(bytes, buffers_, decoded);
    if (!status.ok()) return "refused: " + std::string(status.message());
    std::string again;
    EncodeRecord(decoded, again);
    FreeContents(decoded, buffers_);
    return again;
  }

  BufferPool pool_;
  BufferCache buffers_{pool_};

 private:
  template <typename Kind>
  static void Add(StepRecord& record, Kind effect) {
    record.effects.emplace_back(std::move(effect));
  }
  void Free(StepRecord& record) {
    struct {
      void Free(Envelope* envelope) { Envelope::Destroy(buffers, envelope); }
      BufferCache& buffers;
    } freer{buffers_};
    for (Effect& effect : record.effects) FreeContent(effect, freer);
  }
};

}  // namespace actord::runtime
