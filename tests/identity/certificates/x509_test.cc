#include "identity/certificates/x509.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/identity/certificates/issued.h"

namespace actord::identity {
namespace {

using ::testing::StartsWith;

TEST(X509, SaysWhyACertificateIsNotValidNow) {
  Authority authority;
  const Certificate good = authority.Issue({.common_name = "a"}).parsed();
  EXPECT_EQ(WhyNotNow(good, kTestNow), "");
  EXPECT_EQ(WhyNotNow(good, NotAfter(good)), "");
  EXPECT_EQ(WhyNotNow(good, NotAfter(good) + absl::Seconds(1)),
            "the certificate of CN=a expired at 2027-04-15T08:00:00Z; put a "
            "renewed one there");
  EXPECT_EQ(WhyNotNow(good, NotBefore(good)), "");
  EXPECT_EQ(WhyNotNow(good, NotBefore(good) - absl::Seconds(1)),
            "the certificate of CN=a is valid from 2027-01-15T07:00:00Z on; is "
            "the clock of one machine wrong?");
}

TEST(X509, KeyBelongsToItsCertificateAlone) {
  Authority authority;
  const Issued one = authority.Issue(), other = authority.Issue();
  const PrivateKey key = *ParsePrivateKey(one.key);
  EXPECT_TRUE(BelongsTo(key, one.parsed()));
  EXPECT_FALSE(BelongsTo(key, other.parsed()));
}

TEST(X509, RefusesAKeyWithAPassphrase) {
  const Authority authority;
  const auto key = ParsePrivateKey(WithPassphrase(authority.key()));
  EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(key.status().message()),
              StartsWith("the key has a passphrase, and only a key without"));
}

}  // namespace
}  // namespace actord::identity
