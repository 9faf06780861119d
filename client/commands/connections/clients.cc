// actorctl clients

#include <pwd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/connections/client_rates.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct ClientsOptions {
  uint64_t limit = 0;
  uint64_t cut = 0;
  bool rates = false;
  std::string sort;  // "": by connection
};

// The time between the two samples of which rates are made.
constexpr absl::Duration kRateTime = absl::Seconds(1);

// The place of the rates among the columns.
constexpr int kFirstRateColumn = 3;
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

std::string Number(bool is_known, uint64_t number) {
  return is_known ? std::to_string(number) : "-";
}

std::string Bytes(bool is_known, uint64_t bytes) {
  return is_known ? ShortBytes(bytes) : "-";
}

Json ClientJson(const ListedClient& listed, bool with_rates) {
  Json json = ToJson(listed.client);
  if (!with_rates) return json;
  const auto add = [&json](const char* key, const std::optional<double>& rate) {
    if (rate.has_value()) json[key] = *rate;
  };
  add("calls_per_second", listed.rates.calls);
  add("stream_items_per_second", listed.rates.items);
  add("received_bytes_per_second", listed.rates.received);
  add("sent_bytes_per_second", listed.rates.sent);
  return json;
}

Item ClientItem(const ListedClient& listed, bool is_local, bool with_rates) {
  const v1::Client& client = listed.client;
  return {
      .json = [&listed, with_rates] { return ClientJson(listed, with_rates); },
      .name = [&client] { return std::to_string(client.connection()); },
      .cells =
          [&client, &listed, is_local, with_rates] {
            std::vector<std::string> cells = {
                absl::StrCat(client.connection(), client.is_own() ? "*" : ""),
                Who(client, is_local),
                client.protocol() == v1::CLIENT_PROTOCOL_HTTP ? "HTTP" : "gRPC",
                ShortDuration(absl::Now() - ToTime(client.connect_time())),
                Number(client.has_calls_open(), client.calls_open()),
                Number(client.has_streams_open(), client.streams_open()),
                Number(client.has_calls_begun(), client.calls_begun()),
                Bytes(client.has_received_bytes(), client.received_bytes()),
                Bytes(client.has_sent_bytes(), client.sent_bytes()),
                Identity(client),
                EnumName(client.state()),
                client.has_tls() ? client.tls().version() : "-",
                client.has_token() ? client.token().id() : "-",
                OneLine(client.listener(), kNameWidth)};
            if (with_rates) {
              const std::vector<std::string> rates = {
                  RateText(listed.rates.calls), RateText(listed.rates.items),
                  ByteRateText(listed.rates.received),
                  ByteRateText(listed.rates.sent)};
              cells.insert(cells.begin() + kFirstRateColumn, rates.begin(),
                           rates.end());
            }
            return cells;
          }};
}

std::vector<Column> ColumnsOf(bool with_rates) {
  std::vector<Column> columns = {{.heading = "CONNECTION", .number = true},
                                 {.heading = "ADDRESS"},
                                 {.heading = "PROTOCOL"},
                                 {.heading = "AGE", .number = true},
                                 {.heading = "OPEN", .number = true},
                                 {.heading = "STREAMS", .number = true},
                                 {.heading = "CALLS", .number = true},
                                 {.heading = "IN", .number = true},
                                 {.heading = "OUT", .number = true},
                                 {.heading = "CLIENT"},
                                 {.heading = "STATE", .wide_only = true},
                                 {.heading = "TLS", .wide_only = true},
                                 {.heading = "TOKEN", .wide_only = true},
                                 {.heading = "LISTENER", .wide_only = true}};
  if (!with_rates) return columns;
  const std::vector<Column> rates = {{.heading = "CALLS/S", .number = true},
                                     {.heading = "ITEMS/S", .number = true},
                                     {.heading = "IN/S", .number = true},
                                     {.heading = "OUT/S", .number = true}};
  columns.insert(columns.begin() + kFirstRateColumn, rates.begin(),
                 rates.end());
  return columns;
}

