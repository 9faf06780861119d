#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/wire/proto_requests.h"

namespace actord::daemon {
namespace {

constexpr runtime::Pid kPid = {1, 5, 0x2a, 1};
constexpr runtime::SipKey kKey = {3, 4};

std::string HexOf(const runtime::Fingerprint& fingerprint) {
  return absl::StrCat(absl::Hex(fingerprint.high, absl::kZeroPad16),
                      absl::Hex(fingerprint.low, absl::kZeroPad16));
}

TEST(Fingerprint, DiffersWithEveryPartOfTheBody) {
  runtime::SubmitRequest base;
  base.process_type = "ab";
  base.method = "c";
  base.messages.push_back({"t", {"p", "q"}});
  const std::function<void(runtime::SubmitRequest&)> changes[] = {
      [](auto& r) { r.process_type = "a", r.method = "bc"; },
      [](auto& r) { r.input.bytes = "x"; },
      [](auto& r) { r.input.content_type = "x"; },
      [](auto& r) { r.messages.clear(); },
      [](auto& r) { r.messages.push_back({}); },
      [](auto& r) { r.messages[0].topic = "tp", r.messages[0].payload = {}; },
      [](auto& r) { r.messages[0].payload.bytes = "x"; },
      [](auto& r) { r.messages[0].payload.content_type = "x"; },
      [](auto& r) { r.priority = 17; },
      [](auto& r) { r.name = "n"; },
      [](auto& r) { r.durable = true; },
  };
  EXPECT_EQ(Fingerprint(kKey, base),
            Fingerprint(kKey, runtime::SubmitRequest(base)));
  for (const auto& change : changes) {
    runtime::SubmitRequest other = base;
    change(other);
    EXPECT_FALSE(Fingerprint(kKey, base) == Fingerprint(kKey, other));
  }
}

TEST(Fingerprint, DiffersWithEveryPartOfAMessage) {
  const runtime::Message whole{"t", {"p", "q"}};
  const Address to{kPid, ""};
  const auto of = [](const Address& address, const runtime::Message& message) {
    return Fingerprint(kKey, address, message);
  };
  const runtime::Fingerprint fingerprint = of(to, whole);
  EXPECT_TRUE(of(to, runtime::Message(whole)) == fingerprint);
  EXPECT_FALSE(of({{1, 5, 0x2b, 1}, ""}, whole) == fingerprint);
  EXPECT_FALSE(of({kPid, "n"}, whole) == fingerprint);
  EXPECT_FALSE(of({kPid, "", ""}, whole) == fingerprint);
  const runtime::Message others[] = {{"x", {"p", "q"}},
                                     {"t", {"x", "q"}},
                                     {"t", {"p", "x"}},
                                     {"tp", {"", "q"}}};
  for (const runtime::Message& other : others) {
    EXPECT_FALSE(of(to, other) == fingerprint) << other.topic;
  }
}

// The store keeps fingerprints, so a later version must make the same ones.
TEST(Fingerprint, IsFixedForEver) {
  runtime::SubmitRequest submit;
  submit.process_type = "counter";
  submit.method = "run";
  submit.input = {"5", "text/plain"};
  submit.messages.push_back({"add", {"7", ""}});
  submit.priority = 16;
  submit.name = "visits";
  submit.durable = true;
  EXPECT_EQ(HexOf(Fingerprint(kKey, submit)),
            "62578a4adb8cba8d39db50d728409782");
  EXPECT_EQ(HexOf(Fingerprint(kKey, {kPid, ""}, {"add", {"7", ""}})),
            "3fa8320d67b47fbf958d18be211e2a4c");
  EXPECT_EQ(HexOf(Fingerprint(kKey, {{}, "visits", "alice"},
                              {"add", {"7", "text/plain"}})),
            "30f7220bafd5a3779a6ae1c0e7d0e4c9");
}

}  // namespace
}  // namespace actord::daemon
