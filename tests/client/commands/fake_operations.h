// The part of the fake daemon that answers the calls of operators: failures,
// waits, quarantine, log, history, workers, plugins, publications.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <mutex>
#include <optional>

#include "actord/v1/actor_service.grpc.pb.h"
#include "tests/client/commands/fake_lists.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/streams/fake_stream.h"

namespace actord::client {

class FakeOperations : public FakeLists {
 public:
  using FakeLists::FakeLists;

  ServerUnaryReactor* ListFailures(
      CallbackServerContext* context,
      const v1::ListFailuresRequest* /*request*/,
      v1::ListFailuresResponse* response) override {
    return Answered(context, daemon_.operations.failures, response);
  }

  ServerUnaryReactor* ListCalls(CallbackServerContext* context,
                                const v1::ListCallsRequest* /*request*/,
                                v1::ListCallsResponse* response) override {
    if (daemon_.operations.calls.calls().empty()) {
      return Answer(context, {grpc::StatusCode::UNIMPLEMENTED, "no calls"});
    }
    return Answered(context, daemon_.operations.calls, response);
  }

  ServerUnaryReactor* ListQuarantine(
      CallbackServerContext* context,
      const v1::ListQuarantineRequest* /*request*/,
      v1::ListQuarantineResponse* response) override {
    return Answered(context, daemon_.operations.quarantine, response);
  }

  ServerUnaryReactor* RetryQuarantine(
      CallbackServerContext* context,
      const v1::RetryQuarantineRequest* /*request*/,
      v1::RetryQuarantineResponse* response) override {
    return Answered(context, daemon_.operations.tried, response);
  }

  ServerUnaryReactor* ListLogLines(
      CallbackServerContext* context,
      const v1::ListLogLinesRequest* /*request*/,
      v1::ListLogLinesResponse* response) override {
    return Answered(context, daemon_.operations.log, response);
  }

  ServerUnaryReactor* ListWorkers(CallbackServerContext* context,
                                  const v1::ListWorkersRequest* /*request*/,
                                  v1::ListWorkersResponse* response) override {
    return Answered(context, daemon_.operations.workers, response);
  }

  ServerUnaryReactor* ListPlugins(CallbackServerContext* context,
                                  const v1::ListPluginsRequest* /*request*/,
                                  v1::ListPluginsResponse* response) override {
    return Answered(context, daemon_.operations.plugins, response);
  }

  ServerUnaryReactor* LoadPlugin(CallbackServerContext* context,
                                 const v1::LoadPluginRequest* /*request*/,
                                 v1::LoadPluginResponse* response) override {
    return Answered(context, daemon_.operations.loaded, response);
  }

  grpc::ServerWriteReactor<v1::ReadHistoryResponse>* ReadHistory(
      CallbackServerContext* /*context*/,
      const v1::ReadHistoryRequest* /*request*/) override {
    return new FakeWriter<v1::ReadHistoryResponse>({daemon_.operations.history},
                                                   grpc::Status::OK);
  }

  // Stays open.
  grpc::ServerWriteReactor<v1::SubscribeResponse>* Subscribe(
      CallbackServerContext* /*context*/,
      const v1::SubscribeRequest* /*request*/) override {
    return new FakeWriter<v1::SubscribeResponse>(
        {{}, daemon_.operations.publications}, std::nullopt);
  }

 private:
  template <typename Response>
  static ServerUnaryReactor* Answered(CallbackServerContext* context,
                                      const Response& with,
                                      Response* response) {
    *response = with;
    return Answer(context, grpc::Status::OK);
  }
};

}  // namespace actord::client
