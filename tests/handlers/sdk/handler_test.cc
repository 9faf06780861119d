#include <actord/handler.h>
#include <actord/plugin.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/support/fake_host.h"

namespace actord {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::FakeHost;
using testing::MakePid;

class Sync : public Handler {
 public:
  static constexpr const char* kCommand = "test.sync";
  static inline std::function<Reply(const Command&)> handle;
  Reply Handle(const Command& command) { return handle(command); }
};

class Async : public Handler {
 public:
  static constexpr const char* kCommand = "test.async";
  static constexpr const char* kDoc = "Answers later.";
  static constexpr HandlerMode kMode = HandlerMode::kPooled;
  static inline std::function<void(const Command&, Completion)> handle;
  explicit Async(Host /*host*/) {}
  void Handle(const Command& command, Completion done) {
    handle(command, std::move(done));
  }
};

template <typename T>
class Made {
 public:
  explicit Made(const actord_host& host) {
    EXPECT_EQ(kCommandHandler<T>.create(&host, &self_), ACTORD_OK);
  }
  ~Made() { kCommandHandler<T>.destroy(self_); }
  [[nodiscard]] void* self() const { return self_; }

 private:
  void* self_ = nullptr;
};

struct Careful : Sync {
  static constexpr bool kIdempotent = true;
};
struct Pure : Sync {
  static constexpr bool kPure = true;
};
static_assert(kCommandHandler<Sync>.flags == 0);
static_assert(kCommandHandler<Careful>.flags == ACTORD_HANDLER_FLAG_IDEMPOTENT);
static_assert(kCommandHandler<Pure>.flags == ACTORD_HANDLER_FLAG_PURE);

class HandlerTest : public ::testing::Test {
 protected:
  Answer& RunSync(Payload payload = {}) {
    return host_.Run(kCommandHandler<Sync>, sync_.self(), payload, MakePid(4));
  }
  Answer& RunAsync(Payload payload = {}) {
    return host_.Run(kCommandHandler<Async>, async_.self(), payload);
  }

