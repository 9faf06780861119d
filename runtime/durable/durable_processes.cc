#include "runtime/durable/durable_processes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/process/fingerprint.h"
#include "runtime/records/record_codec.h"
#include "runtime/records/record_fields.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// Memory that a thread keeps for the encoding of records.
constexpr size_t kMaxHeldBytes = 64 << 10;

bool IsFromOutside(uint16_t kind) {
  return kind == static_cast<uint16_t>(records::Kind::kInput) ||
         kind == static_cast<uint16_t>(records::Kind::kSubmitted);
}

}  // namespace

DurableProcesses::DurableProcesses(DurableStore& store, ProcessTable& processes,
                                   const Clock& clock,
                                   const DurableLimits& limits)
    : store_(store),
      clock_(clock),
      limits_(limits),
      start_(store.journal().report().incarnation & ((1u << 24) - 1)),
      homes_(static_cast<uint32_t>(store.journal().report().incarnation)),
      states_(std::make_unique<std::array<std::atomic<Chunk*>, kChunks>>()) {
  homes_.SetMax(limits.max_processes);
  processes.SetHomes(homes_);
}

DurableProcesses::~DurableProcesses() {
  for (auto& chunk : *states_) delete chunk.load(std::memory_order_relaxed);
}

absl::StatusOr<uint64_t> DurableProcesses::AppendAll(
    std::span<const Record> records) {
  ACTORD_ASSERT(!records.empty(), "durable_processes.h: there is a record");
  Journal& journal = store_.journal();
  // The sender of an input from outside will wait for it. So the commit thread
  // should not fall asleep again after the record has woken it.
  if (IsFromOutside(records[0].kind)) journal.Expect();
  Journal::Reservation reservation;
  const absl::Status status =
      takes_no_more_.load(std::memory_order_relaxed)
          ? absl::UnavailableError("a record before was refused")
          : journal.Reserve(records, reservation);
  if (status.ok()) {
    const uint64_t lsn = reservation.lsn();
    journal.Publish(std::move(reservation), records);
    return lsn;
  }
  if (absl::IsInvalidArgument(status)) {
    return Error(absl::StatusCode::kResourceExhausted, reason::kStepTooLarge,
                 std::string(status.message()));
  }
  takes_no_more_.store(true, std::memory_order_relaxed);
  return Retryable(absl::StatusCode::kUnavailable, reason::kStopped,
                   "the store is closed, because the daemon ends",
                   absl::Seconds(1));
}

absl::Status DurableProcesses::CheckSize(std::string_view field,
                                         size_t bytes) const {
  if (bytes <= store_.journal().max_record_bytes()) return absl::OkStatus();
  return TooLarge(field);
}

absl::Status DurableProcesses::OfRequest(std::string_view field,
                                         const absl::Status& appended) const {
  return ReasonOf(appended) == reason::kStepTooLarge ? TooLarge(field)
                                                     : appended;
}

absl::Status DurableProcesses::TooLarge(std::string_view field) const {
  return InvalidField(
      field, reason::kPayloadTooLarge,
      absl::StrCat(ToAbsl(field), " does not fit into a record of the store; ",
                   "the limit is ", store_.journal().max_record_bytes(),
                   " bytes with its topic, name and id "
                   "(store.max_record_bytes)"));
}

template <typename OneRecord>
absl::StatusOr<uint64_t> DurableProcesses::Append(const OneRecord& record) {
#ifdef ACTORD_FAIL_POINTS
  // Simulated threads run on one thread and switch in AppendAll.
  std::string payload;
#else
  // Reused, so that most records need no memory of their own.
  static thread_local std::string payload;
  payload.clear();
#endif
  EncodeFields(record, payload);
  const Record encoded{static_cast<uint16_t>(OneRecord::kKind),
                       records::FlagsOf(OneRecord::kKind), payload};
  absl::StatusOr<uint64_t> lsn = AppendAll({&encoded, 1});
  if (payload.capacity() > kMaxHeldBytes) std::string().swap(payload);
  return lsn;
}

uint64_t DurableProcesses::LogCompletion(const YieldToken& yield,
                                         int32_t status,
                                         const actord_payload& payload,
                                         const Fingerprint& answer) {
  ACTORD_ASSERT_HOT(payload.bytes.size <= MaxCompletionBytes(),
                    "durable_log.h: a record can hold the payload");
  return Append(records::Input{.to = yield.pid,
                               .kind = records::InputKind::kCompletion,
                               .request = {.fingerprint = answer},
                               .tag = yield.tag,
                               .status = status,
                               .payload = FromAbi(payload),
                               .at_ns = NowNs()})
      .value_or(0);
}

uint64_t DurableProcesses::LogSpawn(const YieldToken& yield,
                                    const TiedChild& tied,
                                    std::string_view pid_text) {
  return Append(records::Done{.pid = yield.pid,
                              .tag = yield.tag,
                              .command = records::Command::kSpawn,
                              .result = FromAbi(TextPayload(pid_text)),
                              .target = tied.child,
                              .link = tied.link,
                              .monitor = tied.monitor})
      .value_or(0);
}

Fingerprint DurableProcesses::AnswerOf(int32_t status,
                                       const actord_payload& payload) const {
  const std::string code = std::to_string(status);
  return FingerprintOf(
      store_.fingerprint_key(),
      {{code, View(payload.bytes), View(payload.content_type)}});
}

