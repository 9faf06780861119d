// The keys of the section quotas.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "daemon/settings/config_key_forms.h"
#include "daemon/settings/config_keys.h"

namespace actord::daemon {
void AddQuotaKeys(std::vector<ConfigKey>& keys) {
  const NumberCodec<uint64_t> requests{.max = 10'000'000};
  const SizeOrNoneCodec bytes{{{}, 1024, size_t{1} << 40}};
  keys.push_back(Reloads(
      Single({"quotas.requests_per_second", "quota-requests-per-second", "N",
              "Requests a second of one client (the name of its tokens), up to "
              "10000000; calls above it are refused with the exact delay, and "
              "streams are read later. 0 means no limit. Needs auth.tokens."},
             requests, ACTORD_MEMBER(quotas.requests_per_second))));
  keys.push_back(Reloads(
      Single({"quotas.request_burst", "quota-request-burst", "N",
              "Requests that one client may make at once after a rest, up to "
              "10000000. 0 means as many as quotas.requests_per_second."},
             requests, ACTORD_MEMBER(quotas.request_burst))));
  keys.push_back(Reloads(
      Single({"quotas.bytes_per_second", "quota-bytes-per-second", "SIZE",
              "Bytes of requests a second of one client, from 1KiB to 1024GiB; "
              "calls above it are refused with the exact delay, and streams "
              "are read later. 0 means no limit. Needs auth.tokens."},
             bytes, ACTORD_MEMBER(quotas.bytes_per_second))));
  keys.push_back(Reloads(
      Single({"quotas.bytes_burst", "quota-bytes-burst", "SIZE",
              "Bytes of requests that one client may send at once after a "
              "rest, from 1KiB to 1024GiB; a larger single request is served "
              "after a rest, too. 0 means as much as "
              "quotas.bytes_per_second."},
             bytes, ACTORD_MEMBER(quotas.bytes_burst))));
  keys.push_back(Reloads(Single(
      {"quotas.streams", "quota-streams", "N",
       "Open streams of one client on all its connections together, up to "
       "10000000; further ones are refused. 0 means no limit. Needs "
       "auth.tokens."},
      NumberCodec<uint64_t>{.max = 10'000'000},
      ACTORD_MEMBER(quotas.streams))));
  keys.push_back(Reloads(Single(
      {"quotas.connections", "quota-connections", "N",
       "Open connections of one client, counted by the first token that a "
       "connection presents, up to 10000000; calls of further ones are "
       "refused, and the connections are cut. 0 means no limit. Needs "
       "auth.tokens."},
      NumberCodec<uint64_t>{.max = 10'000'000},
      ACTORD_MEMBER(quotas.connections))));
  keys.push_back(Reloads(
      Single({"quotas.processes", "quota-processes", "N",
              "Live processes of one client, including the processes that they "
              "spawn, up to 268435456; further ones are refused. 0 "
              "means no limit. Needs auth.tokens."},
             NumberCodec<uint64_t>{.max = uint64_t{1} << 28},
             ACTORD_MEMBER(quotas.processes))));
  keys.push_back(Reloads(Single(
      {"quotas.mailbox_bytes", "quota-mailbox-bytes", "SIZE",
       "Bytes of the messages and calls that wait in the mailboxes of one "
       "client's processes, from 1KiB to 1024GiB; further ones are refused, "
       "and further messages of processes become dead letters. 0 means no "
       "limit. Needs "
       "auth.tokens."},
      bytes, ACTORD_MEMBER(quotas.mailbox_bytes))));
  keys.push_back(Reloads(
      Single({"quotas.yield_bytes", "quota-yield-bytes", "SIZE",
              "Bytes of the external yields of one client's processes that "
              "wait for an answer, from 1KiB to 1024GiB; further ones fail. 0 "
              "means no limit. Needs auth.tokens."},
             bytes, ACTORD_MEMBER(quotas.yield_bytes))));
}

}  // namespace actord::daemon
