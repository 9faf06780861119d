// The rates of the connections that actorctl clients lists.
//
// Thread-safety: pure functions and plain values; WriteSums as Invocation.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "actord/v1/client.pb.h"
#include "client/cli/invocation.h"

namespace actord::client {

// Unit: characters of a name.
inline constexpr size_t kNameWidth = 40;

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

// The rates between two samples of a connection.
Rates RatesOf(const v1::Client& before, const v1::Client& now,
              absl::Duration between);

// "1,234"; "-": it is not known.
std::string RateText(const std::optional<double>& rate);
// "1.2 KiB"; "-": it is not known.
std::string ByteRateText(const std::optional<double>& rate);

// The client as it has proved to be: "billing (operator)"; "-": it has proved
// nothing.
std::string Identity(const v1::Client& client);

// Puts the connection with the highest rate first. `key`: "calls", "items",
// "in" or "out".
void SortBy(const std::string& key, std::vector<ListedClient>& clients);

// Writes the sums of the clients that have several connections, in the order
// in which `clients` names them first.
void WriteSums(Invocation& invocation,
               const std::vector<ListedClient>& clients);

}  // namespace actord::client
