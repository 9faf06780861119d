// The open connections: listing and cutting them.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/calls/actor_service.h"
#include "daemon/calls/proto_clients.h"
#include "daemon/wire/page_token.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status ActorService::ListClients(const Caller& caller,
                                       v1::ListClientsRequest& request,
                                       v1::ListClientsResponse& response) {
  Paging paging;
  absl::Status status = ReadListClients(request, runtime_.options().incarnation,
                                        caller.access().sees_name(), paging);
  if (!status.ok()) return status;
  CertifiedConnections certified;
  if (context_.certificates != nullptr) {
    certified = context_.certificates->ByConnection();
  }
  const uint64_t own = caller.connection();
  const auto stream_items = streams_.ItemsByPeer();
  uint64_t last = 0;
  for (const ConnectionFacts& facts :
       context_.connections.List(paging.position, paging.page_size,
                                 caller.access().sees_name(), last)) {
    const auto peer = certified.find(facts.connection.id);
    v1::Client* const client = response.add_clients();
    WriteClient(facts, peer == certified.end() ? nullptr : peer->second.get(),
                client);
    if (!facts.is_http) {
      const std::string& peer_name = facts.connection.peer;
      client->set_streams_open(streams_.OpenOf(peer_name));
      const auto items = stream_items.find(peer_name);
      client->set_stream_items(items == stream_items.end() ? 0 : items->second);
    }
    client->set_is_own(facts.connection.id == own);
  }
  if (last != 0) {
    response.set_next_page_token(MakePageToken(last, paging.scope));
  }
  return absl::OkStatus();
}

absl::Status ActorService::CutClient(const Caller& caller,
                                     v1::CutClientRequest& request,
                                     v1::CutClientResponse&) {
  const uint64_t connection = request.connection();
  if (connection == 0) {
    return runtime::InvalidField(
        "connection", runtime::reason::kInvalidField,
        "connection is required: the number of a connection, from 1 on");
  }
  const std::string by = caller.access().is_checked()
                             ? caller.access().Who()
                             : absl::StrCat("a client at ", caller.address());
  if (context_.connections.CutOnRequest(connection, caller.access().sees_name(),
                                        by)) {
    return absl::OkStatus();
  }
  return runtime::Error(
      absl::StatusCode::kNotFound, runtime::reason::kConnectionNotFound,
      absl::StrCat("connection ", connection, " is not open"));
}

}  // namespace actord::daemon
