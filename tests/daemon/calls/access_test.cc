// Tests the tokens of the daemon through its service. The end-to-end tests
// cover the files, the reloads and all methods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "identity/token_layout.h"
#include "tests/daemon/served_daemon.h"
#include "tests/identity/directory.h"
#include "tests/identity/tokens.h"

namespace actord::daemon {
namespace {

using identity::ClientToken;
using identity::FormatTokenTable;
using identity::Role;
using identity::StoredToken;
using identity::TokenText;
using ::testing::HasSubstr;

constexpr uint8_t kClient = 1;
constexpr uint8_t kRestricted = 2;
constexpr uint8_t kViewer = 3;
constexpr uint8_t kWorker = 4;
constexpr uint8_t kAdmin = 5;

StoredToken WithRole(uint8_t number, Role role) {
  StoredToken token = ClientToken(number, "app");
  token.identity.role = role;
  token.identity.submit.clear();
  token.identity.send.clear();
  if (role == Role::kWorker) token.identity.work = {"payment.refund"};
  if (role == Role::kAdmin) {
    token.identity.submit = token.identity.send = token.identity.work = {"*"};
  }
  token.identity.sees = identity::DefaultSees(role);
  return token;
}

std::string Tokens() {
  // All tokens are of one owner, so that roles and patterns alone refuse.
  StoredToken restricted = ClientToken(kRestricted);
  restricted.identity.submit = {"echo"};
  restricted.identity.send = {"ec*"};
  return FormatTokenTable(ClientToken(kClient)) + FormatTokenTable(restricted) +
         FormatTokenTable(WithRole(kViewer, Role::kViewer)) +
         FormatTokenTable(WithRole(kWorker, Role::kWorker)) +
         FormatTokenTable(WithRole(kAdmin, Role::kAdmin));
}

class AccessTest : public identity::WithDirectory {
 protected:
  Config WithTokens(AuthMode mode) {
    Config config = ServedDaemon::Defaults();
    config.auth_tokens = Write(Tokens());
    config.auth_mode = mode;
    return config;
  }
  void Serve(AuthMode mode = AuthMode::kByTokens) {
    daemon_ = std::make_unique<ServedDaemon>(WithTokens(mode));
  }
  // The context of the next call.
  grpc::ClientContext& With(const std::string& authorization) {
    context_ = std::make_unique<grpc::ClientContext>();
    if (!authorization.empty()) {
      context_->AddMetadata("authorization", authorization);
    }
    return *context_;
  }
  grpc::ClientContext& With(uint8_t token) {
    return With("Bearer " + TokenText(token));
  }
  static void Expect(const grpc::Status& status, grpc::StatusCode code,
                     const std::string& reason) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_EQ(ReasonIn(status), reason) << status.error_message();
  }
  grpc::Status GetStatus(grpc::ClientContext& context) {
    return daemon_->stub().GetStatus(&context, {}, &status_);
  }
  grpc::Status Submit(uint8_t token, const std::string& type,
                      const std::string& name = "") {
    v1::SubmitRequest request;
    request.set_process_type(type);
    request.set_name(name);
    if (!name.empty()) {
      request.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
      request.add_messages()->set_topic("add");
    }
    v1::SubmitResponse response;
    const grpc::Status status =
        daemon_->stub().Submit(&With(token), request, &response);
    pid_ = response.pid();
    return status;
  }
  grpc::Status Send(uint8_t token, const std::string& pid,
                    const std::string& message_id = "") {
    v1::SendRequest request;
    request.set_pid(pid);
    request.set_topic("add");
    request.mutable_payload()->set_data("1");
    request.set_message_id(message_id);
    v1::SendResponse response;
    return daemon_->stub().Send(&With(token), request, &response);
  }
  grpc::Status Call(uint8_t token, const std::string& pid) {
    v1::CallRequest request;
    request.set_pid(pid);
    request.set_topic("add");
    request.mutable_payload()->set_data("1");
    v1::CallResponse response;
    return daemon_->stub().Call(&With(token), request, &response);
  }

