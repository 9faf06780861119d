#include "daemon/settings/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace actord::daemon {
namespace {

TEST(ConfigText, ReadsSizes) {
  const struct {
    const char* text;
    uint64_t bytes;
  } cases[] = {{"0", 0},
               {"4096", 4096},
               {"17B", 17},
               {"64KiB", 64 << 10},
               {"16MiB", 16 << 20},
               {"3GiB", 3ull << 30},
               {"2KB", 2000},
               {"5MB", 5'000'000},
               {"1GB", 1'000'000'000}};
  for (const auto& c : cases) {
    const auto bytes = ParseSizeText(c.text);
    ASSERT_TRUE(bytes.ok()) << c.text << ": " << bytes.status();
    EXPECT_EQ(*bytes, c.bytes) << c.text;
  }
}

TEST(ConfigText, RefusesInvalidSizes) {
  for (const char* text :
       {"", "MiB", "1 MiB", "1mib", "1.5MiB", "-1", "+1", "0x10", "1MiBs",
        "18446744073709551616", "18446744073709551615KiB", " 1", "1 "}) {
    EXPECT_FALSE(ParseSizeText(text).ok()) << text;
  }
}

TEST(ConfigText, PrintsSizesThatReadBack) {
  for (const uint64_t bytes :
       {0ull, 1ull, 1000ull, 1023ull, 1024ull, 1536ull, 1ull << 20, 3ull << 30,
        18446744073709551615ull}) {
    const auto read = ParseSizeText(FormatSizeText(bytes));
    ASSERT_TRUE(read.ok()) << FormatSizeText(bytes);
    EXPECT_EQ(*read, bytes);
  }
  EXPECT_EQ(FormatSizeText(16 << 20), "16MiB");
  EXPECT_EQ(FormatSizeText(1536), "1536");
}

TEST(ConfigText, ReadsDurations) {
  const struct {
    const char* text;
    absl::Duration duration;
  } cases[] = {
      {"0", absl::ZeroDuration()},  {"30s", absl::Seconds(30)},
      {"1m30s", absl::Seconds(90)}, {"250ms", absl::Milliseconds(250)},
      {"1.5h", absl::Minutes(90)},  {"none", absl::InfiniteDuration()}};
  for (const auto& c : cases) {
    const auto duration = ParseDurationText(c.text);
    ASSERT_TRUE(duration.ok()) << c.text << ": " << duration.status();
    EXPECT_EQ(*duration, c.duration) << c.text;
    EXPECT_EQ(*ParseDurationText(FormatDurationText(*duration)), c.duration);
  }
}

TEST(ConfigText, RefusesInvalidDurations) {
  for (const char* text :
       {"", "30", "-1s", "inf", "-inf", "s", "1 fortnight"}) {
    EXPECT_FALSE(ParseDurationText(text).ok()) << text;
  }
}

TEST(ConfigText, ReadsListenAddresses) {
  const auto v4 = ParseListenAddress("127.0.0.1:7600");
  ASSERT_TRUE(v4.ok()) << v4.status();
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 7600);
  const auto v6 = ParseListenAddress("[::1]:0");
  ASSERT_TRUE(v6.ok()) << v6.status();
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);
  const auto name = ParseListenAddress("localhost:65535");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->port, 65535);
  const auto socket = ParseListenAddress("unix:/run/actord.sock");
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_TRUE(socket->is_unix);
  EXPECT_EQ(socket->path, "/run/actord.sock");
}

