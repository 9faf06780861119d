// actorctl clients

#include <pwd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct ClientsOptions {
  uint64_t limit = 0;
  uint64_t cut = 0;
};

constexpr size_t kNameWidth = 40;
constexpr size_t kPasswordBytes = 4096;

// The name of a user of this machine; "": the user has no name.
std::string UserName(uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kPasswordBytes> texts;
  if (getpwuid_r(uid, &entry, texts.data(), texts.size(), &found) != 0 ||
      found == nullptr) {
    return "";
  }
  return found->pw_name;
}

// "192.0.2.1:4711", or "pid 17 of alice". `is_local`: the daemon runs on this
// machine, so its users have names here.
std::string Who(const v1::Client& client, bool is_local) {
  if (!client.has_unix_peer()) return client.address();
  const v1::UnixPeer& peer = client.unix_peer();
  const std::string name = is_local ? UserName(peer.uid()) : std::string();
  return absl::StrCat("pid ", peer.pid(), " of ",
                      name.empty() ? absl::StrCat("uid ", peer.uid()) : name);
}

// The proved identity of the client.
std::string Identity(const v1::Client& client) {
  if (client.has_token()) {
    return absl::StrCat(OneLine(client.token().name(), kNameWidth), " (",
                        client.token().role(), ")");
  }
  const std::string& name = client.tls().name();
  return name.empty() ? "-" : OneLine(name, kNameWidth);
}

std::string Number(bool is_known, uint64_t number) {
  return is_known ? std::to_string(number) : "-";
}

std::string Bytes(bool is_known, uint64_t bytes) {
  return is_known ? ShortBytes(bytes) : "-";
}

Item ClientItem(const v1::Client& client, bool is_local) {
  return {
      .json = [&client] { return ToJson(client); },
      .name = [&client] { return std::to_string(client.connection()); },
      .cells =
          [&client, is_local] {
            return std::vector<std::string>{
                absl::StrCat(client.connection(), client.is_own() ? "*" : ""),
                Who(client, is_local),
                EnumName(client.state()),
                ShortDuration(absl::Now() - ToTime(client.connect_time())),
                Number(client.has_calls_open(), client.calls_open()),
                Number(client.has_streams_open(), client.streams_open()),
                Number(client.has_calls_begun(), client.calls_begun()),
                Bytes(client.has_received_bytes(), client.received_bytes()),
                Bytes(client.has_sent_bytes(), client.sent_bytes()),
                Identity(client),
                client.has_tls() ? client.tls().version() : "-",
                client.has_token() ? client.token().id() : "-",
                OneLine(client.listener(), kNameWidth)};
          }};
}

ExitStatus ListClients(Invocation& invocation, const ClientsOptions& options) {
  const bool is_local = invocation.options().address.starts_with("unix:");
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "CONNECTION", .number = true},
                     {.heading = "CLIENT"},
                     {.heading = "STATE"},
                     {.heading = "AGE", .number = true},
                     {.heading = "OPEN", .number = true},
                     {.heading = "STREAMS", .number = true},
                     {.heading = "CALLS", .number = true},
                     {.heading = "IN", .number = true},
                     {.heading = "OUT", .number = true},
                     {.heading = "IDENTITY"},
                     {.heading = "TLS", .wide_only = true},
                     {.heading = "TOKEN", .wide_only = true},
                     {.heading = "LISTENER", .wide_only = true}});
  const absl::Status status = ForEachElement(
      v1::ListClientsRequest(), options.limit,
      [&](const v1::ListClientsRequest& page) {
        return invocation.client().ListClients(page, invocation.Quick());
      },
      [](const v1::ListClientsResponse& response) -> const auto& {
        return response.clients();
      },
      [&](const v1::Client& client) {
        writer.Add(ClientItem(client, is_local));
      },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  return ExitStatus::kDone;
}

ExitStatus CutClient(Invocation& invocation, uint64_t connection) {
  v1::CutClientRequest request;
  request.set_connection(connection);
  const auto response =
      invocation.client().CutClient(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  WriteOne(invocation.out(), invocation.style(),
           Json{{"connection", connection}}, std::to_string(connection), [] {});
  return ExitStatus::kDone;
}

constexpr char kClientsFooter[] = R"(
OPEN counts calls and streams that are open, STREAMS the streams among them, and
CALLS the calls that the client has begun. IN and OUT are bytes of the network.
A dash stands for an unknown value; the bytes of Unix sockets are unknown. A *
marks the connection of this command. The list needs the role operator, and
--cut needs admin.

Examples:
  actorctl clients
  actorctl clients -o wide
  actorctl clients --cut 17
)";

}  // namespace

void AddClients(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ClientsOptions>();
  CLI::App* command = app.add_subcommand(
      "clients", "List the daemon's connections, or cut one");
  command->footer(kClientsFooter);
  CLI::Option* const limit = command
                                 ->add_option("--limit", options->limit,
                                              "Maximum number of rows [all]")
                                 ->type_name("N");
  CLI::Option* const cut =
      command
          ->add_option("--cut", options->cut,
                       "Cut this connection: its calls are cancelled, and its "
                       "client may connect again")
          ->check(CLI::PositiveNumber.description(""))
          ->type_name("CONNECTION")
          ->excludes(limit);
  command->callback([&chosen, options, cut] {
    chosen = [options, cuts = cut->count() > 0](Invocation& invocation) {
      return cuts ? CutClient(invocation, options->cut)
                  : ListClients(invocation, *options);
    };
  });
}

}  // namespace actord::client
