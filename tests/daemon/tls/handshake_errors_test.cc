#include "daemon/tls/handshake_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

TEST(ExplainHandshake, NamesTheReason) {
  const struct {
    const char* line;
    const char* meaning;
  } cases[] = {
      {"Handshake failed with fatal error SSL_ERROR_SSL: error:0A0000C7:SSL "
       "routines::peer did not return a certificate.",
       "it presented no certificate"},
      {"Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:SSL "
       "routines::certificate verify failed.",
       "is not of an authority in tls.client_ca"},
      {"Handshake failed with fatal error SSL_ERROR_SSL: error:0A00009C:SSL "
       "routines::http request.",
       "HTTP/1.1 without TLS"},
      {"Handshake failed with fatal error SSL_ERROR_SSL: error:0A000418:SSL "
       "routines::tlsv1 alert unknown ca.",
       "give it the authority as --tls-ca"},
      {"Handshake failed with fatal error SSL_ERROR_SSL: something new.",
       "something new"},
  };
  for (const auto& c : cases) {
    const auto line = ExplainHandshake(c.line, "ipv4:192.0.2.1:5");
    ASSERT_TRUE(line.has_value()) << c.line;
    EXPECT_THAT(line->text,
                HasSubstr("TLS handshake of ipv4:192.0.2.1:5 failed: "));
    EXPECT_THAT(line->text, HasSubstr(c.meaning));
    // Strangers have any number of addresses, and few causes.
    EXPECT_EQ(ExplainHandshake(c.line, "ipv4:192.0.2.2:6")->kind, line->kind);
    EXPECT_THAT(line->kind, HasSubstr(c.meaning));
    EXPECT_THAT(ExplainHandshake(c.line, "")->text,
                HasSubstr("TLS handshake of a client failed: "));
  }
}

TEST(ExplainHandshake, LeavesOtherLinesAlone) {
  EXPECT_FALSE(ExplainHandshake("socket: unknown ca", "").has_value());
}

}  // namespace
}  // namespace actord::daemon
