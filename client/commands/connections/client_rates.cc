#include "client/commands/connections/client_rates.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "client/output/output.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

// The rates of all connections of a client.
struct Sum {
  std::string client;
  uint64_t connections = 0;
  Rates rates;
};

void Add(const std::optional<double>& rate, std::optional<double>& sum) {
  if (rate.has_value()) sum = sum.value_or(0) + *rate;
}

}  // namespace

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

std::string RateText(const std::optional<double>& rate) {
  return rate.has_value() ? WithThousands(std::llround(*rate)) : "-";
}

std::string ByteRateText(const std::optional<double>& rate) {
  return rate.has_value()
             ? ShortBytes(static_cast<uint64_t>(std::llround(*rate)))
             : "-";
}

std::string Identity(const v1::Client& client) {
  if (client.has_token()) {
    return absl::StrCat(OneLine(client.token().name(), kNameWidth), " (",
                        client.token().role(), ")");
  }
  const std::string& name = client.tls().name();
  return name.empty() ? "-" : OneLine(name, kNameWidth);
}

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

void WriteSums(Invocation& invocation,
               const std::vector<ListedClient>& clients) {
  std::vector<Sum> sums;
  absl::flat_hash_map<std::string, size_t> places;
  for (const ListedClient& listed : clients) {
    const std::string client = Identity(listed.client);
    if (client == "-") continue;
    const auto [place, is_new] = places.emplace(client, sums.size());
    if (is_new) sums.push_back({client, 0, {}});
    Sum& sum = sums[place->second];
    ++sum.connections;
    Add(listed.rates.calls, sum.rates.calls);
    Add(listed.rates.items, sum.rates.items);
    Add(listed.rates.received, sum.rates.received);
    Add(listed.rates.sent, sum.rates.sent);
  }
  std::erase_if(sums, [](const Sum& sum) { return sum.connections == 1; });
  if (sums.empty()) return;
  invocation.out() << '\n';
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "CLIENT"},
                     {.heading = "CONNECTIONS", .number = true},
                     {.heading = "CALLS/S", .number = true},
                     {.heading = "ITEMS/S", .number = true},
                     {.heading = "IN/S", .number = true},
                     {.heading = "OUT/S", .number = true}});
  for (const Sum& sum : sums) {
    writer.Add({.json = nullptr, .name = nullptr, .cells = [&sum] {
                  return std::vector<std::string>{
                      sum.client,
                      std::to_string(sum.connections),
                      RateText(sum.rates.calls),
                      RateText(sum.rates.items),
                      ByteRateText(sum.rates.received),
                      ByteRateText(sum.rates.sent)};
                }});
  }
  writer.Finish();
}

}  // namespace actord::client
