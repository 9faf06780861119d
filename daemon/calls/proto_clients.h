// Translates the list of clients.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "actord/v1/client.pb.h"
#include "daemon/connections/connections.h"
#include "daemon/operations/caller.h"
#include "daemon/tls/certified_peer.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/process/listed/outside_caller.h"

namespace actord::daemon {

// The caller, as ListCalls shows it.
runtime::OutsideCaller OutsideCallerOf(const Caller& caller);

// `owner`: the owner whose connections the client sees; "": all.
absl::Status ReadListClients(const v1::ListClientsRequest& request,
                             uint32_t incarnation, std::string_view owner,
                             Paging& paging);

v1::ClientState ClientStateOf(const ConnectionFacts& facts);

// Sets all fields except `streams_open` and `is_own`. `certified` null: the
// client has presented no certificate, or has made no call so far.
void WriteClient(const ConnectionFacts& facts, const CertifiedPeer* certified,
                 v1::Client* client);

}  // namespace actord::daemon