TEST(ConfigText, DistinguishesLocalAddresses) {
  for (const char* text : {"127.0.0.1:1", "127.1.2.3:1", "localhost:1",
                           "[::1]:1", "unix:/run/actord.sock"}) {
    EXPECT_TRUE(ParseListenAddress(text)->IsLocal()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example:1"}) {
    EXPECT_FALSE(ParseListenAddress(text)->IsLocal()) << text;
  }
}

TEST(ConfigText, RefusesInvalidListenAddresses) {
  for (const char* text :
       {"", "7600", ":7600", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
        "127.0.0.1:-1", "127.0.0.1:http", "::1:7600", "unix:", "[]:1"}) {
    EXPECT_FALSE(ParseListenAddress(text).ok()) << text;
  }
}

TEST(ConfigText, QuotesTextsForToml) {
  EXPECT_EQ(QuoteToml("plain"), "\"plain\"");
  EXPECT_EQ(QuoteToml("a\"b\\c\nd\x7f"), "\"a\\\"b\\\\c\\u000ad\\u007f\"");
}

TEST(LinkUrlText, NamesTheHost) {
  for (const auto& [text, host] :
       std::map<std::string, std::string>{{"", ""},
                                          {"http://a", "a"},
                                          {"https://a.b:1/c/d", "a.b"},
                                          {"https://[::1]:1", "[::1]"}}) {
    const auto parsed = ParseLinkUrl(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, host) << text;
  }
  for (const char* const text :
       {"a", "ftp://a", "http://", "http://a/", "http://:1", "http://a b",
        "http://a?b", "http://a#b", "http://u@a", "http://a\"", "http:///a"}) {
    EXPECT_FALSE(ParseLinkUrl(text).ok()) << text;
  }
}

TEST(CollectorUrlText, HasAHostAPortAndAPath) {
  struct Case {
    const char* text;
    const char* host;
    uint16_t port;
    const char* path;
  };
  for (const Case& one : std::vector<Case>{
           {"http://127.0.0.1:4318", "127.0.0.1", 4318, "/v1/traces"},
           {"http://collector", "collector", 80, "/v1/traces"},
           {"http://a:1/", "a", 1, "/v1/traces"},
           {"http://a:1/otlp/", "a", 1, "/otlp/v1/traces"},
           {"http://[::1]", "::1", 80, "/v1/traces"},
           {"http://[::1]:65535/x", "::1", 65535, "/x/v1/traces"}}) {
    const auto url = ParseCollectorUrl(one.text);
    ASSERT_TRUE(url.ok()) << url.status();
    EXPECT_EQ(url->host, one.host) << one.text;
    EXPECT_EQ(url->port, one.port) << one.text;
    EXPECT_EQ(url->path, one.path) << one.text;
  }
}

TEST(CollectorUrlText, RefusesWhatCannotBeReached) {
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{
           {"https://a", "needs TLS"},
           {"http://a:4318/v1/traces", "the daemon adds by itself"},
           {"a:4318", "is not a URL"},
           {"http://", "is not a URL"},
           {"http://:1", "is not a URL"},
           {"http://a:0", "is not a URL"},
           {"http://a:65536", "is not a URL"},
           {"http://a:x", "is not a URL"},
           {"http://::1", "is not a URL"},
           {"http://unix:/a", "is not a URL"},
           {"http://user@a", "is not a URL"},
           {"http://a/?b", "is not a URL"},
           {"http://a\r\nX: y", "is not a URL"}}) {
    EXPECT_THAT(std::string(ParseCollectorUrl(text).status().message()),
                ::testing::HasSubstr(why))
        << text;
  }
}

TEST(RatioText, IsFromZeroToOne) {
  for (const auto& [text, ratio] : std::vector<std::pair<std::string, double>>{
           {"0", 0}, {"1", 1}, {"0.25", 0.25}, {"1e-9", 1e-9}}) {
    ASSERT_TRUE(ParseRatioText(text).ok()) << text;
    EXPECT_EQ(*ParseRatioText(text), ratio);
    EXPECT_EQ(*ParseRatioText(FormatRatioText(ratio)), ratio);
  }
  EXPECT_EQ(FormatRatioText(0.1), "0.1");
  for (const char* const text :
       {"", "-0.1", "1.1", "nan", "inf", "0.5x", " 0.5", "50%"}) {
    EXPECT_FALSE(ParseRatioText(text).ok()) << text;
  }
}

}  // namespace
}  // namespace actord::daemon
