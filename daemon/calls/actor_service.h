// Implements actord.v1.ActorService: translates each call for the runtime, and
// the runtime's answer for the client.
//
// The methods run on gRPC's few callback threads, and on the thread of the JSON
// API, and never block. Every call is finished exactly once, even if its client
// misbehaves: an unfinished call would keep the server from shutting down.
//
// Thread-safety: every method may run on any thread. Ownership: the service
// borrows everything in its context. The service and the context's contents
// must outlive the server.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/access/access_control.h"
#include "daemon/access/audit.h"
#include "daemon/calls/routed_service.h"
#include "daemon/calls/starts/run_wait.h"
#include "daemon/calls/starts/start_or_call.h"
#include "daemon/calls/waits.h"
#include "daemon/connections/connections.h"
#include "daemon/counters/stats.h"
#include "daemon/limits/limit_watch.h"
#include "daemon/links/yield_links.h"
#include "daemon/log/logging.h"
#include "daemon/operations/backup_thread.h"
#include "daemon/operations/presented_tokens.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/plugins/plugin_load_threads.h"
#include "daemon/settings/boot_tree_state.h"
#include "daemon/settings/config.h"
#include "daemon/spans/spans.h"
#include "daemon/streams/backup_stream.h"
#include "daemon/streams/history_stream.h"
#include "daemon/streams/history_thread.h"
#include "daemon/streams/send_stream.h"
#include "daemon/streams/stream.h"
#include "daemon/streams/submit_stream.h"
#include "daemon/streams/subscribe_stream.h"
#include "daemon/streams/watch_stream.h"
#include "daemon/streams/work_stream.h"
#include "daemon/tls/peer_certificates.h"
#include "runtime/actors/request_ids.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::daemon {

struct ServiceContext {
  const Config& config;
  const runtime::Clock& clock;
  const runtime::Catalog& catalog;
  const LoadedPlugins& plugins;
  PluginLoadThreads& plugin_load_threads;
  runtime::Runtime& runtime;
  runtime::RequestIds& request_ids;  // used by Submit
  runtime::RequestIds& message_ids;  // used by Send
  ShutdownControl& shutdown;
  Logger& logger;
  Connections& connections;
  AccessControl* access;                     // null: tokens are not configured
  CallCheck check;                           // null: no call is refused
  PeerCertificates* certificates = nullptr;  // null: clients need none
  PresentedTokens* tokens = nullptr;         // null: tokens are not configured
  BackupThread* backups = nullptr;           // null: there is no store
  HistoryThread* histories = nullptr;        // null: there is no store
  YieldLinks* links = nullptr;               // null: there is no key for links
  BootTreeState boot_tree = BootTreeState::kNone;
  const LimitWatch* limits = nullptr;  // null: the status shows no use of it
  Spans* spans = nullptr;              // null: there is no collector
};

class ActorService final : public RoutedService {
 public:
  explicit ActorService(const ServiceContext& context);

  // Closes all streams, and every later stream as it begins. To be called when
  // every process has ended.
  void CloseStreams();
  // Ends the streams whose token has expired or was revoked. To be called only
  // if tokens are configured.
  void RecheckStreams();
  // The counters that the runtime does not know. Any thread.
  [[nodiscard]] DaemonStats Stats() const;
  // When the service was made, and for how long it has served.
  [[nodiscard]] uint64_t started_unix_ns() const { return started_unix_ns_; }
  [[nodiscard]] uint64_t UptimeNs() const {
    return context_.clock.MonotonicNs() - started_ns_;
  }

 private:
  [[nodiscard]] uint64_t LastPosition() const override {
    return runtime_.LastPosition();
  }
  void WhenDurable(uint64_t position,
                   absl::AnyInvocable<void() &&> then) override {
    runtime_.WhenDurable(position, std::move(then));
  }
  void WhenDurableHere(uint64_t position,
                       absl::AnyInvocable<void() &&> then) override {
    runtime_.WhenDurableHere(position, std::move(then));
  }

