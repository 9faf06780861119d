// Tests the thread of "actorctl top" that asks the daemon: requests in flight,
// waiting requests, and the end.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>

#include "absl/time/clock.h"
#include "client/top/sampler.h"
#include "tests/client/fake_daemon.h"

namespace actord::client::top {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kPatience = absl::Seconds(20);

bool Eventually(const std::function<bool()>& condition) {
  const absl::Time end = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

// Accepts connections and never answers.
class MuteDaemon {
 public:
  MuteDaemon() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket_, any, size) != 0 || listen(socket_, 8) != 0 ||
        getsockname(socket_, any, &size) != 0) {
      ADD_FAILURE() << "no socket";
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~MuteDaemon() { close(socket_); }
  MuteDaemon(const MuteDaemon&) = delete;
  MuteDaemon& operator=(const MuteDaemon&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
};

Wish Terminate(const std::string& pid) {
  return {.kind = Wish::Kind::kTerminate, .pid = pid};
}

std::vector<std::string> Texts(const std::vector<Done>& all) {
  std::vector<std::string> texts;
  for (const Done& done : all) texts.push_back(done.text);
  return texts;
}

// Nobody takes the answers: the sampler keeps the last answer and a few before
// it.
TEST(TopSampler, KeepsAFewAnswersThatNobodyTakes) {
  FakeDaemon daemon;
  Sampler sampler(daemon.address(), {.interval = absl::Seconds(1)});
  for (size_t i = 0; i < 3 * Sampler::kMostDone; ++i) {
    const std::string pid = "gone" + std::to_string(i);
    ASSERT_TRUE(Eventually([&] { return sampler.Do(Terminate(pid)); }));
  }
  ASSERT_TRUE(Eventually([&] { return !sampler.HasOpenWishes(); }));
  const News news = sampler.Take();
  ASSERT_THAT(news.done, SizeIs(Sampler::kMostDone));
  EXPECT_THAT(news.done.back().text,
              HasSubstr("gone" + std::to_string(3 * Sampler::kMostDone - 1)));
  EXPECT_FALSE(news.done.back().ok);
}

TEST(TopSampler, FinishesWaitingCommandsBeforeTheEnd) {
  FakeDaemon daemon;
  Client client(daemon.address());
  v1::SubmitRequest request;
  request.set_process_type("never");
  const std::string pid = client.Submit(request, {})->pid();
  Sampler sampler(daemon.address(), {.interval = absl::Hours(1)});
  ASSERT_TRUE(sampler.Do(Terminate(pid)));
  Cancellation interrupt;
  const std::vector<Done> done = sampler.Finish(/*wait=*/true, interrupt);
  EXPECT_THAT(Texts(done), ElementsAre(pid + " was terminated"));
  EXPECT_TRUE(done.front().ok);
  EXPECT_THAT(daemon.log().terminates, SizeIs(1));
}

TEST(TopSampler, ReportsUnansweredCommands) {
  const MuteDaemon daemon;
  Sampler sampler(daemon.address(), {.interval = absl::Hours(1)});
  // A sample is in flight; commands do not wait for it.
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(sampler.Do(Terminate("p0")));
  size_t taken = 1;
  // One command is in flight, and up to kMostWishes more are queued.
  ASSERT_TRUE(Eventually([&] {
    taken += sampler.Do({.kind = Wish::Kind::kCancel, .pid = "other"});
    return taken > Sampler::kMostWishes;
  }));
  EXPECT_FALSE(sampler.Do({.kind = Wish::Kind::kCancel, .pid = "other"}));
  Cancellation interrupt;
  interrupt.Cancel();
  const std::vector<Done> done = sampler.Finish(/*wait=*/true, interrupt);
  EXPECT_LT(absl::Now() - begin, Sampler::kCallTimeout);
  ASSERT_THAT(done, SizeIs(taken));
  EXPECT_EQ(done.front().text,
            "p0: whether it was terminated is not known: the daemon has not "
            "answered");
  EXPECT_FALSE(done.front().ok);
  EXPECT_EQ(done.back().text,
            "other was not asked to end: there was no time to send it");
  EXPECT_FALSE(done.back().ok);
}

TEST(TopSampler, ReportsNothingWithoutCommands) {
  FakeDaemon daemon;
  Sampler sampler(daemon.address(), {.interval = absl::Hours(1)});
  Cancellation interrupt;
  EXPECT_THAT(sampler.Finish(/*wait=*/true, interrupt), IsEmpty());
}

// A shorter interval takes effect before the longer interval has passed.
TEST(TopSampler, ShorterIntervalTakesEffectAtOnce) {
  FakeDaemon daemon;
  Sampler sampler(daemon.address(), {.interval = absl::Hours(1)});
  ASSERT_TRUE(Eventually([&] { return sampler.Take().sample.has_value(); }));
  sampler.Want({.interval = absl::Milliseconds(1)}, /*now=*/false);
  EXPECT_TRUE(Eventually([&] { return sampler.Take().sample.has_value(); }));
}

}  // namespace
}  // namespace actord::client::top
