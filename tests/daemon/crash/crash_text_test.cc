#include "daemon/crash/crash_text.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace actord::daemon {
namespace {

constexpr int kSelf = 100;

std::string TextOf(const Fault& fault) {
  CrashText text;
  AppendFault(fault, kSelf, text);
  return std::string(text.view());
}

std::string PlaceOf(const std::optional<runtime::RunningCode>& code) {
  CrashText text;
  AppendPlace(code, text);
  return std::string(text.view());
}

TEST(FixedText, DropsTextWithoutRoom) {
  FixedText<8> text;
  text << uint64_t{0} << "-" << uint64_t{120} << "abcdef";
  EXPECT_EQ(text.view(), "0-120abc");
  FixedText<32> hex;
  hex.Hex(0) << " ";
  hex.Hex(UINT64_MAX);
  EXPECT_EQ(hex.view(), "0x0 0xffffffffffffffff");
}

TEST(CrashText, SaysWhatTheKernelKnows) {
  EXPECT_EQ(TextOf({.number = SIGSEGV, .code = SEGV_MAPERR, .address = 0x1f}),
            "crash: SIGSEGV at address 0x1f");
  EXPECT_EQ(TextOf({.number = SIGSEGV, .code = SI_KERNEL}),
            "crash: SIGSEGV at an unknown address");
  EXPECT_EQ(TextOf({.number = SIGBUS, .code = BUS_ADRERR, .address = 0x1000}),
            "crash: SIGBUS at address 0x1000");
  EXPECT_EQ(TextOf({.number = SIGFPE, .code = FPE_INTDIV, .address = 0x10}),
            "crash: SIGFPE at instruction 0x10");
  EXPECT_EQ(TextOf({.number = SIGILL, .code = ILL_ILLOPN, .address = 0x10}),
            "crash: SIGILL at instruction 0x10");
}

TEST(CrashText, SaysWhoSentTheSignal) {
  EXPECT_EQ(TextOf({.number = SIGABRT, .code = SI_TKILL, .sender = kSelf}),
            "crash: SIGABRT");
  EXPECT_EQ(TextOf({.number = SIGSEGV,
                    .code = SI_USER,
                    .sender = 7,
                    .sender_user = 1000}),
            "crash: SIGSEGV sent by process 7 of user 1000");
  EXPECT_EQ(TextOf({.number = SIGSEGV, .code = SI_USER, .sender = 0}),
            "crash: SIGSEGV sent by a process of another PID namespace");
}

TEST(CrashText, TellsAStackOverflowByTheStackPointer) {
  constexpr uintptr_t kStack = 0x7f0000000000;
  const auto is_overflow = [](Fault fault) {
    fault.number = SIGSEGV;
    fault.stack_pointer = kStack;
    return fault.IsStackOverflow();
  };
  // The call at the end of the stack writes just below the stack pointer.
  EXPECT_TRUE(is_overflow({.code = SEGV_ACCERR, .address = kStack - 8}));
  EXPECT_TRUE(is_overflow({.code = SEGV_MAPERR, .address = kStack + 4096}));
  EXPECT_FALSE(
      is_overflow({.code = SEGV_MAPERR, .address = kStack - (1 << 20)}));
  EXPECT_FALSE(
      is_overflow({.code = SEGV_MAPERR, .address = kStack + (1 << 20)}));
  EXPECT_FALSE(is_overflow({.code = SEGV_MAPERR, .address = 0}));
  // Sent, or without an address.
  EXPECT_FALSE(is_overflow({.code = SI_USER, .address = kStack}));
  EXPECT_FALSE(is_overflow({.code = SI_KERNEL, .address = kStack}));
  const Fault bus{.number = SIGBUS,
                  .code = BUS_ADRERR,
                  .address = kStack,
                  .stack_pointer = kStack};
  EXPECT_FALSE(bus.IsStackOverflow());
  const Fault low{.number = SIGSEGV,
                  .code = SEGV_MAPERR,
                  .address = 16,
                  .stack_pointer = 8};
  EXPECT_EQ(TextOf(low), "crash: SIGSEGV at address 0x10 (stack overflow)");
}

TEST(CrashText, NamesThePlugin) {
  EXPECT_EQ(PlaceOf(std::nullopt), " outside of plugin code");
  EXPECT_EQ(PlaceOf(runtime::RunningCode{.plugin = "orders",
                                         .version = "1.4.0",
                                         .function = "Step",
                                         .process_type = "order",
                                         .pid = {1, 0x5f3a90c2, 0x2a, 1}}),
            " in plugin \"orders\" 1.4.0: Step of process type \"order\", PID "
            "1.5f3a90c2.2a.1");
  EXPECT_EQ(PlaceOf(runtime::RunningCode{.plugin = "prices",
                                         .version = "2",
                                         .function = "inline command handler",
                                         .command = "price.get",
                                         .process_type = "order"}),
            " in plugin \"prices\" 2: inline command handler of command "
            "\"price.get\", process type \"order\"");
  EXPECT_EQ(PlaceOf(runtime::RunningCode{.file = "/plugins/orders.so",
                                         .function = "static initialisers"}),
            " in plugin file \"/plugins/orders.so\": static initialisers");
}

TEST(CrashText, HasRoomForTheLongestNames) {
  const std::string name(kMaxNameBytes, 'n');
  const std::string version(1000, 'v');
  const std::string place = PlaceOf(runtime::RunningCode{
      .plugin = name,
      .version = version,
      .function = "inline command handler",
      .command = name,
      .process_type = name,
      .pid = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}});
  EXPECT_TRUE(place.ends_with("PID ffffffff.ffffffff.ffffffff.ffffffff"));
  const std::string fault =
      TextOf({.number = SIGSEGV,
              .code = SEGV_MAPERR,
              .address = UINTPTR_MAX - 1,
              .stack_pointer = UINTPTR_MAX - (size_t{128} << 10)});
  EXPECT_LE(fault.size() + place.size(), kCrashTextBytes);
}

TEST(EndOfPath, KeepsWholeCharactersOfTheEnd) {
  EXPECT_EQ(EndOfPath("/a/b.so", 7), "/a/b.so");
  EXPECT_EQ(EndOfPath("/a/b.so", 4), "b.so");
  EXPECT_EQ(EndOfPath("/\xc3\xa4.so", 4), ".so");
}

}  // namespace
}  // namespace actord::daemon
