#include "daemon/calls/proto_clients.h"

#include <actord/text.h>

#include <string>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "daemon/log/client_address.h"
#include "daemon/wire/proto_time.h"

namespace actord::daemon {
namespace {

void WriteTls(const char* version, const CertifiedPeer* certified,
              v1::ClientTls* tls) {
  tls->set_version(version);
  if (certified == nullptr) return;
  tls->set_name(ToUtf8(certified->name));
  tls->set_subject(ToUtf8(certified->subject));
}

}  // namespace

runtime::OutsideCaller OutsideCallerOf(const Caller& caller) {
  const std::string address = caller.address();
  return {.owner = caller.access().owner(),
          .name = std::string(caller.identity()),
          .address = address.starts_with("unix:") ? "" : address,
          .connection = caller.connection()};
}

absl::Status ReadListClients(const v1::ListClientsRequest& request,
                             uint32_t incarnation, std::string_view owner,
                             Paging& paging) {
  const uint64_t scope =
      absl::HashOf(absl::string_view("clients"), incarnation,
                   absl::string_view(owner.data(), owner.size()));
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

v1::ClientState ClientStateOf(const ConnectionFacts& facts) {
  if (facts.connection.is_cut) return v1::CLIENT_STATE_CUT;
  if (!facts.counts.has_value() ||
      (facts.traffic.has_value() && facts.traffic->received_bytes == 0)) {
    return v1::CLIENT_STATE_HANDSHAKE;
  }
  return facts.counts->left() > 0 ? v1::CLIENT_STATE_ACTIVE
                                  : v1::CLIENT_STATE_IDLE;
}

void WriteClient(const ConnectionFacts& facts, const CertifiedPeer* certified,
                 v1::Client* client) {
  const Connection& connection = facts.connection;
  client->set_connection(connection.id);
  if (connection.credentials.has_value()) {
    v1::UnixPeer* const peer = client->mutable_unix_peer();
    peer->set_uid(connection.credentials->uid);
    peer->set_gid(connection.credentials->gid);
    peer->set_pid(connection.credentials->pid);
  } else if (!connection.address_group.empty()) {
    client->set_address(ClientAddress(connection.peer));
  }
  client->set_protocol(facts.is_http ? v1::CLIENT_PROTOCOL_HTTP
                                     : v1::CLIENT_PROTOCOL_GRPC);
  client->set_listener(facts.listener);
  client->set_state(ClientStateOf(facts));
  *client->mutable_connect_time() = ToProtoTimestamp(connection.since_unix_ns);
  if (connection.handshake != nullptr &&
      connection.handshake->version() != nullptr) {
    WriteTls(connection.handshake->version(), certified, client->mutable_tls());
  }
  if (connection.token != nullptr) {
    v1::PresentedToken* const token = client->mutable_token();
    token->set_name(connection.token->name);
    token->set_id(connection.token->id);
    token->set_role(connection.token->role);
  }
  if (facts.traffic.has_value()) {
    client->set_received_bytes(facts.traffic->received_bytes);
    client->set_sent_bytes(facts.traffic->sent_bytes);
  }
  if (facts.counts.has_value()) {
    client->set_calls_begun(facts.counts->started);
    client->set_calls_open(facts.counts->left());
  }
}

}  // namespace actord::daemon
