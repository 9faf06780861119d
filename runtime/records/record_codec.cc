#include "runtime/records/record_codec.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/record_fields.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime::records {
namespace {

constexpr size_t kKinds = std::variant_size_v<Any>;
constexpr size_t kMaxMessages = 64;  // of one INPUT or SUBMITTED
constexpr size_t kDigestBytes = 32;

constexpr std::array<std::string_view, kKinds> kNames = {
    "SUBMITTED", "STARTED",   "INPUT",      "STEP",       "DONE",  "DROPPED",
    "RESENT",    "FORGOTTEN", "ATTEMPT",    "YIELD_OVER", "ENDED", "UPGRADED",
    "PLUGIN",    "TIME",      "CHECKPOINT", "OWNER"};

constexpr uint16_t kFirst = static_cast<uint16_t>(Kind::kSubmitted);

// The kinds have the order of Any.
template <size_t... Index>
constexpr bool AreInOrder(std::index_sequence<Index...> /*all*/) {
  return (
      (static_cast<uint16_t>(std::variant_alternative_t<Index, Any>::kKind) ==
       kFirst + Index) &&
      ...);
}
static_assert(AreInOrder(std::make_index_sequence<kKinds>{}));

// The rule that the fields of a record break together; empty: none.
std::string_view Rule(const auto& /*record*/) { return {}; }
std::string_view Rule(const Submitted& record) {
  if (record.pid.empty()) return "it has a PID";
  return record.messages.size() > kMaxMessages ? "it has up to 64 messages"
                                               : std::string_view();
}
std::string_view Rule(const Input& record) {
  if (record.kind == InputKind::kCall) {
    return record.messages.size() == 1 && !record.request.id.empty()
               ? std::string_view()
               : "a call has one message and an id";
  }
  if (record.kind != InputKind::kMessages) {
    return record.messages.empty() ? std::string_view()
                                   : "an event has no messages";
  }
  if (record.messages.size() > kMaxMessages) return "it has up to 64 messages";
  return record.messages.empty() && record.request.id.empty()
             ? "it has messages, an event or a request id"
             : std::string_view();
}
std::string_view Rule(const Plugin& record) {
  if (record.number == kNoPlugin) return "a plugin has a number";
  return record.sha256.size() == kDigestBytes ? std::string_view()
                                              : "a digest has 32 bytes";
}

std::string_view Rule(const OwnerName& record) {
  return record.owner == Owner::kNobody || record.name.empty()
             ? "an owner has a number and a name"
             : std::string_view();
}

template <size_t Index = 0>
absl::Status DecodeKind(size_t index, std::string_view payload,
                        std::optional<Any>& record) {
  if constexpr (Index < kKinds) {
    if (index != Index) return DecodeKind<Index + 1>(index, payload, record);
    auto& one = std::get<Index>(record.emplace(std::in_place_index<Index>));
    absl::Status status = DecodeFields(payload, one);
    if (const std::string_view rule = Rule(one); status.ok() && !rule.empty()) {
      status =
          absl::InvalidArgumentError(absl::StrCat("the rule: ", ToAbsl(rule)));
    }
    return status;
  } else {
    return absl::InternalError("record_codec.cc: Knows");
  }
}

}  // namespace

bool Knows(uint16_t kind) { return kind >= kFirst && kind < kFirst + kKinds; }

uint16_t FlagsOf(Kind kind) {
  return kind == Kind::kCheckpoint ? kSkippable : 0;
}

std::string_view NameOf(Kind kind) {
  ACTORD_ASSERT(Knows(static_cast<uint16_t>(kind)),
                "record_codec.h: the kind is known");
  return kNames.at(static_cast<uint16_t>(kind) - kFirst);
}

void Encode(const Any& record, std::string& out) {
  std::visit([&](const auto& one) { EncodeFields(one, out); }, record);
}

absl::Status Decode(uint16_t kind, uint16_t flags, std::string_view payload,
                    std::optional<Any>& record) {
  record.reset();
  if (!Knows(kind)) {
    if ((flags & kSkippable) != 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a record of kind ", kind,
                     ", which this version does not know and may not skip"));
  }
  absl::Status status = DecodeKind(kind - kFirst, payload, record);
  if (status.ok()) return status;
  record.reset();
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(kNames.at(kind - kFirst)), ": ", status.message()));
}

absl::Status Decode(const RecordView& read, std::optional<Any>& record) {
  absl::Status status = Decode(read.kind, read.flags, read.payload, record);
  if (status.ok()) return status;
  return absl::DataLossError(absl::StrCat("journal: the record at position ",
                                          read.lsn, ": ", status.message()));
}

}  // namespace actord::runtime::records
