// The JSON API: the unary methods of the service as
//   POST /actord.v1.ActorService/METHOD
// in the unary JSON form of the Connect protocol
// (https://connectrpc.com/docs/protocol), their description, /openapi.json, and
// the methods WatchProcesses, ReadHistory and Subscribe as server-sent events,
// /v1/events, /v1/history and /v1/publications (event_call.h), some methods
// with the payload as body (short_routes.h), and the pages of links to yields
// (link_routes.h).
//
// Each method of the service's descriptor is a route. A call goes through the
// gate of the service and into the same member function as a call of gRPC
// (RoutedService::BeginDirect).
//
// One thread beside the server's reads requests, begins calls and writes
// answers, because a large message takes longer than a health check may wait. A
// call that waits (Await, Call) has no thread.
//
// Bounds: the number of open calls, the size of a body, and the time of a call.
// A call whose client has stopped waiting stays open until its handler has
// finished it.
//
// Thread-safety: Begin, Takes and max_body_bytes as in AdminCalls; the rest is
// for one thread. Ownership: borrows the service and the clock.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/admin/admin_calls.h"
#include "daemon/api/call_form.h"
#include "daemon/api/call_thread.h"
#include "daemon/api/event_call.h"
#include "daemon/api/open_calls.h"
#include "daemon/calls/routed_service.h"
#include "daemon/links/yield_links.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class JsonApi final : public AdminCalls {
 public:
  struct Options {
    // The largest request of gRPC. Bodies may be larger, because bytes are
    // base64 in JSON.
    size_t max_request_bytes = 0;
    size_t max_calls = 96;
    // For a call without the header Connect-Timeout-Ms, and at most for one
    // with it.
    absl::Duration max_patience = absl::Hours(1);
    // The text of /openapi.json.
    std::string_view openapi;
    // Links to yields, and the log for them; null: there are none.
    const YieldLinks* links = nullptr;
    Logger* logger = nullptr;
  };

  // INTERNAL: the system has no thread left.
  static absl::StatusOr<std::unique_ptr<JsonApi>> Start(
      const RoutedService& service, const runtime::Clock& clock,
      const Options& options);
  ~JsonApi() override { Stop(); }

  [[nodiscard]] bool Takes(std::string_view path) const override;
  [[nodiscard]] size_t max_body_bytes() const override;
  [[nodiscard]] size_t MaxBodyBytesOf(std::string_view path) const override;
  std::shared_ptr<AdminCall> Begin(AdminRequest request, Done done) override;

  // The number of calls that are open.
  [[nodiscard]] size_t open_calls() const { return open_.count(); }
  // Writes the answers of the calls that are finished, and answers no more
  // calls. Idempotent.
  void Stop();

 private:
  JsonApi(const RoutedService& service, const runtime::Clock& clock,
          const Options& options);

  std::shared_ptr<AdminCall> BeginMethod(AdminRequest request, Done done);
  std::shared_ptr<AdminCall> BeginShort(AdminRequest request, Done done);
  std::shared_ptr<AdminCall> BeginLink(AdminRequest request, Done done);
  [[nodiscard]] bool IsLink(std::string_view path) const {
    return options_.links != nullptr && path.starts_with(kLinkPath);
  }
  std::shared_ptr<AdminCall> BeginCall(FormedCall call, absl::Duration patience,
                                       HttpSource source, std::string body,
                                       Done done);
  std::shared_ptr<AdminCall> BeginEvents(const AdminRequest& request,
                                         Done done);
  [[nodiscard]] absl::Status Full() const;
  [[nodiscard]] AdminAnswer OpenApi(const AdminRequest& request) const;
  // The method of the request; null: `refusal` is the answer.
  const google::protobuf::MethodDescriptor* FindMethod(
      const AdminRequest& request, AdminAnswer& refusal) const;

  const RoutedService& service_;
  const runtime::Clock& clock_;
  const Options options_;
  const std::string prefix_;  // "/actord.v1.ActorService/"
  OpenCalls open_;
  // The open event streams. For the thread alone, and for Stop.
  std::map<EventCall*, std::shared_ptr<EventCall>> events_;
  const std::shared_ptr<CallThread> thread_ = std::make_shared<CallThread>();
};

}  // namespace actord::daemon
