// actorctl clients

#include <pwd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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
  bool rates = false;
  std::string sort;  // "": by connection
};

// The time between the two samples of which rates are made.
constexpr absl::Duration kRateTime = absl::Seconds(1);

// Calls of a client per second. A number that only one of the two samples has
// is not known.
struct Rates {
  std::optional<double> calls;
  std::optional<double> items;
  std::optional<double> received;
  std::optional<double> sent;
};

struct ListedClient {
  v1::Client client;
  Rates rates;
};

constexpr size_t kNameWidth = 40;
// The place of the rates among the columns.
constexpr int kFirstRateColumn = 4;
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

std::string Rate(const std::optional<double>& rate) {
  return rate.has_value() ? WithThousands(std::llround(*rate)) : "-";
}

std::string ByteRate(const std::optional<double>& rate) {
  return rate.has_value()
             ? ShortBytes(static_cast<uint64_t>(std::llround(*rate)))
             : "-";
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
            if (with_rates) {
              const std::vector<std::string> rates = {
                  Rate(listed.rates.calls), Rate(listed.rates.items),
                  ByteRate(listed.rates.received), ByteRate(listed.rates.sent)};
              cells.insert(cells.begin() + kFirstRateColumn, rates.begin(),
                           rates.end());
            }
            return cells;
          }};
}

std::vector<Column> ColumnsOf(bool with_rates) {
  std::vector<Column> columns = {{.heading = "CONNECTION", .number = true},
                                 {.heading = "CLIENT"},
                                 {.heading = "PROTOCOL"},
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

Rates RatesOf(const v1::Client& before, const v1::Client& now,
              absl::Duration between) {
  const auto rate = [between](bool is_known, uint64_t then, uint64_t after) {
    // The items of a stream that has ended are no longer counted.
    return is_known ? std::optional<double>(
                          static_cast<double>(after - std::min(then, after)) /
                          absl::ToDoubleSeconds(between))
                    : std::nullopt;
  };
  return {
      .calls = rate(before.has_calls_begun() && now.has_calls_begun(),
                    before.calls_begun(), now.calls_begun()),
      .items = rate(before.has_stream_items() && now.has_stream_items(),
                    before.stream_items(), now.stream_items()),
      .received = rate(before.has_received_bytes() && now.has_received_bytes(),
                       before.received_bytes(), now.received_bytes()),
      .sent = rate(before.has_sent_bytes() && now.has_sent_bytes(),
                   before.sent_bytes(), now.sent_bytes())};
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

// Puts the client with the largest rate first.
void SortBy(const std::string& key, std::vector<ListedClient>& clients) {
  const auto rate = [&key](const ListedClient& listed) {
    const Rates& rates = listed.rates;
    return (key == "calls"   ? rates.calls
            : key == "items" ? rates.items
            : key == "in"    ? rates.received
                             : rates.sent)
        .value_or(-1);
  };
  std::stable_sort(
      clients.begin(), clients.end(),
      [&](const auto& a, const auto& b) { return rate(a) > rate(b); });
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
  if (options.limit != 0 && clients.size() > options.limit) {
    clients.resize(options.limit);
  }
  for (const ListedClient& listed : clients) {
    writer.Add(ClientItem(listed, is_local, with_rates));
  }
  writer.Finish();
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
the client with the highest rate first: the client that floods the daemon.

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
