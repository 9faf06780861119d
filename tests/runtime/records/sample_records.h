// Records of each kind with all their fields set, for the tests of their bytes.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/record_codec.h"
#include "runtime/records/records.h"
#include "runtime/step/record_format.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

inline std::string SampleTurn() {
  BufferPool pool;
  BufferCache buffers(pool);
  actord_event exit{};
  exit.type = ACTORD_EVENT_EXIT;
  exit.tag = 4;
  exit.from = ToAbi(HomePid(3, 1, 12, 3));
  exit.reason = ACTORD_EXIT_FAILED;
  const actord_event* const events[] = {&exit};
  StepRecord record;
  record.answers = {MonotonicTimeAnswer{12345}};
  Content content(Envelope::Create(
      buffers, ACTORD_EVENT_MESSAGE, "topic",
      {ToAbi(std::string_view("payload")), ToAbi(std::string_view("a/b"))}));
  content->from = ToAbi(HomePid(5, 2, 7, 1));
  record.effects.emplace_back(
      SendEffect{std::move(content), HomePid(3, 1, 12, 3)});
  std::string turn;
  EncodeTurn(events, record, turn);
  struct {
    void Free(Envelope* envelope) { Envelope::Destroy(buffers, envelope); }
    BufferCache& buffers;
  } freer{buffers};
  for (Effect& effect : record.effects) FreeContent(effect, freer);
  return turn;
}

