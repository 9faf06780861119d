// actord.v1.ActorService: each call into the runtime's terms, and back.
//
// The methods run on gRPC's few callback threads and never block. Every call is
// finished exactly once, whatever its client does: a call that is never
// finished would keep the server from shutting down.
//
// Thread-safety: every method may run on any thread. Ownership: borrows all
// that is in the context; it must outlive the server that the service is in.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <vector>

#include "actord/v1/actor_service.grpc.pb.h"
#include "daemon/log/logging.h"
#include "daemon/operations/idempotency.h"
#include "daemon/operations/shutdown_control.h"
#include "daemon/plugins/loaded_plugins.h"
#include "daemon/plugins/plugin_loading.h"
#include "daemon/settings/config.h"
#include "daemon/streams/stream.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::daemon {

struct ServiceContext {
  const Config& config;
  const runtime::Clock& clock;
  const runtime::Catalog& catalog;
  const LoadedPlugins& plugins;
  PluginLoading& plugin_loading;
  runtime::Runtime& runtime;
  RequestIds& request_ids;  // of Submit
  RequestIds& message_ids;  // of Send
  ShutdownControl& shutdown;
  const Logger& logger;
};

// The generated service with every method in raw form (see rpc_message.h).
namespace raw {
using Service = v1::ActorService;
using Submit = Service::WithRawCallbackMethod_Submit<Service::Service>;
using Send = Service::WithRawCallbackMethod_Send<Submit>;
using Call = Service::WithRawCallbackMethod_Call<Send>;
using ListNames = Service::WithRawCallbackMethod_ListNames<Call>;
using Await = Service::WithRawCallbackMethod_Await<ListNames>;
using Cancel = Service::WithRawCallbackMethod_Cancel<Await>;
using Terminate = Service::WithRawCallbackMethod_Terminate<Cancel>;
using CompleteYield = Service::WithRawCallbackMethod_CompleteYield<Terminate>;
using ListYields = Service::WithRawCallbackMethod_ListYields<CompleteYield>;
using GetProcess = Service::WithRawCallbackMethod_GetProcess<ListYields>;
using ListProcesses = Service::WithRawCallbackMethod_ListProcesses<GetProcess>;
using GetStatus = Service::WithRawCallbackMethod_GetStatus<ListProcesses>;
using Shutdown = Service::WithRawCallbackMethod_Shutdown<GetStatus>;
using ListDeadLetters =
    Service::WithRawCallbackMethod_ListDeadLetters<Shutdown>;
using GetDeadLetter =
    Service::WithRawCallbackMethod_GetDeadLetter<ListDeadLetters>;
using ResendDeadLetter =
    Service::WithRawCallbackMethod_ResendDeadLetter<GetDeadLetter>;
using DropDeadLetters =
    Service::WithRawCallbackMethod_DropDeadLetters<ResendDeadLetter>;
using Work = Service::WithRawCallbackMethod_Work<DropDeadLetters>;
using SendStream = Service::WithRawCallbackMethod_SendStream<Work>;
using SubmitStream = Service::WithRawCallbackMethod_SubmitStream<SendStream>;
using WatchProcesses =
    Service::WithRawCallbackMethod_WatchProcesses<SubmitStream>;
using LoadPlugin = Service::WithRawCallbackMethod_LoadPlugin<WatchProcesses>;
using ListPlugins = Service::WithRawCallbackMethod_ListPlugins<LoadPlugin>;
}  // namespace raw

class ActorService final : public raw::ListPlugins {
 public:
  explicit ActorService(const ServiceContext& context);

  using Reactor = grpc::ServerUnaryReactor;
  using StreamReactor =
      grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
  using WriteReactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  using Context = grpc::CallbackServerContext;
  using Bytes = grpc::ByteBuffer;

  Reactor* Submit(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* Send(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* Call(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* ListNames(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* Await(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* Cancel(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* Terminate(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* CompleteYield(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* ListYields(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* GetProcess(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* ListProcesses(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* GetStatus(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* LoadPlugin(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* ListPlugins(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* Shutdown(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* ListDeadLetters(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* GetDeadLetter(Context* call, const Bytes* in, Bytes* out) override;
  Reactor* ResendDeadLetter(Context* call, const Bytes* in,
                            Bytes* out) override;
  Reactor* DropDeadLetters(Context* call, const Bytes* in, Bytes* out) override;
  StreamReactor* Work(Context* call) override;
  StreamReactor* SendStream(Context* call) override;
  StreamReactor* SubmitStream(Context* call) override;
  WriteReactor* WatchProcesses(Context* call, const Bytes* in) override;

  // Closes all streams, and those that come: every process has ended.
  void CloseStreams();

 private:
  [[nodiscard]] runtime::PayloadLimit payload_limit() const {
    return runtime::PayloadLimit(runtime_.limits());
  }

  const ServiceContext context_;
  runtime::Runtime& runtime_;
  const uint64_t started_ns_;  // of the monotonic clock
  const uint64_t started_unix_ns_;
  OpenStreams streams_;
};

}  // namespace actord::daemon
