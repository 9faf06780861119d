#include "daemon/access/call_source.h"

#include <grpcpp/support/string_ref.h>

#include <iterator>

namespace actord::daemon {
namespace {

CallSource::Value Find(const grpc::CallbackServerContext& context,
                       const char* name) {
  const auto [first, last] = context.client_metadata().equal_range(name);
  CallSource::Value value;
  value.count = static_cast<size_t>(std::distance(first, last));
  if (value.count == 1) {
    value.text = {first->second.data(), first->second.size()};
  }
  return value;
}

CallSource::Value Only(const std::vector<std::string>& values) {
  CallSource::Value value;
  value.count = values.size();
  if (value.count == 1) value.text = values.front();
  return value;
}

}  // namespace

std::string CallSource::peer() const {
  return context_ == nullptr ? http_->peer : context_->peer();
}

absl::Time CallSource::deadline() const {
  if (context_ == nullptr) return http_->deadline;
  const auto deadline = context_->deadline();
  return deadline == decltype(context_->deadline())::max()
             ? absl::InfiniteFuture()
             : absl::FromChrono(deadline);
}

CallSource::Value CallSource::authorization() const {
  return context_ == nullptr ? Only(http_->authorization)
                             : Find(*context_, "authorization");
}

CallSource::Value CallSource::traceparent() const {
  return context_ == nullptr ? Only(http_->traceparent)
                             : Find(*context_, "traceparent");
}

bool CallSource::IsLocalUser() const {
  if (context_ == nullptr) return http_->is_local_user;
  // gRPC's mark of a connection that was handed to the acceptor for the
  // daemon's own user (connections.cc).
  const auto auth = context_->auth_context();
  if (auth == nullptr) return false;
  const auto types = auth->FindPropertyValues("transport_security_type");
  return types.size() == 1 && types.front() == "local";
}

}  // namespace actord::daemon
