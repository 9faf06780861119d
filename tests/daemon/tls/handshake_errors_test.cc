#include "daemon/tls/handshake_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/tls/tls_handshake.h"

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
    EXPECT_THAT(line->text, HasSubstr("TLS handshake of 192.0.2.1:5 failed: "));
    EXPECT_THAT(line->text, HasSubstr(c.meaning));
    // Strangers have any number of addresses, and few causes.
    EXPECT_EQ(ExplainHandshake(c.line, "ipv4:192.0.2.2:6")->kind, line->kind);
    EXPECT_THAT(line->kind, HasSubstr(c.meaning));
    EXPECT_THAT(ExplainHandshake(c.line, "")->text,
                HasSubstr("TLS handshake of a client failed: "));
  }
}

TEST(ExplainHandshake, TellsFailuresFromEndsAfterTheHandshake) {
  const auto line = [](const char* reason) {
    return ExplainHandshake(std::string("Handshake failed: ") + reason,
                            "ipv4:192.0.2.1:5")
        ->text;
  };
  EXPECT_THAT(line(unserved::kNoHttp2),
              HasSubstr("TLS handshake of 192.0.2.1:5 failed: it does not "
                        "offer HTTP/2"));
  EXPECT_THAT(line(unserved::kLate),
              HasSubstr("failed: it did not finish within"));
  EXPECT_THAT(line(unserved::kOtherBytes),
              HasSubstr("connection of 192.0.2.1:5 closed: its TLS "
                        "handshake agreed on HTTP/2"));
  EXPECT_THAT(line(unserved::kSilent),
              HasSubstr("closed: after its TLS handshake it sent nothing"));
  EXPECT_THAT(line(unserved::kRenegotiation),
              HasSubstr("connection of 192.0.2.1:5 asked for a "
                        "renegotiation"));
}

TEST(TlsHandshake, KnowsWhyAConnectionWasNotServed) {
  using Handshake = TlsHandshake;
  const auto reason = Handshake::UnservedReason;
  EXPECT_EQ(reason(false, false, true, {}), unserved::kLate);
  // The client has gone, or gRPC reports the failure.
  EXPECT_EQ(reason(false, false, false, {}), nullptr);
  EXPECT_EQ(reason(true, false, false, {}), unserved::kNoHttp2);
  EXPECT_EQ(reason(true, true, false, {.has_client_spoken = true}),
            unserved::kOtherBytes);
  EXPECT_EQ(reason(true, true, true, {}), unserved::kSilent);
  EXPECT_EQ(reason(true, true, false, {}), nullptr);
  EXPECT_EQ(reason(true, true, true,
                   {.has_client_spoken = true, .has_daemon_answered = true}),
            nullptr);
}

TEST(ExplainHandshake, LeavesOtherLinesAlone) {
  EXPECT_FALSE(ExplainHandshake("socket: unknown ca", "").has_value());
}

}  // namespace
}  // namespace actord::daemon
