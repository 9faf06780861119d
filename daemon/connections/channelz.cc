#include "daemon/connections/channelz.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace actord::daemon {
namespace {

struct Free {
  void operator()(char* text) const { gpr_free(text); }
};
using OwnedText = std::unique_ptr<char, Free>;

// The text after `key` up to the next quotation mark, searched from `position`
// on; moves `position` behind it. nullopt: there is none.
std::optional<std::string_view> Next(std::string_view json,
                                     std::string_view key, size_t& position) {
  const size_t found = json.find(key, position);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t begin = found + key.size();
  const size_t end = json.find('"', begin);
  if (end == std::string_view::npos) return std::nullopt;
  position = end;
  return json.substr(begin, end - begin);
}

int64_t ToNumber(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

uint64_t Count(std::string_view json, std::string_view key) {
  size_t position = 0;
  const auto text = Next(json, key, position);
  return text.has_value() ? static_cast<uint64_t>(ToNumber(*text)) : 0;
}

bool IsLastPage(std::string_view json) {
  return json.find("\"end\":true") != std::string_view::npos;
}

}  // namespace

SocketCounts ParseSocketCounts(std::string_view json) {
  return {.started = Count(json, "\"streamsStarted\":\""),
          .ended = Count(json, "\"streamsSucceeded\":\"") +
                   Count(json, "\"streamsFailed\":\""),
          .received = Count(json, "\"messagesReceived\":\""),
          .sent = Count(json, "\"messagesSent\":\"")};
}

void Channelz::FindServer() {
  int64_t next = 0;
  for (bool is_last = false; !is_last;) {
    const OwnedText json(grpc_channelz_get_servers(next));
    if (json == nullptr) return;
    const std::string_view text(json.get());
    size_t position = 0;
    while (const auto id = Next(text, "\"serverId\":\"", position)) {
      server_ = std::max(server_, ToNumber(*id));
    }
    is_last = IsLastPage(text) || next > server_;
    next = server_ + 1;
  }
}

int64_t Channelz::List(
    int64_t first,
    const std::function<void(int64_t id, std::string peer)>& visit) {
  constexpr std::string_view kTransport = "chttp2 ";
  for (;;) {
    const OwnedText json(grpc_channelz_get_server_sockets(server_, first, 0));
    if (json == nullptr) return first;
    const std::string_view text(json.get());
    const int64_t before = first;
    size_t position = 0;
    // Each socket is {"name":"chttp2 ipv4:...","socketId":"7"}.
    while (auto name = Next(text, "\"name\":\"", position)) {
      const auto id = Next(text, "\"socketId\":\"", position);
      if (!id.has_value()) break;
      if (name->starts_with(kTransport)) name->remove_prefix(kTransport.size());
      first = std::max(first, ToNumber(*id) + 1);
      visit(ToNumber(*id), std::string(*name));
    }
    if (IsLastPage(text) || first == before) return first;
  }
}

std::optional<SocketCounts> Channelz::Read(int64_t id) {
  const OwnedText json(grpc_channelz_get_socket(id));
  if (json == nullptr) return std::nullopt;
  return ParseSocketCounts(json.get());
}

}  // namespace actord::daemon
