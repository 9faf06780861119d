// The table of limits reaches the configuration and the status.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/settings/config_keys.h"
#include "daemon/settings/config_text.h"
#include "daemon/wire/proto_status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "runtime/settings/limit_info.h"

namespace actord::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using runtime::LimitKind;

TEST(LimitTable, EachLimitHasAKeyThatReloads) {
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    const ConfigKey* const key = FindConfigKey(row.key);
    ASSERT_NE(key, nullptr) << row.key << " stands in no section that "
                            << "config_keys.cc adds";
    EXPECT_EQ(key->option, row.option);
    EXPECT_TRUE(key->reloads) << row.key;
  }
}

// How the help of a limit says which values it takes.
std::string RangeOf(const runtime::LimitRow& row) {
  if (row.duration != nullptr) {
    const absl::Duration least = row.range.least;
    return absl::StrCat(
        row.range.includes_least ? "at least " : "more than ",
        least == absl::ZeroDuration() ? "0s" : absl::FormatDuration(least));
  }
  const auto text = [&row](uint64_t number) {
    if (row.kind != LimitKind::kBytes) return absl::StrCat(number);
    return number == 1 ? "1B" : FormatSizeText(number);
  };
  return absl::StrCat(
      "from ", text(row.min),
      row.max == UINT64_MAX ? " upwards" : " to " + text(row.max));
}

TEST(LimitTable, EachHelpStatesTheRange) {
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    const std::string help = row.help;
    const std::string range = RangeOf(row);
    const size_t at = help.find(range);
    ASSERT_NE(at, std::string::npos)
        << "the help of " << row.name << " is \"" << help
        << "\"; it should state the range, \"" << range << "\"";
    // The range does not go on, as "to 1000" would in "to 10000".
    const std::string next = help.substr(at + range.size(), 1);
    EXPECT_NE(std::string(" .,;").find(next), std::string::npos) << help;
  }
}

TEST(LimitTable, EachFieldOfTheStatusIsOfOneLimit) {
  // These are the daemon's own, or not of the table's form.
  std::map<std::string, int> rows = {{"request_id_retention", 1},
                                     {"max_request_ids", 1},
                                     {"process_type_limits", 1}};
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    if (*row.field == '\0') continue;
    ++rows[row.field];
    const FieldDescriptor* const field =
        v1::Limits::descriptor()->FindFieldByName(row.field);
    ASSERT_NE(field, nullptr) << row.field;
    ASSERT_FALSE(field->is_repeated()) << row.field;
    if (row.number != nullptr) {
      EXPECT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_UINT64)
          << row.field;
    } else {
      ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_MESSAGE)
          << row.field;
      EXPECT_EQ(field->message_type()->full_name(), "google.protobuf.Duration")
          << row.field;
    }
  }
  const google::protobuf::Descriptor& message = *v1::Limits::descriptor();
  for (int i = 0; i < message.field_count(); ++i) {
    EXPECT_EQ(rows[message.field(i)->name()], 1) << message.field(i)->name();
  }
}

TEST(LimitTable, TheStatusHasTheValueOfEachLimit) {
  runtime::Limits limits;
  uint64_t number = 100;
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    ++number;
    if (row.number != nullptr) {
      limits.*row.number = number;
    } else {
      limits.*row.duration = absl::Seconds(number);
    }
  }
  v1::Limits proto;
  WriteLimits(limits, Config{}, &proto);
  EXPECT_EQ(proto.max_processes(), limits.max_processes);
  EXPECT_EQ(proto.max_payload_bytes(), limits.max_payload_bytes);
  EXPECT_EQ(proto.max_mailbox_messages(), limits.max_mailbox_messages);
  EXPECT_EQ(proto.max_mailbox_bytes(), limits.max_mailbox_bytes);
  EXPECT_EQ(proto.max_yields_per_process(), limits.max_yields);
  EXPECT_EQ(proto.max_external_yield_bytes(), limits.max_external_yield_bytes);
  EXPECT_EQ(proto.max_yield_answers(), limits.answered_yield_max);
  EXPECT_EQ(proto.max_results_bytes(), limits.result_max_bytes);
  EXPECT_EQ(proto.max_dead_letters(), limits.dead_letter_max_count);
  EXPECT_EQ(proto.max_dead_letters_bytes(), limits.dead_letter_max_bytes);
  EXPECT_EQ(proto.max_failures(), limits.failure_max_count);
  EXPECT_EQ(proto.max_failures_bytes(), limits.failure_max_bytes);
  EXPECT_EQ(proto.max_watches(), limits.max_watches);
  EXPECT_EQ(proto.max_watch_events(), limits.watch_max_events);
  EXPECT_EQ(proto.max_watch_bytes(), limits.watch_max_bytes);
  EXPECT_EQ(proto.max_steps_per_process(), limits.max_steps);
  const auto seconds = [](absl::Duration duration) {
    return absl::ToInt64Seconds(duration);
  };
  EXPECT_EQ(proto.default_yield_timeout().seconds(),
            seconds(limits.default_yield_timeout));
  EXPECT_EQ(proto.yield_answer_retention().seconds(),
            seconds(limits.answered_yield_ttl));
  EXPECT_EQ(proto.result_retention().seconds(), seconds(limits.result_ttl));
  EXPECT_EQ(proto.watch_retention().seconds(), seconds(limits.watch_retention));
  EXPECT_EQ(proto.max_lifetime().seconds(), seconds(limits.max_lifetime));
}

TEST(LimitTable, OnlyALimitThatMayBeNoneIsUnsetInTheStatus) {
  runtime::Limits limits;
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    if (row.duration != nullptr)
      limits.*row.duration = absl::InfiniteDuration();
  }
  v1::Limits proto;
  WriteLimits(limits, Config{}, &proto);
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    if (row.duration == nullptr) continue;
    const FieldDescriptor* const field =
        v1::Limits::descriptor()->FindFieldByName(row.field);
    EXPECT_EQ(proto.GetReflection()->HasField(proto, field),
              row.kind != LimitKind::kDurationOrNone)
        << row.field;
  }
  EXPECT_FALSE(proto.has_max_lifetime());
  EXPECT_FALSE(proto.has_watch_retention());
  EXPECT_TRUE(proto.has_result_retention());
}

}  // namespace
}  // namespace actord::daemon
