#include "client/calls/client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "client/calls/connection.h"
#include "client/calls/error.h"

namespace actord::client {
namespace {

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Unary(
    const Endpoint& endpoint, Stub& stub,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request, const CallOptions& options) {
  grpc::ClientContext context;
  absl::Status usable = CheckEndpoint(endpoint);
  if (!usable.ok()) return usable;
  AddToken(endpoint, context);
  SetDeadline(options.deadline, context);
  const Cancellation::Registration registration(
      options.cancellation, [&context] { context.TryCancel(); });
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(const Endpoint& endpoint,
                                           grpc::ChannelArguments arguments) {
  // No limit here: a page of yields may carry many payloads, and the daemon's
  // limits bound it.
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // No proxy: the daemon runs near its clients, and the environment's proxies
  // are for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!endpoint.has_tls()) {
    return grpc::CreateCustomChannel(
        endpoint.address, grpc::InsecureChannelCredentials(), arguments);
  }
  const TlsOptions& tls = endpoint.tls;
  if (!tls.server_name.empty()) {
    arguments.SetSslTargetNameOverride(tls.server_name);
  }
  return grpc::CreateCustomChannel(
      endpoint.address,
      grpc::SslCredentials({.pem_root_certs = tls.ca,
                            .pem_private_key = tls.key,
                            .pem_cert_chain = tls.certificate}),
      arguments);
}

void AddToken(const Endpoint& endpoint, grpc::ClientContext& context) {
  if (endpoint.token.empty() || !CheckEndpoint(endpoint).ok()) return;
  context.AddMetadata("authorization", "Bearer " + endpoint.token);
}

void SetDeadline(absl::Time deadline, grpc::ClientContext& context) {
  if (deadline == absl::InfiniteFuture()) return;
  context.set_deadline(absl::ToChronoTime(deadline));
}

Client::Client(const Endpoint& endpoint)
    : connection_(
          std::make_shared<Connection>(Connection{endpoint, {}, {}, {}})) {
  const auto& channel = connection_->channel = OpenChannel(endpoint);
  connection_->actors = v1::ActorService::NewStub(channel);
  connection_->health = grpc::health::v1::Health::NewStub(channel);
}

Client::~Client() = default;

bool Client::is_connected() const {
  const grpc_connectivity_state state =
      connection_->channel->GetState(/*try_to_connect=*/false);
  return state == GRPC_CHANNEL_READY || state == GRPC_CHANNEL_IDLE;
}

absl::StatusOr<v1::SubmitResponse> Client::Submit(
    const v1::SubmitRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Submit, request, options);
}

absl::StatusOr<v1::RunResponse> Client::Run(const v1::RunRequest& request,
                                            const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Run, request, options);
}

absl::StatusOr<v1::SendResponse> Client::Send(const v1::SendRequest& request,
                                              const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Send, request, options);
}

absl::StatusOr<v1::CallResponse> Client::Call(const v1::CallRequest& request,
                                              const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Call, request, options);
}

absl::StatusOr<v1::ListNamesResponse> Client::ListNames(
    const v1::ListNamesRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListNames, request, options);
}

absl::StatusOr<v1::AwaitResponse> Client::Await(const v1::AwaitRequest& request,
                                                const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Await, request, options);
}

absl::StatusOr<v1::CancelResponse> Client::Cancel(
    const v1::CancelRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Cancel, request, options);
}

absl::StatusOr<v1::TerminateResponse> Client::Terminate(
    const v1::TerminateRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Terminate, request, options);
}

absl::StatusOr<v1::CompleteYieldResponse> Client::CompleteYield(
    const v1::CompleteYieldRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::CompleteYield, request, options);
}

absl::StatusOr<v1::CreateYieldLinkResponse> Client::CreateYieldLink(
    const v1::CreateYieldLinkRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::CreateYieldLink, request, options);
}

absl::StatusOr<v1::ListYieldsResponse> Client::ListYields(
    const v1::ListYieldsRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListYields, request, options);
}

absl::StatusOr<v1::ListCallsResponse> Client::ListCalls(
    const v1::ListCallsRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListCalls, request, options);
}

absl::StatusOr<v1::ListDeadLettersResponse> Client::ListDeadLetters(
    const v1::ListDeadLettersRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListDeadLetters, request, options);
}