  std::unique_ptr<ServedDaemon> daemon_;
  std::unique_ptr<grpc::ClientContext> context_;
  v1::GetStatusResponse status_;
  std::string pid_;
};

constexpr auto kUnauthenticated = grpc::StatusCode::UNAUTHENTICATED;
constexpr auto kDenied = grpc::StatusCode::PERMISSION_DENIED;

TEST_F(AccessTest, RefusesMissingMalformedAndUnknownTokens) {
  Serve();
  EXPECT_TRUE(GetStatus(With(kClient)).ok());
  EXPECT_TRUE(GetStatus(With("bearer " + TokenText(kClient))).ok());
  Expect(GetStatus(With("")), kUnauthenticated, "TOKEN_MISSING");
  for (const std::string& text :
       {std::string("Bearer"), TokenText(kClient),
        "Basic " + TokenText(kClient), "Bearer  " + TokenText(kClient),
        "Bearer " + TokenText(kClient) + " ",
        "Bearer " + TokenText(kClient).substr(1)}) {
    Expect(GetStatus(With(text)), kUnauthenticated, "TOKEN_MALFORMED");
  }
  Expect(GetStatus(With(uint8_t{9})), kUnauthenticated, "TOKEN_INVALID");
  grpc::ClientContext& twice = With(kClient);
  twice.AddMetadata("authorization", "Bearer " + TokenText(kClient));
  Expect(GetStatus(twice), kUnauthenticated, "TOKEN_MALFORMED");
  EXPECT_TRUE(GetStatus(With(kClient)).ok());
  EXPECT_EQ(status_.counters().calls_unauthenticated_total(), 9u);
  EXPECT_EQ(status_.counters().calls_denied_total(), 0u);
}

TEST_F(AccessTest, RefusesAMethodThatTheRoleDoesNotPermit) {
  Serve();
  const grpc::Status status = Submit(kViewer, "echo");
  Expect(status, kDenied, "ROLE_NOT_ALLOWED");
  EXPECT_EQ(status.error_message(),
            "Submit needs the role client or admin, and the token has the role "
            "viewer");
  Expect(GetStatus(With(kWorker)), kDenied, "ROLE_NOT_ALLOWED");
}

TEST_F(AccessTest, PatternsBindSubmitSendAndCall) {
  Serve();
  EXPECT_TRUE(Submit(kRestricted, "echo").ok());
  Expect(Submit(kRestricted, "counter"), kDenied, "NAME_NOT_ALLOWED");
  ASSERT_TRUE(Submit(kClient, "counter").ok());
  const std::string counter = pid_;
  Expect(Send(kRestricted, counter), kDenied, "NAME_NOT_ALLOWED");
  Expect(Send(kRestricted, counter, "m1"), kDenied, "NAME_NOT_ALLOWED");
  Expect(Call(kRestricted, counter), kDenied, "NAME_NOT_ALLOWED");
  // A refused id is not remembered.
  EXPECT_TRUE(Send(kClient, counter, "m1").ok());
  EXPECT_TRUE(Call(kClient, counter).ok());
}

TEST_F(AccessTest, PatternsBindTheDeliveryToTheHolderOfAName) {
  Serve();
  ASSERT_TRUE(Submit(kClient, "counter", "sum").ok());
  Expect(Submit(kRestricted, "echo", "sum"), kDenied, "NAME_NOT_ALLOWED");
  EXPECT_TRUE(Submit(kRestricted, "echo", "other").ok());
}

TEST_F(AccessTest, PatternsBindTheAnswersToYields) {
  Serve();
  v1::SubmitRequest order;
  order.set_process_type("order");
  order.mutable_input()->set_data(
      R"({"order": "o", "amount_cents": 1, "hold_ms": 0})");
  v1::SubmitResponse submitted;
  ASSERT_TRUE(daemon_->stub().Submit(&With(kClient), order, &submitted).ok());
  v1::ListYieldsResponse yields;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (yields.yields_size() == 0 &&
         std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(daemon_->stub().ListYields(&With(kViewer), {}, &yields).ok());
  }
  ASSERT_EQ(yields.yields_size(), 1);
  // A viewer sees the yield without its payload.
  EXPECT_EQ(yields.yields(0).payload().data(), "");
  EXPECT_EQ(yields.yields(0).command(), "payment.charge");
  ASSERT_TRUE(daemon_->stub().ListYields(&With(kClient), {}, &yields).ok());
  EXPECT_NE(yields.yields(0).payload().data(), "");

  v1::CompleteYieldRequest complete;
  complete.set_token(yields.yields(0).token());
  complete.mutable_result()->set_data("true");
  v1::CompleteYieldResponse answer;
  Expect(daemon_->stub().CompleteYield(&With(kWorker), complete, &answer),
         kDenied, "NAME_NOT_ALLOWED");
  EXPECT_TRUE(
      daemon_->stub().CompleteYield(&With(kAdmin), complete, &answer).ok());
  EXPECT_EQ(answer.answer(), v1::CompleteYieldResponse::ANSWER_ACCEPTED);
}

TEST_F(AccessTest, ObserveServesAndCountsWhatEnforceWouldRefuse) {
  Serve(AuthMode::kObserve);
  EXPECT_TRUE(GetStatus(With("")).ok());
  EXPECT_TRUE(Submit(kViewer, "echo").ok());
  EXPECT_TRUE(Submit(kRestricted, "counter").ok());
  EXPECT_TRUE(Send(kRestricted, pid_).ok());
  EXPECT_TRUE(GetStatus(With(kClient)).ok());
  EXPECT_EQ(status_.counters().calls_observed_total(), 4u);
  EXPECT_EQ(status_.counters().calls_unauthenticated_total(), 0u);
  EXPECT_EQ(status_.counters().calls_denied_total(), 0u);
}

TEST_F(AccessTest, ReloadChangesTheMode) {
  Serve(AuthMode::kOff);
  EXPECT_TRUE(GetStatus(With("")).ok());
  EXPECT_TRUE(GetStatus(With("Bearer nonsense")).ok());
  daemon_->daemon().Reload(WithTokens(AuthMode::kEnforce));
  Expect(GetStatus(With("")), kUnauthenticated, "TOKEN_MISSING");
  // No file of tokens in the new configuration needs a restart, so the tokens
  // stay in force.
  daemon_->daemon().Reload(ServedDaemon::Defaults());
  Expect(GetStatus(With("")), kUnauthenticated, "TOKEN_MISSING");
  daemon_->daemon().Reload(WithTokens(AuthMode::kOff));
  EXPECT_TRUE(GetStatus(With("")).ok());
  EXPECT_EQ(status_.counters().calls_unauthenticated_total(), 2u);
  EXPECT_EQ(status_.counters().calls_observed_total(), 0u);
}

TEST_F(AccessTest, AnAnswerIsNotGivenToARevokedToken) {
  Serve();
  ASSERT_TRUE(Submit(kClient, "counter").ok());
  const std::string pid = pid_;
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + TokenText(kClient));
  v1::AwaitRequest request;
  request.set_pid(pid);
  v1::AwaitResponse response;
  std::promise<grpc::Status> ended;
  daemon_->stub().async()->Await(
      &context, &request, &response,
      [&ended](const grpc::Status& status) { ended.set_value(status); });
  // The call is under way when a later one is answered.
  ASSERT_TRUE(GetStatus(With(kClient)).ok());
  Config config = WithTokens(AuthMode::kByTokens);
  Write(FormatTokenTable(WithRole(kAdmin, Role::kAdmin)));
  daemon_->daemon().Reload(config);
  v1::TerminateRequest terminate;
  terminate.set_pid(pid);
  v1::TerminateResponse terminated;
  ASSERT_TRUE(
      daemon_->stub().Terminate(&With(kAdmin), terminate, &terminated).ok());
  Expect(ended.get_future().get(), kUnauthenticated, "TOKEN_INVALID");
  EXPECT_FALSE(response.has_outcome());
}

TEST_F(AccessTest, DaemonDoesNotStartWithABrokenFile) {
  Config config = WithTokens(AuthMode::kByTokens);
  Write("[[token]]\nid = 1\n");
  Logger logger(config.log_format, config.log_level);
  const auto daemon = Daemon::Start(config, logger);
  ASSERT_FALSE(daemon.ok());
  EXPECT_THAT(std::string(daemon.status().message()),
              HasSubstr("auth.tokens: " + config.auth_tokens + ":"));
  EXPECT_EQ(ExitStatusOf(daemon.status()), kExitBadConfiguration);
}

}  // namespace
}  // namespace actord::daemon
