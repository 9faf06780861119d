#include "handlers/rules/durability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>

namespace actord::rules {
namespace {

using ::testing::HasSubstr;
using Type = actord_process_type;

int32_t Snapshot(const void* /*state*/, actord_step* /*step*/) { return 0; }
int32_t Restore(void* /*state*/, const actord_restore* /*restore*/,
                actord_step* /*step*/) {
  return 0;
}

// A type with the durability and a state of 32 bytes.
Type TypeOf(uint32_t durability) {
  Type type{};
  type.struct_size = sizeof(type);
  type.state_size = 32;
  type.durability = durability;
  return type;
}

Type FlatType(uint32_t version, size_t size) {
  Type type = TypeOf(ACTORD_DURABILITY_IMAGE);
  type.flat_version = version;
  type.flat_size = size;
  return type;
}

TEST(Durability, AFlatImageHasItsSizeAndVersion) {
  const Type type = FlatType(7, 32);
  ASSERT_EQ(WhyNotDurable(type), "");
  EXPECT_EQ(DurabilityOf(type),
            (TypeDurability{Durability::kFlatImage, 7, 32, false}));
}

TEST(Durability, AFlatImageGoesBeforeSnapshots) {
  Type type = FlatType(1, 8);
  type.snapshot = Snapshot;
  type.restore = Restore;
  ASSERT_EQ(WhyNotDurable(type), "");
  EXPECT_EQ(DurabilityOf(type),
            (TypeDurability{Durability::kFlatImage, 1, 8, true}));
}

TEST(Durability, AnImageNeedsBothSnapshotAndRestore) {
  Type type = TypeOf(ACTORD_DURABILITY_IMAGE);
  EXPECT_THAT(std::string(WhyNotDurable(type)), HasSubstr("neither a flat"));
  type.snapshot = Snapshot;
  EXPECT_THAT(std::string(WhyNotDurable(type)), HasSubstr("neither a flat"));
  type.restore = Restore;
  ASSERT_EQ(WhyNotDurable(type), "");
  EXPECT_EQ(DurabilityOf(type),
            (TypeDurability{Durability::kSnapshotImage, 0, 0, true}));
  type.snapshot = nullptr;
  EXPECT_THAT(std::string(WhyNotDurable(type)), HasSubstr("neither a flat"));
}

TEST(Durability, AReplayTypeMayHaveSnapshots) {
  Type type = TypeOf(ACTORD_DURABILITY_REPLAY);
  ASSERT_EQ(WhyNotDurable(type), "");
  EXPECT_EQ(DurabilityOf(type),
            (TypeDurability{Durability::kReplay, 0, 0, false}));
  type.snapshot = Snapshot;
  type.restore = Restore;
  ASSERT_EQ(WhyNotDurable(type), "");
  EXPECT_EQ(DurabilityOf(type),
            (TypeDurability{Durability::kReplay, 0, 0, true}));
}

TEST(Durability, SnapshotAndRestoreAloneMakeNoTypeDurable) {
  Type type = TypeOf(ACTORD_DURABILITY_NONE);
  type.snapshot = Snapshot;
  type.restore = Restore;
  ASSERT_EQ(WhyNotDurable(type), "");
  EXPECT_EQ(DurabilityOf(type), TypeDurability());
}

TEST(Durability, ContradictionsAreNamed) {
  struct Case {
    const char* says;
    Type type;
  };
  Type version_alone = TypeOf(ACTORD_DURABILITY_IMAGE);
  version_alone.flat_version = 1;
  version_alone.snapshot = Snapshot;
  version_alone.restore = Restore;
  Type flat_replay = FlatType(1, 8);
  flat_replay.durability = ACTORD_DURABILITY_REPLAY;
  Type flat_volatile = FlatType(1, 8);
  flat_volatile.durability = ACTORD_DURABILITY_NONE;
  Type versioned_volatile = TypeOf(ACTORD_DURABILITY_NONE);
  versioned_volatile.flat_version = 1;
  Type large = FlatType(1, 65);
  large.state_size = 100;
  const Case cases[] = {
      {"unknown durability", TypeOf(3)},
      {"unknown durability", TypeOf(1u << 31)},
      {"needs the durability image", flat_replay},
      {"needs the durability image", flat_volatile},
      {"needs the durability image", versioned_volatile},
      {"more than 64 bytes", large},
      {"larger than its state", FlatType(1, 33)},
      {"without a flat_version", FlatType(0, 8)},
      {"without a flat state", version_alone},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(std::string(WhyNotDurable(c.type)), HasSubstr(c.says));
  }
}

TEST(Durability, TheLargestFlatStateIsTaken) {
  Type type = FlatType(1, ACTORD_FLAT_MAX_BYTES);
  type.state_size = ACTORD_FLAT_MAX_BYTES;
  EXPECT_EQ(WhyNotDurable(type), "");
}

TEST(Durability, FieldsBehindAnOldStructAreNotRead) {
  Type type = TypeOf(99);
  type.flat_size = 1000;
  for (const size_t size :
       {offsetof(Type, snapshot), offsetof(Type, durability),
        offsetof(Type, flat_size) + sizeof(type.flat_size) - 1}) {
    type.struct_size = static_cast<uint32_t>(size);
    EXPECT_EQ(WhyNotDurable(type), "") << size;
    EXPECT_EQ(DurabilityOf(type), TypeDurability()) << size;
  }
  type.struct_size =
      static_cast<uint32_t>(offsetof(Type, flat_size) + sizeof(type.flat_size));
  EXPECT_NE(WhyNotDurable(type), "");
}

}  // namespace
}  // namespace actord::rules
