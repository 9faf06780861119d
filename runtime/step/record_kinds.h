// The kinds of the records of calls and of their items (record_format.h). Fixed
// for ever: the golden file of the tests holds them.
#pragma once

#include <cstdint>

#include "runtime/step/effect.h"
#include "runtime/step/world.h"

namespace actord::runtime::record_kinds {

// Kinds of records, and of their items.
inline constexpr uint16_t kInitRecord = 1;
inline constexpr uint16_t kStepRecord = 2;
inline constexpr uint16_t kTurn = 3;

inline constexpr uint16_t kInput = 1;
inline constexpr uint16_t kInit = 2;
inline constexpr uint16_t kEvent = 3;
inline constexpr uint16_t kVerdict = 48;
inline constexpr uint16_t kResult = 49;
inline constexpr uint16_t kFailure = 50;
inline constexpr uint16_t kMisuse = 51;
inline constexpr uint16_t kThrown = 52;
inline constexpr uint16_t kContinuation = 53;

// The kind of each type of answer and effect.
template <typename T>
inline constexpr uint16_t kKindOf = 0;
template <>
inline constexpr uint16_t kKindOf<UnixTimeAnswer> = 16;
template <>
inline constexpr uint16_t kKindOf<MonotonicTimeAnswer> = 17;
template <>
inline constexpr uint16_t kKindOf<RandomAnswer> = 18;
template <>
inline constexpr uint16_t kKindOf<ReserveChildAnswer> = 19;
template <>
inline constexpr uint16_t kKindOf<HolderAnswer> = 20;
template <>
inline constexpr uint16_t kKindOf<RoomForTieAnswer> = 21;
template <>
inline constexpr uint16_t kKindOf<PayloadLimitAnswer> = 22;
template <>
inline constexpr uint16_t kKindOf<SendEffect> = 32;
template <>
inline constexpr uint16_t kKindOf<SpawnEffect> = 33;
template <>
inline constexpr uint16_t kKindOf<YieldEffect> = 34;
template <>
inline constexpr uint16_t kKindOf<CallEffect> = 35;
template <>
inline constexpr uint16_t kKindOf<ReplyEffect> = 36;
template <>
inline constexpr uint16_t kKindOf<TieEffect> = 37;
template <>
inline constexpr uint16_t kKindOf<CancelEffect> = 38;
template <>
inline constexpr uint16_t kKindOf<PublishEffect> = 39;
template <>
inline constexpr uint16_t kKindOf<LogEffect> = 40;

}  // namespace actord::runtime::record_kinds