absl::StatusOr<v1::GetDeadLetterResponse> Client::GetDeadLetter(
    const v1::GetDeadLetterRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::GetDeadLetter, request, options);
}

absl::StatusOr<v1::ResendDeadLetterResponse> Client::ResendDeadLetter(
    const v1::ResendDeadLetterRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ResendDeadLetter, request, options);
}

absl::StatusOr<v1::DropDeadLettersResponse> Client::DropDeadLetters(
    const v1::DropDeadLettersRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::DropDeadLetters, request, options);
}

absl::StatusOr<v1::GetProcessResponse> Client::GetProcess(
    const v1::GetProcessRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::GetProcess, request, options);
}

absl::StatusOr<v1::RecordProcessResponse> Client::RecordProcess(
    const v1::RecordProcessRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::RecordProcess, request, options);
}

absl::StatusOr<v1::ListProcessesResponse> Client::ListProcesses(
    const v1::ListProcessesRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListProcesses, request, options);
}

absl::StatusOr<v1::ListQuarantineResponse> Client::ListQuarantine(
    const v1::ListQuarantineRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListQuarantine, request, options);
}

absl::StatusOr<v1::RetryQuarantineResponse> Client::RetryQuarantine(
    const v1::RetryQuarantineRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::RetryQuarantine, request, options);
}

absl::StatusOr<v1::ListFailuresResponse> Client::ListFailures(
    const v1::ListFailuresRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListFailures, request, options);
}

absl::StatusOr<v1::ListWorkersResponse> Client::ListWorkers(
    const v1::ListWorkersRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListWorkers, request, options);
}

absl::StatusOr<v1::ListLogLinesResponse> Client::ListLogLines(
    const v1::ListLogLinesRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListLogLines, request, options);
}

absl::StatusOr<v1::SetLogLevelResponse> Client::SetLogLevel(
    const v1::SetLogLevelRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::SetLogLevel, request, options);
}

absl::StatusOr<v1::GetStatusResponse> Client::GetStatus(
    const v1::GetStatusRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::GetStatus, request, options);
}

absl::StatusOr<v1::LoadPluginResponse> Client::LoadPlugin(
    const v1::LoadPluginRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::LoadPlugin, request, options);
}

absl::StatusOr<v1::ListPluginsResponse> Client::ListPlugins(
    const v1::ListPluginsRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListPlugins, request, options);
}

absl::StatusOr<v1::ListClientsResponse> Client::ListClients(
    const v1::ListClientsRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::ListClients, request, options);
}

absl::StatusOr<v1::CutClientResponse> Client::CutClient(
    const v1::CutClientRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::CutClient, request, options);
}

absl::StatusOr<v1::ShutdownResponse> Client::Shutdown(
    const v1::ShutdownRequest& request, const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->actors,
               &v1::ActorService::Stub::Shutdown, request, options);
}

absl::Status Client::Backup(
    const v1::BackupRequest& request,
    const std::function<absl::Status(const v1::BackupResponse&)>& each,
    const CallOptions& options) {
  absl::Status usable = CheckEndpoint(connection_->endpoint);
  if (!usable.ok()) return usable;
  grpc::ClientContext context;
  AddToken(connection_->endpoint, context);
  SetDeadline(options.deadline, context);
  const Cancellation::Registration registration(
      options.cancellation, [&context] { context.TryCancel(); });
  const auto reader = connection_->actors->Backup(&context, request);
  v1::BackupResponse piece;
  absl::Status failed;
  while (failed.ok() && reader->Read(&piece)) failed = each(piece);
  if (!failed.ok()) {
    context.TryCancel();
    while (reader->Read(&piece)) {
    }
    (void)reader->Finish();
    return failed;
  }
  const grpc::Status status = reader->Finish();
  return status.ok() ? absl::OkStatus() : FromGrpc(status);
}

absl::StatusOr<grpc::health::v1::HealthCheckResponse> Client::CheckHealth(
    const grpc::health::v1::HealthCheckRequest& request,
    const CallOptions& options) {
  return Unary(connection_->endpoint, *connection_->health,
               &grpc::health::v1::Health::Stub::Check, request, options);
}

}  // namespace actord::client
