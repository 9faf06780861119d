#include "daemon/tls/tls_material.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/identity/certificates/issued.h"

namespace actord::daemon {
namespace {

using identity::Authority;
using identity::FingerprintOf;
using identity::Issued;
using identity::kTestNow;
using identity::WithPassphrase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr absl::Duration kDay = absl::Hours(24);

TlsSettings Settings(bool has_clients) {
  TlsSettings settings;
  settings.certificate = "/tls/a.pem";
  settings.key = "/tls/a.key";
  if (has_clients) {
    settings.client_ca = "/tls/ca.pem";
    settings.crl = "/tls/crl.pem";
  }
  return settings;
}

class TlsMaterialTest : public ::testing::Test {
 protected:
  // The answer of Check about the files of a daemon with client authorities.
  std::string WhyRefused(const TlsTexts& texts) {
    return std::string(
        TlsMaterial::Check(Settings(true), texts, kTestNow).status().message());
  }

  Authority authority_{"one"};
  Issued own_ = authority_.Issue({.common_name = "actord"});
  TlsTexts good_{.certificate = own_.certificate,
                 .key = own_.key,
                 .client_ca = authority_.certificate(),
                 .crl = authority_.Revoke({})};
};

TEST_F(TlsMaterialTest, TakesFilesThatFit) {
  const auto material = TlsMaterial::Check(Settings(true), good_, kTestNow);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ((*material)->texts(), good_);
  EXPECT_EQ((*material)->not_after(), kTestNow + 90 * kDay);
  EXPECT_THAT((*material)->Warnings(kTestNow), IsEmpty());
  const TlsTexts alone{.certificate = own_.certificate, .key = own_.key};
  EXPECT_TRUE(TlsMaterial::Check(Settings(false), alone, kTestNow).ok());
}

TEST_F(TlsMaterialTest, TakesAChainInItsOrder) {
  Authority between = authority_.IssueAuthority("between");
  const Issued leaf =
      between.Issue({.common_name = "leaf", .end = kTestNow + 200 * kDay});
  TlsTexts texts = good_;
  texts.key = leaf.key;
  texts.certificate = leaf.certificate + between.certificate();
  const auto material = TlsMaterial::Check(Settings(true), texts, kTestNow);
  ASSERT_TRUE(material.ok()) << material.status();
  // That of the issuer is earlier.
  EXPECT_EQ((*material)->not_after(), kTestNow + 90 * kDay);
  texts.certificate = leaf.certificate + authority_.certificate();
  EXPECT_EQ(WhyRefused(texts),
            "tls.certificate: /tls/a.pem: the certificate of CN=leaf is "
            "followed by that of CN=one, which did not issue it; put the "
            "daemon's own certificate first, and each issuer behind what it "
            "issued");
}

TEST_F(TlsMaterialTest, RefusesAWrongCertificate) {
  TlsTexts texts = good_;
  texts.certificate = "rubbish";
  EXPECT_EQ(WhyRefused(texts),
            "tls.certificate: /tls/a.pem: has no block that begins with "
            "-----BEGIN CERTIFICATE-----; the file must be PEM");
  texts.certificate = own_.certificate + own_.certificate.substr(0, 200);
  EXPECT_EQ(WhyRefused(texts),
            "tls.certificate: /tls/a.pem: block 2 that begins with -----BEGIN "
            "CERTIFICATE----- is damaged");
  const Issued expired = authority_.Issue(
      {.common_name = "old", .end = kTestNow - absl::Seconds(1)});
  texts.certificate = expired.certificate;
  texts.key = expired.key;
  EXPECT_EQ(WhyRefused(texts),
            "tls.certificate: /tls/a.pem: the certificate of CN=old expired at "
            "2027-01-15T07:59:59Z; put a renewed one there");
  const Issued early = authority_.Issue(
      {.common_name = "new", .begin = kTestNow + absl::Hours(1)});
  texts.certificate = early.certificate;
  texts.key = early.key;
  EXPECT_EQ(WhyRefused(texts),
            "tls.certificate: /tls/a.pem: the certificate of CN=new is valid "
            "from 2027-01-15T09:00:00Z on; is the clock of one machine wrong?");
}

TEST_F(TlsMaterialTest, RefusesAWrongKey) {
  TlsTexts texts = good_;
  texts.key = own_.certificate;
  EXPECT_EQ(WhyRefused(texts),
            "tls.key: /tls/a.key: has no private key in PEM (-----BEGIN "
            "PRIVATE KEY-----)");
  texts.key = WithPassphrase(own_.key);
  EXPECT_THAT(WhyRefused(texts),
              StartsWith("tls.key: /tls/a.key: the key has a passphrase"));
  texts.key = authority_.Issue().key;
  EXPECT_EQ(WhyRefused(texts),
            "tls.key: /tls/a.key: the key does not belong to the certificate "
            "of CN=actord in /tls/a.pem, which must come first in that file");
}

TEST_F(TlsMaterialTest, RefusesACertificateThatOpenSslDoesNotServe) {
  const Issued weak =
      authority_.Issue({.common_name = "weak", .rsa_bits = 1024});
  TlsTexts texts = good_;
  texts.certificate = weak.certificate;
  texts.key = weak.key;
  EXPECT_EQ(WhyRefused(texts),
            "tls.certificate: /tls/a.pem: the certificate of CN=weak or one "
            "behind it is not safe to serve: ee key too small; use a key of "
            "2048 bits (RSA) or of a curve such as P-256, and SHA-256");
}

TEST_F(TlsMaterialTest, RefusesAuthoritiesWithoutAValidOne) {
  TlsTexts texts = good_;
  texts.crl = "";
  TlsSettings settings = Settings(true);
  settings.crl = "";
  const Authority old("old", {.end = kTestNow - kDay});
  texts.client_ca = old.certificate();
  const auto refused = TlsMaterial::Check(settings, texts, kTestNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()),
              StartsWith("tls.client_ca: /tls/ca.pem: the certificate of "
                         "CN=old expired at "));
  texts.client_ca += authority_.certificate();
  const auto taken = TlsMaterial::Check(settings, texts, kTestNow);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT((*taken)->Warnings(kTestNow),
              ElementsAre(HasSubstr("CN=old expired at")));
  texts.client_ca = "";
  EXPECT_THAT(
      std::string(
          TlsMaterial::Check(settings, texts, kTestNow).status().message()),
      StartsWith("tls.client_ca: /tls/ca.pem: has no block"));
}

TEST_F(TlsMaterialTest, RefusesAListOfAStranger) {
  TlsTexts texts = good_;
  texts.crl = Authority("stranger").Revoke({});
  EXPECT_THAT(WhyRefused(texts),
              StartsWith("tls.crl: /tls/crl.pem: the list of CN=stranger is "
                         "signed by no certificate"));
}

TEST_F(TlsMaterialTest, WarnsOfWhatEndsSoonAndOfWhatIsMissing) {
  TlsTexts texts = good_;
  texts.client_ca += Authority("two").certificate();
  const auto material = TlsMaterial::Check(Settings(true), texts, kTestNow);
  ASSERT_TRUE(material.ok()) << material.status();
  const absl::Time end = kTestNow + 90 * kDay;
  EXPECT_THAT((*material)->Warnings(kTestNow),
              ElementsAre(HasSubstr("has no list of CN=two")));
  EXPECT_THAT((*material)->Warnings(end - 14 * kDay - absl::Seconds(1)),
              ElementsAre(HasSubstr("CN=two"), HasSubstr("a newer list has "
                                                         "been due since")));
  const auto warnings = (*material)->Warnings(end - 14 * kDay);
  ASSERT_EQ(warnings.size(), 5u);
  EXPECT_EQ(warnings[0],
            "tls.certificate: /tls/a.pem: the certificate of CN=actord expires "
            "at 2027-04-15T08:00:00Z; put a renewed one there, the daemon "
            "reads it without a restart");
}

TEST_F(TlsMaterialTest, SaysWhatHasChanged) {
  const auto former = *TlsMaterial::Check(Settings(true), good_, kTestNow);
  EXPECT_THAT(former->Changes(former.get()), IsEmpty());
  EXPECT_EQ(former->Changes(nullptr).size(), 3u);
  TlsTexts texts = good_;
  const Issued renewed = authority_.Issue({.common_name = "renewed"});
  texts.certificate = renewed.certificate;
  texts.key = renewed.key;
  const auto next = *TlsMaterial::Check(Settings(true), texts, kTestNow);
  EXPECT_THAT(next->Changes(former.get()),
              ElementsAre("tls.certificate is of CN=renewed, valid until "
                          "2027-04-15T08:00:00Z, SHA-256 " +
                          FingerprintOf(renewed.parsed())));
}

}  // namespace
}  // namespace actord::daemon
