#include "daemon/calls/routed_service.h"

#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

const google::protobuf::ServiceDescriptor& FindService(
    const std::string& full_name) {
  const auto* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          full_name);
  ACTORD_ASSERT(service != nullptr,
                "routed_service.h: the contract has the service");
  return *service;
}

}  // namespace

RoutedService::RoutedService(const std::string& full_name, CallCheck check,
                             const GateParts& parts, size_t max_unread_bytes)
    : service_(FindService(full_name)),
      gate_(std::move(check), parts),
      spans_(parts.spans),
      unread_(max_unread_bytes),
      begun_(static_cast<size_t>(service_.method_count())),
      direct_(begun_.size()),
      direct_streams_(begun_.size()) {}

void RoutedService::CheckRoutes() const {
  // No method is routed twice: gRPC refuses a second method of the same path.
  ACTORD_ASSERT(paths_.size() == static_cast<size_t>(service_.method_count()),
                "routed_service.h: every method of the contract is routed");
  for (int i = 0; i < service_.method_count(); ++i) {
    const Method& method = *service_.method(i);
    ACTORD_ASSERT(
        (direct_[static_cast<size_t>(i)] != nullptr) !=
            (method.client_streaming() || method.server_streaming()),
        "routed_service.h: every unary method can be called directly");
  }
}

std::unique_ptr<CallSpan> RoutedService::BeginSpan(Caller& caller) const {
  if (spans_ == nullptr) return nullptr;
  std::unique_ptr<CallSpan> span = spans_->BeginCall(
      caller.trace(), caller.method(), caller.source().of_grpc() != nullptr,
      caller.deadline());
  if (span != nullptr) caller.SetSpan(span->trace());
  return span;
}

const RoutedService::Method& RoutedService::Add(const char* name, Kind kind,
                                                const Descriptor* request,
                                                const Descriptor* response) {
  using grpc::internal::RpcMethod;
  const Method* const method = service_.FindMethodByName(name);
  ACTORD_ASSERT(method != nullptr,
                "routed_service.h: the contract has each method of the table");
  ACTORD_ASSERT(request == nullptr || request == method->input_type(),
                "routed_service.h: a method is routed with its request");
  ACTORD_ASSERT(response == nullptr || response == method->output_type(),
                "routed_service.h: a method is routed with its response");
  ACTORD_ASSERT(method->client_streaming() == (kind == Kind::kBidiStream) &&
                    method->server_streaming() == (kind != Kind::kUnary),
                "routed_service.h: a method is routed as its own kind");
  const std::string& path = paths_.emplace_back(
      absl::StrCat("/", service_.full_name(), "/", method->name()));
  const RpcMethod::RpcType type = kind == Kind::kUnary ? RpcMethod::NORMAL_RPC
                                  : kind == Kind::kServerStream
                                      ? RpcMethod::SERVER_STREAMING
                                      : RpcMethod::BIDI_STREAMING;
  AddMethod(new grpc::internal::RpcServiceMethod(path.c_str(), type, nullptr));
  return *method;
}

void RoutedService::Handle(grpc::internal::MethodHandler* handler) {
  MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1, handler);
}

}  // namespace actord::daemon
