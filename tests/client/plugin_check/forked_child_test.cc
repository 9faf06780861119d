#include "client/plugin_check/forked_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "client/plugin_check/store_source.h"

namespace actord::client {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kLong = absl::Seconds(60);

std::unique_ptr<ForkedChild> Forked(
    absl::FunctionRef<void(FrameSocket& socket)> run) {
  auto child = ForkedChild::Start(run);
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

TEST(ForkedChild, AnswersWhatItIsSent) {
  const auto child = Forked([](FrameSocket& socket) {
    while (true) {
      auto frame = socket.Receive(absl::InfiniteFuture(), nullptr);
      if (!frame.ok()) return;
      socket.Send(FrameKind::kMessage, frame->bytes + "!").IgnoreError();
    }
  });
  // The second one is larger than the socket's buffer.
  for (const std::string& text :
       {std::string("a"), std::string(4 << 20, 'b'), std::string()}) {
    child->Send(text);
    const auto answer = child->Receive(absl::Now() + kLong, nullptr);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(*answer == text + "!");
  }
}

TEST(ForkedChild, SaysHowItHasEnded) {
  const auto exits = Forked([](FrameSocket&) { _exit(7); });
  ForkedChild::End end = exits->Await(kLong);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_status, 7);
  const auto crashes = Forked([](FrameSocket& socket) {
    socket.Send(FrameKind::kCrash, "Step of books 1").IgnoreError();
    raise(SIGKILL);
  });
  EXPECT_TRUE(absl::IsUnavailable(
      crashes->Receive(absl::Now() + kLong, nullptr).status()));
  end = crashes->Await(kLong);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.what_ran, "Step of books 1");
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
}

TEST(ForkedChild, EndsWhenItIsAborted) {
  const auto hangs = Forked([](FrameSocket&) {
    while (true) pause();
  });
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(hangs->Receive(absl::Now(), nullptr).status()));
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(
      hangs->Receive(absl::Now() + kLong, &cancellation).status()));
  EXPECT_EQ(hangs->Abort().signal, SIGABRT);
  const auto ignores = Forked([](FrameSocket& socket) {
    std::signal(SIGABRT, SIG_IGN);
    socket.Send(FrameKind::kMessage, "ready").IgnoreError();
    while (true) pause();
  });
  ASSERT_TRUE(ignores->Receive(absl::Now() + kLong, nullptr).ok());
  EXPECT_EQ(ignores->Abort().signal, SIGKILL);
}

TEST(WantedTypes, AreTypesOfThePluginAndTypesThatItLacks) {
  const StoreHead head{
      .plugins = {{.number = 1, .name = "books", .version = "1"},
                  {.number = 2, .name = "films", .version = "1"},
                  {.number = 3, .name = "books", .version = "2"}},
      .counts = {{"cinema", 2, 1},
                 {"lost", 0, 1},
                 {"lost", 1, 5},
                 {"lost", 3, 5},
                 {"moved", 1, 1},
                 {"moved", 2, 1},
                 {"page", 0, 1},
                 {"page", 2, 1},
                 {"supervisor", 0, 1}}};
  const PluginDescription plugin{
      .name = "books", .version = "3", .types = {{"page", "image"}}};
  EXPECT_THAT(WantedTypes(head, plugin), ElementsAre("lost", "page"));
}

}  // namespace
}  // namespace actord::client
