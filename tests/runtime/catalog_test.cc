#include "runtime/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

constexpr actord_method kMethods[] = {{"run", nullptr}, {"other", "does"}};

actord_process_type ValidType(const char* name = "type") {
  actord_process_type type{};
  type.struct_size = sizeof(type);
  type.name = name;
  type.state_size = 100;
  type.methods = kMethods;
  type.method_count = 2;
  type.init = [](void*, const actord_init*, actord_step*) -> int32_t {
    return ACTORD_OK;
  };
  type.step = [](void*, const actord_event* const*, size_t,
                 actord_step*) -> int32_t { return ACTORD_STEP_DONE; };
  type.close = [](void*) {};
  return type;
}

actord_command_handler ValidCommand(const char* name = "command") {
  actord_command_handler command{};
  command.struct_size = sizeof(command);
  command.command = name;
  command.handle = [](void*, actord_call*) -> int32_t {
    return ACTORD_HANDLED;
  };
  return command;
}

TEST(Catalog, FindsWhatWasAdded) {
  Catalog catalog;
  const actord_process_type type = ValidType();
  const actord_command_handler command = ValidCommand();
  int self = 0;
  ASSERT_TRUE(catalog.AddProcessType(&type, "plugin").ok());
  ASSERT_TRUE(catalog.AddCommand(&command, &self, "plugin").ok());
  const ProcessType* found = catalog.FindProcessType("type");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->descriptor, &type);
  EXPECT_EQ(found->plugin, "plugin");
  EXPECT_EQ(found->FindMethod(""), 0u);
  EXPECT_EQ(found->FindMethod("run"), 0u);
  EXPECT_EQ(found->FindMethod("other"), 1u);
  EXPECT_EQ(found->FindMethod("Run"), std::nullopt);
  EXPECT_EQ(catalog.FindProcessType("command"), nullptr);
  EXPECT_EQ(catalog.FindProcessType(""), nullptr);
  const CommandHandler* handler = catalog.FindCommand("command");
  ASSERT_NE(handler, nullptr);
  EXPECT_EQ(handler->descriptor, &command);
  EXPECT_EQ(handler->self, &self);
  EXPECT_EQ(catalog.FindCommand("type"), nullptr);
}

TEST(Catalog, SaysWhoHasATakenName) {
  Catalog catalog;
  const actord_process_type type = ValidType();
  const actord_command_handler command = ValidCommand();
  ASSERT_TRUE(catalog.AddProcessType(&type, "first").ok());
  ASSERT_TRUE(catalog.AddCommand(&command, nullptr, "first").ok());
  const absl::Status taken_type = catalog.AddProcessType(&type, "second");
  EXPECT_EQ(taken_type.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(taken_type.message()), HasSubstr("first"));
  const absl::Status taken_command =
      catalog.AddCommand(&command, nullptr, "second");
  EXPECT_EQ(taken_command.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(taken_command.message()), HasSubstr("first"));
  EXPECT_EQ(catalog.process_types().size(), 1u);
  EXPECT_EQ(catalog.commands().size(), 1u);
}

TEST(Catalog, RefusesBrokenProcessTypes) {
  using T = actord_process_type;
  static const std::string too_long(129, 'x');
  static constexpr actord_method kTwice[] = {{"a", nullptr}, {"a", nullptr}};
  static constexpr actord_method kNameless[] = {{nullptr, nullptr}};
  static constexpr actord_method kBadName[] = {{"a b", nullptr}};
  struct Case {
    const char* says;
    std::function<void(T&)> spoil;
  };
  const Case cases[] = {
      {"struct_size", [](T& t) { t.struct_size = sizeof(T) - 1; }},
      {"no name", [](T& t) { t.name = nullptr; }},
      {"a name is", [](T& t) { t.name = ""; }},
      {"a name is", [](T& t) { t.name = "a/b"; }},
      {"a name is", [](T& t) { t.name = "gr\xc3\xbcn"; }},
      {"a name is", [](T& t) { t.name = too_long.c_str(); }},
      {"lacks init", [](T& t) { t.init = nullptr; }},
      {"lacks init", [](T& t) { t.step = nullptr; }},
      {"lacks init", [](T& t) { t.close = nullptr; }},
      {"1 MiB", [](T& t) { t.state_size = (1 << 20) + 1; }},
      {"alignment", [](T& t) { t.state_align = 128; }},
      {"alignment", [](T& t) { t.state_align = 24; }},
      {"no method", [](T& t) { t.methods = nullptr; }},
      {"no method", [](T& t) { t.method_count = 0; }},
      {"1024 methods", [](T& t) { t.method_count = 1025; }},
      {"twice", [](T& t) { t.methods = kTwice; }},
      {"has no name",
       [](T& t) {
         t.methods = kNameless;
         t.method_count = 1;
       }},
      {"a name is",
       [](T& t) {
         t.methods = kBadName;
         t.method_count = 1;
       }},
  };
  for (const Case& c : cases) {
    Catalog catalog;
    T type = ValidType();
    c.spoil(type);
    const absl::Status status = catalog.AddProcessType(&type, "p");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
    EXPECT_TRUE(catalog.process_types().empty());
  }
  Catalog catalog;
  EXPECT_EQ(catalog.AddProcessType(nullptr, "p").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Catalog, AcceptsTheLimitsThemselves) {
  Catalog catalog;
  static const std::string longest(128, 'x');
  actord_process_type type = ValidType(longest.c_str());
  type.state_size = 1 << 20;
  type.state_align = 64;
  type.struct_size = sizeof(type) + 8;  // of a later version
  EXPECT_TRUE(catalog.AddProcessType(&type, "p").ok());
  actord_process_type empty = ValidType("Az09_.-");
  empty.state_size = 0;
  EXPECT_TRUE(catalog.AddProcessType(&empty, "p").ok());
}

TEST(Catalog, RefusesBrokenCommands) {
  using H = actord_command_handler;
  struct Case {
    const char* says;
    std::function<void(H&)> spoil;
  };
  const Case cases[] = {
      {"struct_size", [](H& h) { h.struct_size = sizeof(H) - 1; }},
      {"no name", [](H& h) { h.command = nullptr; }},
      {"a name is", [](H& h) { h.command = "a*"; }},
      {"lacks handle", [](H& h) { h.handle = nullptr; }},
      {"mode", [](H& h) { h.mode = 2; }},
  };
  for (const Case& c : cases) {
    Catalog catalog;
    H command = ValidCommand();
    c.spoil(command);
    const absl::Status status = catalog.AddCommand(&command, nullptr, "p");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
  }
  Catalog catalog;
  EXPECT_EQ(catalog.AddCommand(nullptr, nullptr, "p").code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace actord::runtime
