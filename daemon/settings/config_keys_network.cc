// The keys of the network: server, admin, tls, connections.
#include <vector>

#include "absl/time/time.h"
#include "daemon/settings/config_key_forms.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {

namespace {

void AddServerKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(List({"server.listen", "listen", "ADDRESS",
                       "Address to serve on, host:port or unix:PATH; port 0 "
                       "picks a free port."},
                      ListenCodec{}, ACTORD_MEMBER(listen)));
  keys.push_back(
      Single({"server.unix_mode", "unix-mode", "MODE",
              "Permissions of Unix sockets in octal digits, such as 0660; "
              "empty: the umask decides. A client needs write permission."},
             ModeCodec{}, ACTORD_MEMBER(unix_mode)));
  keys.push_back(Single({"server.unix_group", "unix-group", "GROUP",
                         "Group of Unix sockets, a name or a number; empty: "
                         "the group of the daemon."},
                        TextCodec{}, ACTORD_MEMBER(unix_group)));
  keys.push_back(Single({"server.port_file", "port-file", "PATH",
                         "File to which actord writes the port of each TCP "
                         "address, one a line, once it serves."},
                        TextCodec{}, ACTORD_MEMBER(port_file)));
  keys.push_back(
      Single({"server.max_concurrent_streams", "max-concurrent-streams", "N",
              "Open calls per connection, from 1 to 1000000; further "
              "calls wait in the client."},
             NumberCodec<int>{.min = 1, .max = 1'000'000},
             ACTORD_MEMBER(max_concurrent_streams)));
  keys.push_back(Single(
      {"server.max_connection_age", "max-connection-age", "DURATION",
       "How long a connection may last, from 1s to 480h, plus or minus a "
       "tenth; the client then connects again, and calls that are open after "
       "30s more end with UNAVAILABLE. none means no limit."},
      BoundedOrNoneCodec{{{}, absl::Seconds(1), absl::Hours(480)}},
      ACTORD_MEMBER(max_connection_age)));
  keys.push_back(
      Flag({"server.insecure_listen", "insecure-listen", "[BOOL]",
            "Whether server.listen may have addresses that other machines "
            "reach although there is no tls.certificate, true or false. "
            "Everybody who reaches such an address can read and change "
            "everything; each start logs a warning."},
           ACTORD_MEMBER(insecure_listen)));
}

void AddAdminKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(List(
      {"admin.listen", "admin-listen", "ADDRESS",
       "Address for /healthz, /readyz and /metrics over HTTP/1.1, "
       "host:port or unix:PATH; port 0 picks a free port, which the log "
       "and admin.port_file name. The admin port has no TLS, so an address "
       "that other machines reach needs admin.insecure_listen. Empty: there is "
       "no admin port."},
      ListenCodec{}, ACTORD_MEMBER(admin_listen)));
  keys.push_back(Single({"admin.port_file", "admin-port-file", "PATH",
                         "File to which actord writes the port of each TCP "
                         "address of admin.listen, one a line, once it serves, "
                         "and before it writes server.port_file."},
                        TextCodec{}, ACTORD_MEMBER(admin_port_file)));
  keys.push_back(
      Flag({"admin.insecure_listen", "admin-insecure-listen", "[BOOL]",
            "Whether admin.listen may have addresses that other machines "
            "reach, true or false. Everybody who reaches such an address can "
            "read the metrics; with admin.api, tokens travel in clear text. "
            "Each start logs a warning."},
           ACTORD_MEMBER(admin_insecure_listen)));
  keys.push_back(
      List({"admin.hosts", "admin-host", "NAME",
            "Host name, without a port, under which clients may address the "
            "admin port, besides localhost, the names in admin.listen, and all "
            "addresses; requests for other names are refused."},
           NonEmptyTextCodec{}, ACTORD_MEMBER(admin_hosts)));
  keys.push_back(
      Flag({"admin.api", "admin-api", "[BOOL]",
            "Whether the admin port takes the calls of the service as JSON and "
            "serves the console at /console/, true or false. Without "
            "auth.tokens everybody who reaches the port can then read and "
            "change everything. With tls.client_ca the addresses in "
            "admin.listen must be Unix sockets."},
           ACTORD_MEMBER(admin_api)));
  keys.push_back(
      Single({"admin.link_key", "admin-link-key", "PATH",
              "File with the key that signs links to yields; the daemon makes "
              "it, with mode 0600, if it does not exist, and does not start if "
              "other users can read it. Needs admin.api. A new key makes all "
              "links invalid. Empty: no links can be made."},
             TextCodec{}, ACTORD_MEMBER(admin_link_key)));
  keys.push_back(
      Single({"admin.link_url", "admin-link-url", "URL",
              "What links to yields begin with, such as "
              "https://approve.example.com, for people who reach the admin "
              "port through a proxy; its host is also one of admin.hosts. "
              "Empty: http:// and the first TCP address of admin.listen."},
             LinkUrlCodec{}, ACTORD_MEMBER(admin_link_url)));
}

