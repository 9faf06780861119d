#include "daemon/connections/http2_frames.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace actord::daemon {
namespace {

std::string Frame(uint8_t type, uint32_t stream, const std::string& payload) {
  std::string frame;
  const auto append = [&frame](size_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      frame += static_cast<char>(number >> shift & 0xff);
    }
  };
  append(payload.size(), 3);
  append(type, 1);
  append(4, 1);
  append(stream, 4);
  return frame + payload;
}

std::string Begin(uint32_t stream) { return Frame(1, stream, "\x83\x86"); }
std::string Data(uint32_t stream) { return Frame(0, stream, "0123456789"); }
std::string Reset(uint32_t stream) {
  return Frame(3, stream, std::string("\0\0\0\x08", 4));
}

TEST(CountCallsResetAtOnce, CountsPairsWhereverTheBytesBegin) {
  std::string bytes = Data(1);
  for (uint32_t stream = 3; stream < 203; stream += 2) {
    bytes += Begin(stream) + Reset(stream);
  }
  for (size_t cut = 0; cut <= Data(1).size(); ++cut) {
    EXPECT_EQ(CountCallsResetAtOnce(bytes.substr(cut)), 100u) << cut;
  }
  // The last reset is incomplete, but its stream is named.
  EXPECT_EQ(CountCallsResetAtOnce(
                std::string_view(bytes).substr(0, bytes.size() - 4)),
            100u);
  EXPECT_EQ(CountCallsResetAtOnce(
                std::string_view(bytes).substr(0, bytes.size() - 5)),
            99u);
}

TEST(CountCallsResetAtOnce, StopsAtTheMaximum) {
  std::string bytes;
  for (uint32_t stream = 1; stream < 21; stream += 2) {
    bytes += Begin(stream) + Reset(stream);
  }
  EXPECT_EQ(CountCallsResetAtOnce(bytes, 10), 10u);
  EXPECT_EQ(CountCallsResetAtOnce(bytes, 9), 9u);
  EXPECT_EQ(CountCallsResetAtOnce(bytes, 11), 10u);
}

TEST(CountCallsResetAtOnce, CallsWithRequestsCountToo) {
  EXPECT_EQ(CountCallsResetAtOnce(Begin(5) + Begin(7) + Data(5) + Reset(5) +
                                  Data(7) + Reset(7)),
            2u);
}

TEST(CountCallsResetAtOnce, ManyCancelsOfOlderCallsAreNone) {
  std::string bytes;
  for (uint32_t stream = 1; stream < 2001; stream += 2) bytes += Reset(stream);
  for (uint32_t stream = 2001; stream < 4001; stream += 2) {
    bytes += Begin(stream) + Data(stream);
  }
  EXPECT_EQ(CountCallsResetAtOnce(bytes), 0u);
}

TEST(CountPings, CountsThemWhereverTheBytesBegin) {
  const std::string ping(
      "\0\0\x08\x06\0\0\0\0\0"
      "12345678",
      17);
  std::string answer = ping;
  answer[4] = 1;
  std::string bytes;
  for (int i = 0; i < 10; ++i) bytes += ping + answer;
  EXPECT_EQ(CountPings(bytes), 10u);
  EXPECT_EQ(CountPings(bytes, 4), 4u);
  EXPECT_EQ(CountPings(std::string_view(bytes).substr(3)), 9u);
  EXPECT_EQ(CountPings(ping.substr(0, 9)), 1u);
  EXPECT_EQ(CountPings(ping.substr(0, 8)), 0u);
  EXPECT_EQ(CountPings(answer), 0u);
  EXPECT_EQ(CountPings(""), 0u);
}

TEST(ProtocolOf, TellsByTheFirstBytes) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (size_t size = 0; size <= preface.size(); ++size) {
    EXPECT_EQ(ProtocolOf(preface.substr(0, size)), Protocol::kHttp2) << size;
  }
  EXPECT_EQ(ProtocolOf(preface + Begin(1)), Protocol::kHttp2);
  EXPECT_EQ(ProtocolOf("GET / HTTP/1.1\r\n"), Protocol::kHttp1);
  EXPECT_EQ(ProtocolOf("POST /actord HTTP/1.1\r\n"), Protocol::kHttp1);
  EXPECT_EQ(ProtocolOf("PRI * HTTP/1.1\r\n"), Protocol::kOther);
  EXPECT_EQ(ProtocolOf("\x16\x03\x01\x02"), Protocol::kTls);
  EXPECT_EQ(ProtocolOf(Begin(1)), Protocol::kOther);
  EXPECT_EQ(ProtocolOf("SSH-2.0-OpenSSH_9.2\r\n"), Protocol::kOther);
}

TEST(CountCallsResetAtOnce, RandomBytesAndShortOnesAreNone) {
  EXPECT_EQ(CountCallsResetAtOnce(""), 0u);
  EXPECT_EQ(CountCallsResetAtOnce("12345678"), 0u);
  std::mt19937 random(42);
  std::string bytes(1 << 16, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  EXPECT_EQ(CountCallsResetAtOnce(bytes), 0u);
}

TEST(AreEnoughBytes, WaitsForAWholeWordOfAProtocol) {
  for (const std::string_view bytes :
       {"", "P", "PR", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r", "PO", "GET", "TRACE",
        "\x16"}) {
    EXPECT_FALSE(AreEnoughBytes(bytes)) << bytes;
  }
  for (const std::string_view bytes :
       {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HTTP/2.1", "POST ", "POX",
        "GET /", "\x16\x03", "\x16\x04", "x"}) {
    EXPECT_TRUE(AreEnoughBytes(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace actord::daemon
