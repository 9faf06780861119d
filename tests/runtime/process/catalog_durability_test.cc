// The catalog knows the durability of types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "runtime/process/catalog.h"

namespace actord::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr actord_method kRun[] = {{"run", nullptr}};

actord_process_type FlatType() {
  actord_process_type type{};
  type.struct_size = sizeof(type);
  type.name = "flat";
  type.state_size = 24;
  type.methods = kRun;
  type.method_count = 1;
  type.init = [](void*, const actord_init*, actord_step*) -> int32_t {
    return ACTORD_OK;
  };
  type.step = [](void*, const actord_event* const*, size_t,
                 actord_step*) -> int32_t { return ACTORD_STEP_DONE; };
  type.close = [](void*) {};
  type.durability = ACTORD_DURABILITY_IMAGE;
  type.flat_version = 3;
  type.flat_size = 16;
  return type;
}

TEST(CatalogDurability, EachTypeHasItsWay) {
  Catalog catalog;
  const actord_process_type flat = FlatType();
  ASSERT_TRUE(catalog.AddProcessType(&flat, "p").ok());
  EXPECT_EQ(catalog.FindProcessType("flat")->durability,
            (rules::TypeDurability{rules::Durability::kFlatImage, 3, 16,
                                   /*has_snapshots=*/false}));
}

TEST(CatalogDurability, APluginOfAnOlderAbiIsVolatile) {
  Catalog catalog;
  actord_process_type old = FlatType();
  old.struct_size = offsetof(actord_process_type, durability);
  // Bytes after the struct are not read.
  old.durability = 77;
  ASSERT_TRUE(catalog.AddProcessType(&old, "p").ok());
  EXPECT_EQ(catalog.FindProcessType("flat")->durability,
            rules::TypeDurability());
}

TEST(CatalogDurability, AContradictionIsRefusedWithItsReason) {
  Catalog catalog;
  actord_process_type type = FlatType();
  type.flat_size = 25;
  const absl::Status status = catalog.AddProcessType(&type, "p");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("process type flat"),
                    HasSubstr("larger than its state")));
  EXPECT_EQ(catalog.FindProcessType("flat"), nullptr);
}

}  // namespace
}  // namespace actord::runtime
