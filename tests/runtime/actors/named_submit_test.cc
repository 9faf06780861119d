// Submits for a name: there is one holder at a time, the first submit.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "tests/runtime/runtime_fixture.h"

namespace actord::runtime {
namespace {

class NamedSubmit : public RuntimeTest {
 protected:
  absl::StatusOr<Submitted> SubmitOrDeliver(SubmitRequest request) {
    std::promise<absl::StatusOr<Submitted>> promise;
    auto future = promise.get_future();
    runtime_->SubmitOrDeliver(std::move(request),
                              [&promise](absl::StatusOr<Submitted> answer) {
                                promise.set_value(std::move(answer));
                              });
    return Get(future);
  }
  static SubmitRequest RequestOf(const Script& script, std::string name,
                                 std::vector<Message> messages = {}) {
    SubmitRequest request{
        "script", "", {InputOf(script), ""}, std::move(messages)};
    request.name = std::move(name);
    return request;
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, NamedSubmit, ::testing::Values(1, 2, 4));

TEST_P(NamedSubmit, TheHolderGetsTheMessagesOfTheOthers) {
  RuntimeOptions options;
  options.workers = GetParam();
  Start(options);
  std::atomic<int> received{0};
  const Script script{.step = [&](Events events, StepOutput&) {
    received += static_cast<int>(events.size());
  }};
  const std::vector<Message> messages = {{"1", {}}, {"2", {}}};
  const auto first = SubmitOrDeliver(RequestOf(script, "x", messages));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->delivered);
  const auto second = SubmitOrDeliver(RequestOf(script, "x", messages));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->delivered);
  EXPECT_EQ(second->pid, first->pid);
  EXPECT_TRUE(Eventually([&] { return received == 4; }));
  EXPECT_EQ(runtime_->FindName("x").value(), first->pid);
  EXPECT_EQ(FieldOf(SubmitOrDeliver(RequestOf(script, "")).status()), "name");
  EXPECT_EQ(
      FieldOf(SubmitOrDeliver(RequestOf(script, "x", std::vector<Message>(65)))
                  .status()),
      "messages");
}

// Many at once, and holders that end with their first message: every message is
// taken by a holder, or was left in one's mailbox, and no two hold the name.
TEST_P(NamedSubmit, NoMessageIsLostAndNoNameIsHeldTwice) {
  RuntimeOptions options;
  options.workers = GetParam();
  Start(options);
  std::atomic<int> holders{0};
  std::atomic<int> most{0};
  std::atomic<uint64_t> received{0};
  const Script script{.init =
                          [&](std::string_view) {
                            most = std::max<int>(most, ++holders);
                            return Status();
                          },
                      .step =
                          [&](Events events, StepOutput& out) {
                            received += events.size();
                            if (!events.empty()) {
                              --holders;
                              out.Done();
                            }
                          }};
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kEach = 300;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> accepted{0};
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t j = 0; j < kEach; ++j) {
        const auto answer =
            SubmitOrDeliver(RequestOf(script, "x", {{"m", {}}}));
        if (answer.ok()) ++accepted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, kThreads * kEach);
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(
      Eventually([&] { return runtime_->Stats().processes_live == 0; }));
  EXPECT_TRUE(Eventually(
      [&] { return absl::IsNotFound(runtime_->FindName("x").status()); }));
  // A message in the mailbox of an ending process is dropped by the next
  // process in the slot, if there is one.
  EXPECT_LE(received + runtime_->Stats().dead_letters, accepted);
  EXPECT_GE(received, kThreads);
}

}  // namespace
}  // namespace actord::runtime