  FakeHost host_;
  Made<Sync> sync_{host_};
  Made<Async> async_{host_};
};

TEST_F(HandlerTest, SeesTheCommand) {
  Sync::handle = [](const Command& command) {
    EXPECT_EQ(command.name(), "test.sync");
    EXPECT_EQ(command.payload().bytes, "in");
    EXPECT_EQ(command.from(), MakePid(4));
    EXPECT_EQ(command.tag(), 5u);
    return Reply("out", "text/csv");
  };
  const Answer& answer = RunSync("in");
  EXPECT_FALSE(answer.deferred);
  EXPECT_EQ(answer.code, Code::kOk);
  EXPECT_EQ(answer.payload, (testing::OwnedPayload{"out", "text/csv"}));
}

TEST_F(HandlerTest, RepliesWithAnError) {
  Sync::handle = [](const Command&) -> Reply {
    return Status(Code::kNotFound, "nothing there");
  };
  const Answer& answer = RunSync();
  EXPECT_EQ(answer.code, Code::kNotFound);
  EXPECT_EQ(answer.payload.bytes, "nothing there");
}

TEST_F(HandlerTest, RepliesWithTheHolderOfAName) {
  const Pid holder = *ParsePid("1.2b.7.1");
  Sync::handle = [&](const Command&) -> Reply {
    return Status(Code::kAlreadyExists, "taken", holder);
  };
  const Answer& answer = RunSync();
  EXPECT_EQ(answer.code, Code::kAlreadyExists);
  EXPECT_EQ(answer.payload.bytes, "taken");
  EXPECT_EQ(answer.payload.content_type, "text/plain; holder=1.2b.7.1");
}

TEST(Error, NamesTheHolderThatTheContentTypeNames) {
  const auto holder_of = [](const char* type, int32_t status) {
    actord_event event{};
    event.type = ACTORD_EVENT_COMPLETION;
    event.status = status;
    event.payload = Payload("taken", type).ToAbi();
    return Event(&event).error().holder;
  };
  const Pid holder = *ParsePid("1.2b.7.1");
  EXPECT_EQ(holder_of("text/plain; holder=1.2b.7.1", ACTORD_ALREADY_EXISTS),
            holder);
  for (const char* type :
       {"", "text/plain", "text/plain; holder=", "text/plain; holder=1.2b.7",
        "text/plain; holder=1.2b.7.1 ", "text/html; holder=1.2b.7.1"}) {
    EXPECT_TRUE(holder_of(type, ACTORD_ALREADY_EXISTS).empty()) << type;
  }
  EXPECT_TRUE(holder_of("text/plain; holder=1.2b.7.1", ACTORD_OK).empty());
}

TEST(Error, HolderGoesOnWithItsCopies) {
  const Pid holder = *ParsePid("1.2b.7.1");
  const Error error = {Code::kAlreadyExists, "taken", holder};
  EXPECT_EQ(Status(error).holder(), holder);
  EXPECT_EQ(Result<>(error).error().holder, holder);
  EXPECT_EQ(Result<>(error).status().holder(), holder);
  EXPECT_EQ(Failure(error).status().holder(), holder);
  EXPECT_EQ(Reply(Result<>(error)).content_type(),
            "text/plain; holder=1.2b.7.1");
  EXPECT_TRUE(Status(Code::kAlreadyExists, "taken").holder().empty());
}

TEST(Reply, IsMadeOfResults) {
  const auto same = [](const Reply& reply, std::string_view bytes,
                       std::string_view content_type) {
    EXPECT_EQ(reply.code(), Code::kOk);
    EXPECT_EQ(reply.bytes(), bytes);
    EXPECT_EQ(reply.content_type(), content_type);
  };
  const std::string text = "2";
  const OwnedPayload owned("3", "text/csv");
  const Payload view = Payload::Text("4");
  same({}, "", "");
  same("1", "1", "text/plain");
  same(text, "2", "text/plain");
  same(std::string_view(text), "2", "text/plain");
  same(std::string(), "", "");
  same(Reply::Json("{}"), "{}", "application/json");
  same({"2", "text/html"}, "2", "text/html");
  same(owned, "3", "text/csv");
  same(OwnedPayload::Binary("5"), "5", "application/octet-stream");
  same(view, "4", "text/plain");
  same(Result<>(owned), "3", "text/csv");
  same(Result<std::string>(text), "2", "text/plain");
  same(Result<Payload>(view), "4", "text/plain");
  same(Status(), "", "");
}

TEST(Reply, IsMadeOfErrors) {
  const auto fails = [](const Reply& reply) {
    EXPECT_EQ(reply.code(), Code::kNotFound);
    EXPECT_EQ(reply.bytes(), "no book");
    EXPECT_EQ(reply.content_type(), "");
  };
  const Error error = {Code::kNotFound, "no book"};
  fails(error);
  fails(Status(error));
  fails({Code::kNotFound, "no book"});
  fails(Result<>(error));
  fails(Result<std::string>(error));
}

TEST_F(HandlerTest, ExceptionBecomesAnInternalError) {
  Sync::handle = [](const Command&) -> Reply {
    throw std::runtime_error("boom");
  };
  const Answer& answer = RunSync();
  EXPECT_EQ(answer.code, Code::kInternal);
  EXPECT_EQ(answer.payload.bytes, "test.sync threw: boom");
}

TEST_F(HandlerTest, CompletesBeforeHandleReturns) {
  Async::handle = [](const Command&, Completion done) {
    EXPECT_EQ(done.Complete(Payload::Text("now")), Code::kOk);
    EXPECT_TRUE(done.empty());
    EXPECT_EQ(done.Complete("again"), Code::kFailedPrecondition);
  };
  const Answer& answer = RunAsync();
  EXPECT_TRUE(answer.deferred);
  EXPECT_EQ(answer.completions, 1);
  EXPECT_EQ(answer.payload, (testing::OwnedPayload{"now", "text/plain"}));
}

TEST_F(HandlerTest, CompletesLaterOnAnotherThread) {
  std::optional<Completion> kept;
  Async::handle = [&](const Command&, Completion done) {
    kept = std::move(done);
  };
  const Answer& answer = RunAsync();
  EXPECT_TRUE(answer.deferred);
  EXPECT_EQ(answer.completions, 0);
  std::thread([&] { kept->Fail(Code::kUnavailable, "later"); }).join();
  EXPECT_EQ(answer.code, Code::kUnavailable);
  EXPECT_EQ(answer.payload.bytes, "later");
}

TEST_F(HandlerTest, DroppedCompletionIsCancelled) {
  Async::handle = [](const Command&, Completion) {};
  const Answer& answer = RunAsync();
  EXPECT_EQ(answer.completions, 1);
  EXPECT_EQ(answer.code, Code::kCancelled);
}

TEST_F(HandlerTest, CompletionThatIsOverwrittenIsCancelled) {
  Completion kept;
  Async::handle = [&](const Command&, Completion done) {
    kept = std::move(done);
  };
  const Answer& first = RunAsync();
  const Answer& second = RunAsync();
  EXPECT_EQ(first.code, Code::kCancelled);
  EXPECT_EQ(second.completions, 0);
  kept.Complete();
  EXPECT_EQ(second.code, Code::kOk);
}

TEST_F(HandlerTest, ExceptionThatDropsTheCompletionIsItsError) {
  Async::handle = [](const Command&, Completion) {
    throw std::runtime_error("boom");
  };
  const Answer& answer = RunAsync();
  EXPECT_EQ(answer.completions, 1);
  EXPECT_EQ(answer.code, Code::kInternal);
  EXPECT_EQ(answer.payload.bytes, "test.async threw: boom");
}

TEST_F(HandlerTest, ExceptionAfterTheCompletionIsLogged) {
  Async::handle = [](const Command&, Completion done) {
    done.Complete("fine");
    throw std::runtime_error("boom");
  };
  const Answer& answer = RunAsync();
  EXPECT_EQ(answer.completions, 1);
  EXPECT_EQ(answer.code, Code::kOk);
  ASSERT_EQ(host_.logs.size(), 1u);
  EXPECT_EQ(host_.logs[0].level, LogLevel::kError);
  EXPECT_EQ(host_.logs[0].message, "test.async threw: boom");
}

TEST_F(HandlerTest, ExceptionCaughtInsideOfHandleStillCompletes) {
  Async::handle = [](const Command&, Completion done) {
    try {
      const Completion inner = std::move(done);
      throw std::runtime_error("boom");
    } catch (const std::runtime_error&) {
      // The owner of the completion is gone.
    }
  };
  const Answer& answer = RunAsync();
  EXPECT_EQ(answer.completions, 1);
  EXPECT_EQ(answer.code, Code::kCancelled);
}

TEST_F(HandlerTest, OlderCompletionDroppedByAnExceptionIsCancelled) {
  Completion older;
  Async::handle = [&](const Command&, Completion done) {
    older = std::move(done);
  };
  const Answer& first = RunAsync();
  Async::handle = [&](const Command&, Completion) {
    const Completion local = std::move(older);
    throw std::runtime_error("boom");
  };
  const Answer& second = RunAsync();
  EXPECT_EQ(first.code, Code::kCancelled);
  EXPECT_EQ(first.completions, 1);
  EXPECT_EQ(second.code, Code::kInternal);
  EXPECT_EQ(second.completions, 1);
}

TEST_F(HandlerTest, CompletesAfterADelay) {
  Async::handle = [](const Command&, Completion done) {
    done.CompleteAfter(3ms);
  };
  EXPECT_EQ(RunAsync().delay_ns, 3'000'000u);
  Async::handle = [](const Command&, Completion done) {
    done.CompleteAfter(-3ms);
  };
  EXPECT_EQ(RunAsync().delay_ns, 0u);
}

TEST_F(HandlerTest, HostFacesTheDaemon) {
  const Host host(&host_);
  host_.send_answer = Code::kResourceExhausted;
  EXPECT_EQ(host.Send(MakePid(1), MakePid(2), "t", "p"),
            Code::kResourceExhausted);
  EXPECT_EQ(host_.sent.at(0).to, MakePid(2));
  EXPECT_EQ(host.FormatPid(MakePid(12)), "pid-12");
  EXPECT_EQ(host.ParsePid("pid-12"), MakePid(12));
  EXPECT_EQ(host.ParsePid("12"), std::nullopt);
  EXPECT_EQ(host.Now().time_since_epoch(), 1'700'000'000s);
}

TEST_F(HandlerTest, TableSaysWhatTheClassSays) {
  EXPECT_EQ(kCommandHandler<Async>.struct_size, sizeof(actord_command_handler));
  EXPECT_STREQ(kCommandHandler<Async>.command, "test.async");
  EXPECT_STREQ(kCommandHandler<Async>.doc, "Answers later.");
  EXPECT_EQ(kCommandHandler<Async>.mode, uint32_t{ACTORD_HANDLER_POOLED});
  EXPECT_EQ(kCommandHandler<Sync>.mode, uint32_t{ACTORD_HANDLER_INLINE});
}

}  // namespace
}  // namespace actord
