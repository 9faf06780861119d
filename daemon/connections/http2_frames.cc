#include "daemon/connections/http2_frames.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "absl/container/flat_hash_set.h"

namespace actord::daemon {
namespace {

// A frame begins with its length (3 bytes), type, flags and stream (4 bytes).
constexpr size_t kHeaderBytes = 9;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint32_t kResetLength = 4;
constexpr uint32_t kMaxLength = 16'384;
// The length and the type of a frame that resets a stream.
constexpr std::string_view kResetBegin("\0\0\4\3", 4);
// The header of a ping that is no answer to another one.
constexpr std::string_view kPingHeader("\0\0\x08\x06\0\0\0\0\0", 9);
constexpr size_t kPingBytes = 17;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// A handshake record of TLS, of any version.
constexpr std::string_view kTlsBegin = "\x16\x03";
constexpr std::string_view kMethods[] = {"GET ",     "HEAD ",    "POST ",
                                         "PUT ",     "PATCH ",   "DELETE ",
                                         "OPTIONS ", "CONNECT ", "TRACE "};

uint8_t ByteAt(std::string_view bytes, size_t position) {
  return static_cast<uint8_t>(bytes[position]);
}

uint32_t NumberAt(std::string_view bytes, size_t position, size_t count) {
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    number = number << 8 | ByteAt(bytes, position + i);
  }
  return number;
}

}  // namespace

Protocol ProtocolOf(std::string_view bytes) {
  const size_t common = std::min(bytes.size(), kPreface.size());
  if (bytes.substr(0, common) == kPreface.substr(0, common)) {
    return Protocol::kHttp2;
  }
  if (bytes.starts_with(kTlsBegin)) return Protocol::kTls;
  for (const std::string_view method : kMethods) {
    if (bytes.starts_with(method)) return Protocol::kHttp1;
  }
  return Protocol::kOther;
}

bool AreEnoughBytes(std::string_view bytes) {
  const auto is_incomplete = [bytes](std::string_view word) {
    return bytes.size() < word.size() && word.starts_with(bytes);
  };
  return !is_incomplete(kPreface) && !is_incomplete(kTlsBegin) &&
         std::none_of(std::begin(kMethods), std::end(kMethods), is_incomplete);
}

size_t CountCallsResetAtOnce(std::string_view bytes, size_t max) {
  // Most connections send no reset at all, and this search is much faster.
  if (memmem(bytes.data(), bytes.size(), kResetBegin.data(),
             kResetBegin.size()) == nullptr) {
    return 0;
  }
  // Every position may be the beginning of a frame, because nobody knows where
  // the first frame begins.
  absl::flat_hash_set<uint32_t> begun;
  size_t count = 0;
  for (size_t i = 0; i + kHeaderBytes <= bytes.size() && count < max; ++i) {
    const uint8_t type = ByteAt(bytes, i + 3);
    if (type != kHeaders && type != kReset) continue;
    const uint32_t length = NumberAt(bytes, i, 3);
    const uint32_t stream = NumberAt(bytes, i + 5, 4);
    if (stream % 2 == 0 || stream >> 31 != 0)
      continue;  // not a client's stream
    if (type == kHeaders && length <= kMaxLength) {
      begun.insert(stream);
    } else if (type == kReset && length == kResetLength) {
      count += begun.erase(stream);
    }
  }
  return count;
}

size_t CountPings(std::string_view bytes, size_t max) {
  size_t count = 0;
  for (; count < max; ++count) {
    const void* const found = memmem(bytes.data(), bytes.size(),
                                     kPingHeader.data(), kPingHeader.size());
    if (found == nullptr) break;
    const auto position =
        static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
    bytes.remove_prefix(std::min(bytes.size(), position + kPingBytes));
  }
  return count;
}

}  // namespace actord::daemon