absl::Status ReadClients(Invocation& invocation, uint64_t limit,
                         std::vector<ListedClient>& clients) {
  return ForEachElement(
      v1::ListClientsRequest(), limit,
      [&](const v1::ListClientsRequest& page) {
        return invocation.client().ListClients(page, invocation.Quick());
      },
      [](const v1::ListClientsResponse& response) -> const auto& {
        return response.clients();
      },
      [&](const v1::Client& client) {
        clients.push_back({client, {}});
      },
      [] {});
}

// Samples the clients again, and computes the rates. A client that has come
// meanwhile has none.
absl::Status AddRates(Invocation& invocation,
                      std::vector<ListedClient>& clients) {
  absl::flat_hash_map<uint64_t, v1::Client> before;
  for (const ListedClient& listed : clients) {
    before.emplace(listed.client.connection(), listed.client);
  }
  const absl::Time then = absl::Now();
  if (!invocation.Pause(kRateTime)) {
    return absl::CancelledError("interrupted");
  }
  clients.clear();
  absl::Status status = ReadClients(invocation, 0, clients);
  const absl::Duration between = absl::Now() - then;
  for (ListedClient& listed : clients) {
    const auto found = before.find(listed.client.connection());
    if (found != before.end()) {
      listed.rates = RatesOf(found->second, listed.client, between);
    }
  }
  return status;
}

ExitStatus ListClients(Invocation& invocation, const ClientsOptions& options) {
  const bool is_local = invocation.options().address.starts_with("unix:");
  const bool with_rates = options.rates || !options.sort.empty();
  ListWriter writer(invocation.out(), invocation.style(),
                    ColumnsOf(with_rates));
  std::vector<ListedClient> clients;
  absl::Status status =
      ReadClients(invocation, with_rates ? 0 : options.limit, clients);
  if (status.ok() && with_rates) status = AddRates(invocation, clients);
  if (!status.ok()) return invocation.Fail(status);
  if (!options.sort.empty()) SortBy(options.sort, clients);
  const size_t shown = options.limit == 0
                           ? clients.size()
                           : std::min<size_t>(options.limit, clients.size());
  for (size_t i = 0; i < shown; ++i) {
    writer.Add(ClientItem(clients[i], is_local, with_rates));
  }
  writer.Finish();
  const Format format = invocation.style().format;
  if (with_rates && (format == Format::kTable || format == Format::kWide)) {
    WriteSums(invocation, clients);
  }
  invocation.SayEmpty(writer, "no client that you may see is connected");
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
PROTOCOL is HTTP for connections to the admin port: the JSON API, the console, metrics and
health. OPEN counts calls and streams that are open, STREAMS the streams among them, and CALLS
the calls (for HTTP the requests) that the client has begun. IN and OUT are bytes of the
network. A dash stands for an unknown value; the bytes of Unix sockets are unknown. A * marks
the connection of this command. The list needs the role operator, and --cut needs admin.

--rates samples the clients twice, one second apart, and adds what each did per second: calls,
items (messages and submissions over streams), and bytes. --sort KEY does the same, and puts
the connection with the highest rate first: the one that floods the daemon. A second table has
the sums of the clients with several connections. CLIENT is the name of the token or of the
certificate, with the role.

Examples:
  actorctl clients
  actorctl clients --sort calls --limit 5
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
  CLI::Option* const rates =
      command->add_flag("--rates", options->rates,
                        "Add the rates of the next second: calls, items of "
                        "streams, bytes");
  CLI::Option* const sort =
      command
          ->add_option("--sort", options->sort,
                       "Add the rates, and put the highest first: calls, "
                       "items, in or out")
          ->check(
              CLI::IsMember({"calls", "items", "in", "out"}).description(""))
          ->type_name("KEY");
  CLI::Option* const cut =
      command
          ->add_option("--cut", options->cut,
                       "Cut this connection: its calls are cancelled, and its "
                       "client may connect again")
          ->check(CLI::PositiveNumber.description(""))
          ->type_name("CONNECTION")
          ->excludes(limit)
          ->excludes(rates)
          ->excludes(sort);
  command->callback([&chosen, options, cut] {
    chosen = [options, cuts = cut->count() > 0](Invocation& invocation) {
      return cuts ? CutClient(invocation, options->cut)
                  : ListClients(invocation, *options);
    };
  });
}

}  // namespace actord::client