inline std::vector<records::Any> SampleRecords() {
  using namespace records;  // NOLINT(google-build-using-namespace)
  const Pid pid = HomePid(5, 2, 7, 1);
  const Pid other = HomePid(255, 1, 300, 70'000);
  const std::string digest(32, '\xd1');
  const TurnImage turn{.next_tag = 9,
                       .step = 4,
                       .verdict = 1,
                       .blocked = true,
                       .step_due = true,
                       .cancel_seen = true};
  const Payload payload{"bytes", "a/b"};
  const RequestKey key{.id = "order-1",
                       .fingerprint = {0x0123456789abcdef, 0xfedcba9876543210}};
  const Body body{.from = other, .topic = "topic", .payload = payload};
  const End end{.reason = EndReason::kLimit,
                .result = payload,
                .code = 8,
                .message = "why",
                .unix_ns = 1'700'000'000'000'000'000,
                .at_ns = 77};
  return {
      Submitted{.pid = pid,
                .process_type = "counter",
                .method = "method",
                .input = payload,
                .name = "name",
                .messages = {body, Body{}},
                .request = key,
                .parent = other,
                .yield = 3,
                .monitor = 4,
                .link = true,
                .keep_result = true,
                .priority = 16,
                .owner = Owner{2},
                .durability = Durability::kReplay,
                .unix_ns = 1'700'000'000'000'000'000,
                .at_ns = 76,
                .labels = {"a=b", "c="}},
      Started{.pid = pid,
              .turn = turn,
              .lifetime_ns = 99,
              .image = "image",
              .traps_exits = true,
              .durability = Durability::kReplay,
              .plugin = 3},
      Input{.to = pid,
            .messages = {body},
            .request = key,
            .owner = Owner{2},
            .at_ns = 78},
      Input{.to = pid,
            .kind = InputKind::kCompletion,
            .request = key,
            .owner = Owner{2},
            .tag = 6,
            .status = -3,
            .payload = payload,
            .at_ns = 79},
      Step{.pid = pid,
           .turn = turn,
           .consumed = {{{.lsn = 4096},
                         {.lsn = 4104},
                         {.lsn = 96, .stream = 2, .epoch = 1}}},
           .record = SampleTurn(),
           .deadlines = {{.tag = 8, .at_ns = 1'000'000}},
           .image = "",
           .end = end,
           .at_ns = 80},
      Done{.pid = pid,
           .tag = 7,
           .command = Command::kSend,
           .status = 5,
           .result = payload,
           .name = "name",
           .target = other,
           .message = body},
      Dropped{.to = other,
              .positions = {{{.lsn = 4104}, {.lsn = 4097}}},
              .reason = DropReason::kMailboxFull},
      Resent{.letter = {.lsn = 4104, .stream = 1, .epoch = 9}, .to = other},
      Forgotten{.letters = {{{.lsn = 4104}}}},
      Attempt{.pid = pid,
              .tag = 7,
              .attempt = 2,
              .worker = "worker-1",
              .lease_ns = 500},
      YieldOver{.pid = pid, .tag = 7, .status = 4, .payload = payload},
      Ended{.pid = pid, .end = end},
      Upgraded{.pid = pid,
               .from = 3,
               .to = 4,
               .traps_exits = true,
               .image = "image"},
      Plugin{.number = 4, .name = "bank", .version = "1.2", .sha256 = digest},
      Time{.unix_ns = 1'700'000'000'000'000'000, .store_ns = 81},
      Checkpoint{.applied = {.lsn = 8192}, .trim = {.lsn = 4096}},
      Input{.to = pid, .request = key, .at_ns = 82, .is_submit = true},
      Dropped{.to = other,
              .positions = {{{.lsn = 4104}}},
              .request = "order-1",
              .owner = Owner{2},
              .is_submit = true},
      OwnerName{.owner = Owner{2}, .name = "alice"},
      Done{.pid = pid, .tag = 7, .command = Command::kSend, .others = {other}},
      Done{.pid = pid,
           .tag = 7,
           .command = Command::kSpawn,
           .target = other,
           .link = true,
           .monitor = true},
      Started{.pid = pid,
              .turn = turn,
              .durability = Durability::kReplay,
              .record = SampleTurn()},
      Step{.pid = pid, .turn = turn, .at_ns = 83, .order = "\x05"},
      Dropped{.to = other, .positions = {{{.lsn = 4104}}}, .is_told = true},
      Ended{
          .pid = pid, .end = end, .consumed = {{{.lsn = 4104}, {.lsn = 4105}}}},
      Input{.to = pid,
            .kind = InputKind::kCancel,
            .payload = payload,
            .at_ns = 84,
            .deadline_ns = 90},
      Input{.to = pid,
            .kind = InputKind::kCall,
            .messages = {body},
            .request = key,
            .owner = Owner{2},
            .at_ns = 85},
      Dropped{.to = other,
              .positions = {{{.lsn = 4104}}},
              .request = "order-7",
              .is_told = true,
              .is_call = true},
      Attempt{.pid = pid,
              .tag = 7,
              .attempt = 3,
              .worker = "worker",
              .lease_ns = 500,
              .worker_owner = Owner{3}},
      Step{.pid = pid,
           .turn = turn,
           .at_ns = 86,
           .continued = Continued{
               .method = "method", .input = payload, .unseen = SampleTurn()}}};
}

inline records::RuntimeImage SampleImage() {
  using namespace records;  // NOLINT(google-build-using-namespace)
  const Pid other = HomePid(255, 1, 300, 70'000);
  return {.turn = {.next_tag = 9, .step = 4},
          .cancel_requested = true,
          .priority = 16,
          .owner = Owner{2},
          .keep_result = true,
          .parent = other,
          .started_unix_ns = 1'700'000'000'000'000'000,
          .lifetime_ns = 99,
          .yields = {{.tag = 7,
                      .kind = YieldKind::kCall,
                      .command = "charge",
                      .payload = {"bytes", "a/b"},
                      .policy = "policy",
                      .deadline_ns = 90,
                      .attempts = 2,
                      .worker = "worker-1",
                      .lease_ns = 500,
                      .callee = other,
                      .failed = true,
                      .cancelled = true,
                      .answer = 4112}},
          .owed_calls = {{.call = 4104, .caller = other, .tag = 3}},
          .names = {"name", "other"},
          .groups = {"group"},
          .watches = {{.other = other, .tag = 2}},
          .watchers = {{.other = other, .tag = 5}},
          .traps_exits = true,
          .cancel_deadline_ns = 90,
          .cancel_after_ns = 6,
          .labels = {"a=b", "c="}};
}

}  // namespace actord::runtime
