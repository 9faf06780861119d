// Client of one actord daemon: a typed, synchronous function for each RPC.
// bulk.h makes many asynchronous calls; send_stream.h and submit_stream.h are
// fastest.
//
// Thread-safety: every function may be called from any thread; calls share one
// connection. Ownership: owns its connection. An object made from a client
// (Bulk) keeps that connection alive by itself.
// Errors: absl::Status with the code of the call; error.h decodes the details.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/backup.pb.h"
#include "actord/v1/call.pb.h"
#include "actord/v1/client.pb.h"
#include "actord/v1/dead_letter.pb.h"
#include "actord/v1/failure.pb.h"
#include "actord/v1/log.pb.h"
#include "actord/v1/name.pb.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/plugin.pb.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/quarantine.pb.h"
#include "actord/v1/status.pb.h"
#include "actord/v1/work.pb.h"
#include "actord/v1/yield.pb.h"
#include "client/calls/cancellation.h"
#include "client/calls/endpoint.h"
#include "grpc/health/v1/health.pb.h"

namespace actord::client {

struct CallOptions {
  // The call ends with DEADLINE_EXCEEDED at this time.
  absl::Time deadline = absl::InfiniteFuture();
  // The call ends with CANCELLED when this cancellation is cancelled. Borrowed
  // during the call. Null: never.
  Cancellation* cancellation = nullptr;
};

class Client {
 public:
  // The first call connects; it fails with UNAVAILABLE if the daemon cannot be
  // reached. HTTP proxies of the environment are not used.
  explicit Client(const Endpoint& endpoint);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  absl::StatusOr<v1::SubmitResponse> Submit(const v1::SubmitRequest& request,
                                            const CallOptions& options = {});
  absl::StatusOr<v1::SendResponse> Send(const v1::SendRequest& request,
                                        const CallOptions& options = {});
  absl::StatusOr<v1::CallResponse> Call(const v1::CallRequest& request,
                                        const CallOptions& options = {});
  absl::StatusOr<v1::ListNamesResponse> ListNames(
      const v1::ListNamesRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::RunResponse> Run(const v1::RunRequest& request,
                                      const CallOptions& options = {});
  absl::StatusOr<v1::AwaitResponse> Await(const v1::AwaitRequest& request,
                                          const CallOptions& options = {});
  absl::StatusOr<v1::CancelResponse> Cancel(const v1::CancelRequest& request,
                                            const CallOptions& options = {});
  absl::StatusOr<v1::TerminateResponse> Terminate(
      const v1::TerminateRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::CompleteYieldResponse> CompleteYield(
      const v1::CompleteYieldRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::CreateYieldLinkResponse> CreateYieldLink(
      const v1::CreateYieldLinkRequest& request,
      const CallOptions& options = {});
  absl::StatusOr<v1::ListYieldsResponse> ListYields(
      const v1::ListYieldsRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListCallsResponse> ListCalls(
      const v1::ListCallsRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListDeadLettersResponse> ListDeadLetters(
      const v1::ListDeadLettersRequest& request,
      const CallOptions& options = {});
  absl::StatusOr<v1::GetDeadLetterResponse> GetDeadLetter(
      const v1::GetDeadLetterRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ResendDeadLetterResponse> ResendDeadLetter(
      const v1::ResendDeadLetterRequest& request,
      const CallOptions& options = {});
  absl::StatusOr<v1::DropDeadLettersResponse> DropDeadLetters(
      const v1::DropDeadLettersRequest& request,
      const CallOptions& options = {});
  absl::StatusOr<v1::GetProcessResponse> GetProcess(
      const v1::GetProcessRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::RecordProcessResponse> RecordProcess(
      const v1::RecordProcessRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListProcessesResponse> ListProcesses(
      const v1::ListProcessesRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(
      const v1::ListQuarantineRequest& request,
      const CallOptions& options = {});
  absl::StatusOr<v1::RetryQuarantineResponse> RetryQuarantine(
      const v1::RetryQuarantineRequest& request,
      const CallOptions& options = {});
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers(
      const v1::ListWorkersRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListFailuresResponse> ListFailures(
      const v1::ListFailuresRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListLogLinesResponse> ListLogLines(
      const v1::ListLogLinesRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::SetLogLevelResponse> SetLogLevel(
      const v1::SetLogLevelRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::GetStatusResponse> GetStatus(
      const v1::GetStatusRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::LoadPluginResponse> LoadPlugin(
      const v1::LoadPluginRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListPluginsResponse> ListPlugins(
      const v1::ListPluginsRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListClientsResponse> ListClients(
      const v1::ListClientsRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::CutClientResponse> CutClient(
      const v1::CutClientRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ShutdownResponse> Shutdown(
      const v1::ShutdownRequest& request, const CallOptions& options = {});

  // Calls `each` with the pieces of the backup as they come. Returns the error
  // of the call, or the first error of `each`, which ends the call.
  absl::Status Backup(
      const v1::BackupRequest& request,
      const std::function<absl::Status(const v1::BackupResponse&)>& each,
      const CallOptions& options = {});

  // Asks the standard health service.
  absl::StatusOr<grpc::health::v1::HealthCheckResponse> CheckHealth(
      const grpc::health::v1::HealthCheckRequest& request,
      const CallOptions& options = {});

  // False while a first connection is being made, or after it has failed.
  [[nodiscard]] bool is_connected() const;

 private:
  friend class Bulk;
  friend class SendStream;
  friend class SubmitStream;
  struct Connection;
  const std::shared_ptr<Connection> connection_;
};

}  // namespace actord::client
