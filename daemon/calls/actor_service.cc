#include "daemon/calls/actor_service.h"

#include "actord/v1/actor_service.grpc.pb.h"

namespace actord::daemon {

ActorService::ActorService(const ServiceContext& context)
    : RoutedService(v1::ActorService::service_full_name(), context.check,
                    {.certificates = context.certificates,
                     .connections = &context.connections.registry(),
                     .tokens = context.tokens,
                     .http_clients = &context.connections.http_clients(),
                     .reads_traces = context.config.traces.propagate,
                     .spans = context.spans},
                    context.config.max_unread_bytes),
      context_(context),
      runtime_(context.runtime),
      started_ns_(context.clock.MonotonicNs()),
      started_unix_ns_(context.clock.UnixNs()) {
  Route("Submit", &ActorService::Submit);
  Route("Run", &ActorService::Run);
  Route("Send", &ActorService::Send);
  Route("SendStream", &ActorService::SendStream);
  Route("SubmitStream", &ActorService::SubmitStream);
  Route("Call", &ActorService::Call);
  Route("ListNames", &ActorService::ListNames);
  Route("Await", &ActorService::Await);
  Route("Cancel", &ActorService::Cancel);
  Route("Terminate", &ActorService::Terminate);
  Route("CompleteYield", &ActorService::CompleteYield);
  Route("CreateYieldLink", &ActorService::CreateYieldLink);
  Route("Work", &ActorService::Work);
  Route("ListWorkers", &ActorService::ListWorkers);
  Route("ListYields", &ActorService::ListYields);
  Route("ListCalls", &ActorService::ListCalls);
  Route("ListDeadLetters", &ActorService::ListDeadLetters);
  Route("GetDeadLetter", &ActorService::GetDeadLetter);
  Route("ResendDeadLetter", &ActorService::ResendDeadLetter);
  Route("DropDeadLetters", &ActorService::DropDeadLetters);
  Route("GetProcess", &ActorService::GetProcess);
  Route("RecordProcess", &ActorService::RecordProcess);
  Route("ListProcesses", &ActorService::ListProcesses);
  Route("WatchProcesses", &ActorService::WatchProcesses);
  Route("Subscribe", &ActorService::Subscribe);
  Route("ListQuarantine", &ActorService::ListQuarantine);
  Route("RetryQuarantine", &ActorService::RetryQuarantine);
  Route("ListFailures", &ActorService::ListFailures);
  Route("ReadHistory", &ActorService::ReadHistory);
  Route("ListLogLines", &ActorService::ListLogLines);
  Route("SetLogLevel", &ActorService::SetLogLevel);
  Route("GetStatus", &ActorService::GetStatus);
  Route("ListClients", &ActorService::ListClients);
  Route("CutClient", &ActorService::CutClient);
  Route("LoadPlugin", &ActorService::LoadPlugin);
  Route("ListPlugins", &ActorService::ListPlugins);
  Route("Backup", &ActorService::Backup);
  Route("Shutdown", &ActorService::Shutdown);
  CheckRoutes();
}

}  // namespace actord::daemon
