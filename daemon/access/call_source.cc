#include "daemon/access/call_source.h"

#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpcpp/impl/codegen/metadata_map.h>

namespace actord::daemon {
namespace {

using grpc::internal::MetadataMap;

// The member of gRPC's context that has the client's metadata. It is private,
// and the public client_metadata() first copies all entries into a map, which
// costs a call that has none of the entries looked for more than the look-up.
// An explicit instantiation may name a private member ([temp.spec]).
MetadataMap grpc::ServerContextBase::*MetadataMember();
template <MetadataMap grpc::ServerContextBase::*kMember>
struct MetadataAccess {
  friend MetadataMap grpc::ServerContextBase::*MetadataMember() {
    return kMember;
  }
};
template struct MetadataAccess<&grpc::ServerContextBase::client_metadata_>;

std::string_view TextOfSlice(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// Calls `use` with each value of `name`, in lower case. The texts live as long
// as the context.
template <typename Use>
void ForEachValue(grpc::CallbackServerContext& context, std::string_view name,
                  const Use& use) {
  grpc::ServerContextBase& base = context;
  const grpc_metadata_array& entries = *(base.*MetadataMember()).arr();
  for (size_t i = 0; i < entries.count; ++i) {
    if (TextOfSlice(entries.metadata[i].key) == name) {
      use(TextOfSlice(entries.metadata[i].value));
    }
  }
}

CallSource::Value Find(grpc::CallbackServerContext& context,
                       std::string_view name) {
  CallSource::Value value;
  ForEachValue(context, name, [&value](std::string_view text) {
    ++value.count;
    value.text = value.count == 1 ? text : std::string_view();
  });
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

std::string CallSource::tracestate() const {
  std::string joined;
  const auto add = [&joined](std::string_view value) {
    if (!joined.empty()) joined += ',';
    joined += value;
  };
  if (context_ == nullptr) {
    for (const std::string& value : http_->tracestate) add(value);
    return joined;
  }
  ForEachValue(*context_, "tracestate", add);
  return joined;
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