void AddTlsKeys(std::vector<ConfigKey>& keys) {
  keys.push_back(Single(
      {"tls.certificate", "tls-certificate", "PATH",
       "PEM file with the daemon's certificate, followed by the intermediate "
       "certificates in the order of the chain; TCP addresses then serve only "
       "TLS. Needs tls.key. Reloaded on SIGHUP and every tls.reload_interval."},
      TextCodec{}, ACTORD_MEMBER(tls.certificate)));
  keys.push_back(
      Single({"tls.key", "tls-key", "PATH",
              "PEM file with the private key of tls.certificate, without a "
              "passphrase; only its owner may write it, and others may not "
              "read it. Reloaded with tls.certificate."},
             TextCodec{}, ACTORD_MEMBER(tls.key)));
  keys.push_back(Single(
      {"tls.client_ca", "tls-client-ca", "PATH",
       "PEM file with the certificates of the authorities that sign clients; "
       "a client must then present a certificate of one of them. Reloaded with "
       "tls.certificate."},
      TextCodec{}, ACTORD_MEMBER(tls.client_ca)));
  keys.push_back(
      Single({"tls.crl", "tls-crl", "PATH",
              "PEM file with the revocation lists of authorities in "
              "tls.client_ca; calls of a revoked client are refused and its "
              "connections are cut. Reloaded with tls.certificate."},
             TextCodec{}, ACTORD_MEMBER(tls.crl)));
  keys.push_back(Single(
      {"tls.reload_interval", "tls-reload-interval", "DURATION",
       "How often the files of TLS are reloaded, from 1s to 24h; changed files "
       "that fit together are then in force for new connections."},
      BoundedDurationCodec{{}, absl::Seconds(1), absl::Hours(24)},
      ACTORD_MEMBER(tls.reload_interval)));
}

void AddConnectionKeys(std::vector<ConfigKey>& keys) {
  const NumberCodec<size_t> count{.max = 10'000'000};
  keys.push_back(
      Single({"connections.max", "max-connections", "N",
              "Maximum number of open connections, up to 10000000; further "
              "ones are closed as they come. 0 means as many as the limit of "
              "open files (ulimit -H -n) less the reserved descriptors, "
              "and at most 16384."},
             count, ACTORD_MEMBER(max_connections)));
  keys.push_back(
      Single({"connections.max_per_address", "max-connections-per-address", "N",
              "Maximum number of open connections from one IPv4 address or one "
              "IPv6 /64 network, up to 10000000; further ones are closed as "
              "they come. 0 means half of connections.max. Unix sockets are "
              "not counted."},
             count, ACTORD_MEMBER(max_connections_per_address)));
  keys.push_back(
      Single({"connections.reserved_descriptors", "reserved-descriptors", "N",
              "File descriptors that connections leave to plugins, commands, "
              "files and gRPC, from 16 to 1000000; a connection that needs one "
              "of them is closed as it comes."},
             NumberCodec<size_t>{.min = 16, .max = 1'000'000},
             ACTORD_MEMBER(reserved_descriptors)));
  keys.push_back(Single(
      {"connections.handshake_timeout", "handshake-timeout", "DURATION",
       "How long a new connection may take to send its HTTP/2 settings, "
       "from 100ms to 10m; a slower one is closed."},
      BoundedDurationCodec{{}, absl::Milliseconds(100), absl::Minutes(10)},
      ACTORD_MEMBER(handshake_timeout)));
  keys.push_back(
      Single({"connections.max_unread_bytes", "max-unread-bytes", "SIZE",
              "Maximum size of the answers that the client of one connection "
              "has not read, from 64KiB to 1GiB; further answers are refused. "
              "A single answer may be larger, and answers up to 16KiB are not "
              "counted."},
             BoundedSizeCodec{{}, 64 << 10, 1 << 30},
             ACTORD_MEMBER(max_unread_bytes)));
}

}  // namespace

void AddNetworkKeys(std::vector<ConfigKey>& keys) {
  AddServerKeys(keys);
  AddAdminKeys(keys);
  AddTlsKeys(keys);
  AddConnectionKeys(keys);
}

}  // namespace actord::daemon
