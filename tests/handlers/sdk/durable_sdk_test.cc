// How C++ process types declare that they can be durable.
#include <actord/coroutine.h>
#include <actord/plugin.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "tests/support/fake_process.h"

namespace actord {
namespace {

using testing::FakeProcess;

struct Undeclared : Process {
  static constexpr const char* kName = "undeclared";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  void Step(Events, StepOutput&) {}
};

enum class Color : uint8_t { kRed, kGreen };

struct Flat : Process {
  static constexpr const char* kName = "flat";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  static constexpr uint32_t kStateVersion = 5;
  struct State {
    bool done = true;
    int64_t total = 7;
    Pid reader;
    std::array<uint16_t, 3> counts;
    Color color = Color::kGreen;
  };
  State state;

  void Step(Events, StepOutput&) { state.total = -1; }
};

struct Imaged : Process {
  static constexpr const char* kName = "imaged";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  SnapshotResult Snapshot() const { return text; }
  Status Restore(std::string_view, const RestoreFrom& from, RestoreContext&) {
    text =
        std::string(from.snapshot.bytes) +
        (from.reason == RestoreReason::kRecovery ? " recovered" : " upgraded");
    text += " " + std::to_string(from.state_version);
    return {};
  }
  void Step(Events, StepOutput& out) { out.Done(text); }
  std::string text;
};

struct Replayed : CoroutineProcess {
  static constexpr const char* kName = "replayed";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;
  Task<> Main(Context&) { co_return; }
};

TEST(SdkDurable, ATypeIsVolatileUnlessItSaysOtherwise) {
  EXPECT_EQ(kProcessType<Undeclared>.durability, ACTORD_DURABILITY_NONE);
  EXPECT_EQ(kProcessType<Undeclared>.flat_version, 0u);
  EXPECT_EQ(kProcessType<Undeclared>.flat_size, 0u);
}

TEST(SdkDurable, TheTableSaysHowATypeIsDurable) {
  EXPECT_EQ(kProcessType<Flat>.durability, ACTORD_DURABILITY_IMAGE);
  EXPECT_EQ(kProcessType<Flat>.flat_version, 5u);
  EXPECT_EQ(kProcessType<Flat>.flat_size, sizeof(Flat::State));
  EXPECT_EQ(kProcessType<Flat>.state_size, sizeof(Flat::State));
  EXPECT_EQ(kProcessType<Imaged>.durability, ACTORD_DURABILITY_IMAGE);
  EXPECT_EQ(kProcessType<Imaged>.flat_size, 0u);
  EXPECT_EQ(kProcessType<Replayed>.durability, ACTORD_DURABILITY_REPLAY);
}

TEST(SdkDurable, AFlatStateBeginsTheStateAndItsPaddingIsZero) {
  FakeProcess process(kProcessType<Flat>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  process.Step();
  Flat::State state;
  std::memset(static_cast<void*>(&state), 0, sizeof(state));
  state.done = true;
  state.total = -1;
  state.color = Color::kGreen;
  const auto bytes = [](const void* of) {
    return std::string_view(static_cast<const char*>(of), sizeof(Flat::State));
  };
  EXPECT_EQ(bytes(process.state()), bytes(&state));
}

TEST(SdkDurable, RestoreIsToldWhyItIsCalled) {
  FakeProcess recovered(kProcessType<Imaged>);
  recovered.restore_reason = ACTORD_RESTORE_RECOVERY;
  recovered.restore_flat_version = 4;
  ASSERT_EQ(recovered.Restore("run", "image", "1"), ACTORD_OK);
  recovered.Step();
  EXPECT_EQ(recovered.result.bytes, "image recovered 4");
  FakeProcess upgraded(kProcessType<Imaged>);
  ASSERT_EQ(upgraded.Restore("run", "image", "1"), ACTORD_OK);
  upgraded.Step();
  EXPECT_EQ(upgraded.result.bytes, "image upgraded 0");
}

TEST(SdkDurable, AnOlderDaemonOnlyUpgrades) {
  actord_restore restore{};
  restore.struct_size = offsetof(actord_restore, reason);
  // Bytes after the struct are not read.
  restore.reason = ACTORD_RESTORE_RECOVERY;
  restore.from_flat_version = 9;
  const RestoreFrom from = detail::ToRestoreFrom(restore);
  EXPECT_EQ(from.reason, RestoreReason::kUpgrade);
  EXPECT_EQ(from.state_version, 0u);
}

// The members of flat states.

template <typename Member>
struct With {
  int8_t before;
  Member member;
  int8_t after;
};
struct Pair {
  int16_t a;
  bool b;
};
union Either {
  int number;
  const char* text;
};
class Hidden {
 public:
  Hidden() = default;

 private:
  [[maybe_unused]] const char* text_ = nullptr;
};
class FromNumber {
 public:
  FromNumber() = default;
  FromNumber(int number);  // NOLINT: implicit by intent
  const char* text = nullptr;
};
struct FromAnything {
  FromAnything() = default;
  template <typename T>
  FromAnything(T&& value);  // NOLINT: implicit by intent
  const char* text = nullptr;
};
struct Nothing {};

template <typename Member>
constexpr bool kIsFlat = detail::HasOnlyLeaves<With<Member>>();

static_assert(kIsFlat<int> && kIsFlat<uint64_t> && kIsFlat<std::byte>);
static_assert(kIsFlat<bool> && kIsFlat<char> && kIsFlat<float>);
static_assert(kIsFlat<double> && kIsFlat<Color> && kIsFlat<Pid>);
static_assert(kIsFlat<Time> && kIsFlat<Duration> && kIsFlat<actord_pid>);
static_assert(kIsFlat<int[4]> && kIsFlat<Pid[2]> && kIsFlat<char[2][3]>);
static_assert(kIsFlat<std::array<Pid, 2>> && kIsFlat<std::array<Pair, 3>>);
static_assert(kIsFlat<Pair> && kIsFlat<With<With<int>>>);
static_assert(!kIsFlat<const char*> && !kIsFlat<void (*)()>);
static_assert(!kIsFlat<int Pair::*> && !kIsFlat<void (Pair::*)()>);
static_assert(!kIsFlat<std::string_view> && !kIsFlat<Payload>);
static_assert(!kIsFlat<const char* [2]> && !kIsFlat<std::string_view[2]>);
static_assert(!kIsFlat<std::array<const char*, 1>>);
static_assert(!kIsFlat<With<const char*>> && !kIsFlat<Hidden>);
static_assert(!kIsFlat<Either> && !kIsFlat<Either[2]>);
static_assert(!kIsFlat<Hidden[2]> && !kIsFlat<Payload[2]>);
static_assert(!kIsFlat<std::optional<int>> && !kIsFlat<long double>);
static_assert(!kIsFlat<std::variant<int, const char*>>);
static_assert(!kIsFlat<FromNumber> && !kIsFlat<FromNumber[2]>);
static_assert(!kIsFlat<FromAnything>);
static_assert(detail::HasOnlyLeaves<Nothing>());
static_assert(detail::HasOnlyLeaves<std::array<char, 64>>());

}  // namespace
}  // namespace actord
