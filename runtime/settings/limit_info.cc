#include "runtime/settings/limit_info.h"

#include "runtime/memory/slot_table.h"
#include "runtime/process/activity.h"
#include "runtime/process/payload.h"
#include "runtime/process/process.h"
#include "runtime/settings/limit_table.h"

namespace actord::runtime {
namespace {

#define ACTORD_NUMBER_ROW(number_kind, member, min_value, max_value, path, \
                          opt, proto, text)                                \
  {.kind = number_kind,                                                    \
   .name = #member,                                                        \
   .key = path,                                                            \
   .option = opt,                                                          \
   .field = proto,                                                         \
   .help = text,                                                           \
   .number = &Limits::member,                                              \
   .min = min_value,                                                       \
   .max = max_value},
#define ACTORD_DURATION_ROW(duration_kind, member, durations, path, opt, \
                            proto, text)                                 \
  {.kind = duration_kind,                                                \
   .name = #member,                                                      \
   .key = path,                                                          \
   .option = opt,                                                        \
   .field = proto,                                                       \
   .help = text,                                                         \
   .duration = &Limits::member,                                          \
   .range = durations},
#define ACTORD_COUNT(member, value, ...) \
  ACTORD_NUMBER_ROW(LimitKind::kCount, member, __VA_ARGS__)
#define ACTORD_BYTES(member, value, ...) \
  ACTORD_NUMBER_ROW(LimitKind::kBytes, member, __VA_ARGS__)
#define ACTORD_COUNT_OR_NONE(member, ...) \
  ACTORD_NUMBER_ROW(LimitKind::kCountOrNone, member, 0, UINT64_MAX, __VA_ARGS__)
#define ACTORD_DURATION(member, value, ...) \
  ACTORD_DURATION_ROW(LimitKind::kDuration, member, __VA_ARGS__)
#define ACTORD_DURATION_OR_NONE(member, value, ...) \
  ACTORD_DURATION_ROW(LimitKind::kDurationOrNone, member, __VA_ARGS__)

constexpr LimitRow kRows[] = {
    ACTORD_LIMITS(ACTORD_COUNT, ACTORD_BYTES, ACTORD_COUNT_OR_NONE,
                  ACTORD_DURATION, ACTORD_DURATION_OR_NONE)};

#undef ACTORD_NUMBER_ROW
#undef ACTORD_DURATION_ROW
#undef ACTORD_COUNT
#undef ACTORD_BYTES
#undef ACTORD_COUNT_OR_NONE
#undef ACTORD_DURATION
#undef ACTORD_DURATION_OR_NONE

}  // namespace

std::span<const LimitRow> LimitRows() { return kRows; }

}  // namespace actord::runtime