  // One function for each method. The function is called when the call has
  // passed the gate and its request has been read. RoutedService describes each
  // kind of function.
  void Submit(const Caller& caller, v1::SubmitRequest& request,
              UnaryAnswer<v1::SubmitResponse> answer);
  void Send(const Caller& caller, v1::SendRequest& request,
            UnaryAnswer<v1::SendResponse> answer);
  absl::StatusOr<RunWait> Run(const Caller& caller, v1::RunRequest& request);
  absl::StatusOr<ReplyWait> Call(const Caller& caller,
                                 v1::CallRequest& request);
  absl::StatusOr<ReplyWait> StartOrCallWait(const Caller& caller,
                                            StartOrCall::Order order);
  absl::Status ListNames(const Caller& caller, v1::ListNamesRequest& request,
                         v1::ListNamesResponse& response);
  absl::StatusOr<OutcomeWait> Await(const Caller& caller,
                                    v1::AwaitRequest& request);
  absl::Status Cancel(const Caller& caller, v1::CancelRequest& request,
                      v1::CancelResponse& response);
  absl::Status Terminate(const Caller& caller, v1::TerminateRequest& request,
                         v1::TerminateResponse& response);
  absl::Status CompleteYield(const Caller& caller,
                             v1::CompleteYieldRequest& request,
                             v1::CompleteYieldResponse& response);
  void CreateYieldLink(const Caller& caller,
                       v1::CreateYieldLinkRequest& request,
                       UnaryAnswer<v1::CreateYieldLinkResponse> answer);
  absl::Status ListWorkers(const Caller& caller,
                           v1::ListWorkersRequest& request,
                           v1::ListWorkersResponse& response);
  absl::Status ListYields(const Caller& caller, v1::ListYieldsRequest& request,
                          v1::ListYieldsResponse& response);
  absl::Status ListCalls(const Caller& caller, v1::ListCallsRequest& request,
                         v1::ListCallsResponse& response);
  absl::Status GetProcess(const Caller& caller, v1::GetProcessRequest& request,
                          v1::GetProcessResponse& response);
  absl::Status RecordProcess(const Caller& caller,
                             v1::RecordProcessRequest& request,
                             v1::RecordProcessResponse& response);
  absl::Status ListProcesses(const Caller& caller,
                             v1::ListProcessesRequest& request,
                             v1::ListProcessesResponse& response);
  absl::Status ListEnded(const Access& access,
                         const v1::ListProcessesRequest& request,
                         v1::ListProcessesResponse& response);
  absl::Status GetStatus(const Caller& caller, v1::GetStatusRequest& request,
                         v1::GetStatusResponse& response);
  absl::Status ListQuarantine(const Caller& caller,
                              v1::ListQuarantineRequest& request,
                              v1::ListQuarantineResponse& response);
  void RetryQuarantine(const Caller& caller,
                       v1::RetryQuarantineRequest& request,
                       UnaryAnswer<v1::RetryQuarantineResponse> answer);
  absl::Status ListFailures(const Caller& caller,
                            v1::ListFailuresRequest& request,
                            v1::ListFailuresResponse& response);
  absl::Status ListLogLines(const Caller& caller,
                            v1::ListLogLinesRequest& request,
                            v1::ListLogLinesResponse& response);
  void SetLogLevel(const Caller& caller, v1::SetLogLevelRequest& request,
                   UnaryAnswer<v1::SetLogLevelResponse> answer);
  void LoadPlugin(const Caller& caller, v1::LoadPluginRequest& request,
                  UnaryAnswer<v1::LoadPluginResponse> answer);
  void ListPlugins(const Caller& caller, v1::ListPluginsRequest& request,
                   UnaryAnswer<v1::ListPluginsResponse> answer);
  absl::Status ListClients(const Caller& caller,
                           v1::ListClientsRequest& request,
                           v1::ListClientsResponse& response);
  absl::Status CutClient(const Caller& caller, v1::CutClientRequest& request,
                         v1::CutClientResponse& response);
  absl::StatusOr<std::shared_ptr<BackupStream>> Backup(
      const Caller& caller, const v1::BackupRequest& request);
  void Shutdown(const Caller& caller, v1::ShutdownRequest& request,
                UnaryAnswer<v1::ShutdownResponse> answer);
  absl::Status ListDeadLetters(const Caller& caller,
                               v1::ListDeadLettersRequest& request,
                               v1::ListDeadLettersResponse& response);
  absl::Status GetDeadLetter(const Caller& caller,
                             v1::GetDeadLetterRequest& request,
                             v1::GetDeadLetterResponse& response);
  absl::Status ResendDeadLetter(const Caller& caller,
                                v1::ResendDeadLetterRequest& request,
                                v1::ResendDeadLetterResponse& response);
  absl::Status DropDeadLetters(const Caller& caller,
                               v1::DropDeadLettersRequest& request,
                               v1::DropDeadLettersResponse& response);
  std::shared_ptr<WorkStream> Work(const Caller& caller);
  std::shared_ptr<daemon::SendStream> SendStream(const Caller& caller);
  std::shared_ptr<daemon::SubmitStream> SubmitStream(const Caller& caller);
  absl::StatusOr<std::shared_ptr<WatchStream>> WatchProcesses(
      const Caller& caller, const v1::WatchProcessesRequest& request);
  absl::StatusOr<std::shared_ptr<SubscribeStream>> Subscribe(
      const Caller& caller, const v1::SubscribeRequest& request);

  absl::StatusOr<std::shared_ptr<HistoryStream>> ReadHistory(
      const Caller& caller, const v1::ReadHistoryRequest& request);

  // Of a PID that no durable process has: NOT_DURABLE, or that there is no
  // process.
  [[nodiscard]] absl::Status WhyNoHistory(const Access& access,
                                          const runtime::Pid& pid) const;

  // Signs the link, if the caller may complete its yield.
  absl::Status MakeLink(const Access& access, const YieldLink& link,
                        const YieldLinks& links,
                        v1::CreateYieldLinkResponse& response);

  friend class RoutedService;
  // The audit line of a call; it is empty for most methods.
  [[nodiscard]] AuditEntry Audit(
      const Caller& caller, const google::protobuf::Message& request) const {
    return {context_.logger, caller.access(), caller.source(), request};
  }
  [[nodiscard]] runtime::PayloadLimit payload_limit() const {
    return runtime::PayloadLimit(runtime_.limits());
  }

  const ServiceContext context_;
  runtime::Runtime& runtime_;
  const uint64_t started_ns_;  // on the monotonic clock
  const uint64_t started_unix_ns_;
  OpenStreams streams_;
};

}  // namespace actord::daemon