uint64_t DurableProcesses::LogAttempt(const YieldToken& yield, uint32_t attempt,
                                      std::string_view worker,
                                      Owner worker_owner, uint64_t lease_ns) {
  const uint64_t now_ns = NowNs();
  return Append(
             records::Attempt{
                 .pid = yield.pid,
                 .tag = yield.tag,
                 .attempt = attempt,
                 .worker = std::string(worker),
                 .lease_ns = now_ns + std::min(lease_ns, UINT64_MAX - now_ns),
                 .worker_owner = worker_owner})
      .value_or(0);
}

absl::Status DurableProcesses::CheckRoom() const {
  absl::Status status = CheckFull();
  return status.ok() && store_.journal().Behind() ? Behind() : status;
}

absl::Status DurableProcesses::CheckFull() const {
  if (!store_.IsFull()) return absl::OkStatus();
  refused_full_.AddShared();
  return Retryable(absl::StatusCode::kResourceExhausted, reason::kStoreFull,
                   "the disk of the store is full, or has less free space than "
                   "store.disk_reserve: new work for durable processes is "
                   "refused until there is room",
                   absl::Seconds(5));
}

absl::Status DurableProcesses::CheckTurns() const {
  return store_.journal().Behind() ? CheckRoom() : absl::OkStatus();
}

absl::Status DurableProcesses::CheckFilling() const {
  if (!store_.journal().IsFilling()) return absl::OkStatus();
  absl::Status status = CheckFull();
  return status.ok() ? Behind() : status;
}

absl::Status DurableProcesses::Behind() {
  return Retryable(absl::StatusCode::kUnavailable, reason::kJournalBehind,
                   "the disk of the store, or the state store, is behind: new "
                   "work for durable processes is refused until it has caught "
                   "up",
                   absl::Milliseconds(100));
}

absl::Status DurableProcesses::NoPlace() const {
  return Retryable(
      absl::StatusCode::kResourceExhausted, reason::kProcessLimit,
      homes_.IsBelowMax()
          ? std::string("the home of the process has no place left")
          : absl::StrCat("the limit of ", homes_.max(),
                         " durable processes is reached (store.max_processes)"),
      absl::Seconds(1));
}

absl::Status DurableProcesses::BeginsLater() {
  return Error(
      absl::StatusCode::kUnavailable, reason::kDraining,
      "the daemon is shutting down; if the process is in its store, it "
      "begins after the next start");
}

uint32_t DurableProcesses::HomeFor(std::string_view name) {
  if (name.empty()) {
    return next_home_.fetch_add(1, std::memory_order_relaxed) % kHomes;
  }
  // Fixed for ever: every node and every version must find the same home for a
  // name.
  return static_cast<uint32_t>(FingerprintOf({}, {{name}}).low % kHomes);
}

std::unique_ptr<DurableState>& DurableProcesses::PlaceOf(
    const Process& process) const {
  std::atomic<Chunk*>& place = (*states_)[process.index() / kChunkStates];
  Chunk* chunk = place.load(std::memory_order_acquire);
  if (chunk == nullptr) {
    auto made = std::make_unique<Chunk>();
    if (place.compare_exchange_strong(chunk, made.get(),
                                      std::memory_order_acq_rel)) {
      chunk = made.release();
    }
  }
  return (*chunk)[process.index() % kChunkStates];
}

DurableState& DurableProcesses::Begin(const Process& process) {
  std::unique_ptr<DurableState>& place = PlaceOf(process);
  ACTORD_ASSERT(place == nullptr, "durable_processes.h: the slot has no state");
  place = std::make_unique<DurableState>();
  live_.fetch_add(1, std::memory_order_relaxed);
  return *place;
}

DurableState& DurableProcesses::StateOf(const Process& process) const {
  std::unique_ptr<DurableState>& place = PlaceOf(process);
  ACTORD_ASSERT(place != nullptr,
                "durable_processes.h: the process is durable");
  return *place;
}

DurableState& DurableProcesses::BeginAgain(const Process& process) {
  DurableState& state = Begin(process);
  live_.fetch_sub(1, std::memory_order_relaxed);  // it was counted all the time
  // No id of a call comes again.
  state.next_call = calls_of_dormant_.load(std::memory_order_relaxed);
  return state;
}

void DurableState::TakeStored(StoredProcess& stored) {
  const ProcessEntry& entry = stored.entry;
  restore_due = true;
  durability = entry.durability;
  plugin = entry.plugin;
  image = std::move(stored.image);
  if (durability == records::Durability::kReplay) {
    if (!image) {
      init = entry.init;
      input = entry.input;
    }
    history = std::move(stored.history);
    // The begin of the present life, if the process has begun again.
    if (entry.life_after_step != 0) {
      life_after_step = entry.life_after_step;
      life_from_tag = entry.life_from_tag;
    }
    // Restoring counts them again.
    history_steps = history_bytes = 0;
  }
}

void DurableProcesses::NoteCalls(const DurableState& state) {
  uint64_t known = calls_of_dormant_.load(std::memory_order_relaxed);
  while (known < state.next_call &&
         !calls_of_dormant_.compare_exchange_weak(known, state.next_call,
                                                  std::memory_order_relaxed)) {
  }
}

void DurableProcesses::Forget(const Process& process) {
  PlaceOf(process).reset();
  live_.fetch_sub(1, std::memory_order_relaxed);
}

template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Submitted& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Started& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Input& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Step& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Done& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Dropped& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Resent& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Forgotten& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Attempt& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::YieldOver& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Ended& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Upgraded& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Plugin& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Time& record);
template absl::StatusOr<uint64_t> DurableProcesses::Append(
    const records::Checkpoint& record);

}  // namespace actord::runtime
