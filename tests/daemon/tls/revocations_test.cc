#include "daemon/tls/revocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/identity/certificates/issued.h"

namespace actord::daemon {
namespace {

using identity::Authority;
using identity::Issued;
using identity::kTestNow;
using identity::ParseCertificates;
using ::testing::HasSubstr;

class RevocationsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Revocations> Make(const std::string& pem) {
    return Revocations::Make(
        pem,
        *ParseCertificates(authority_.certificate() + other_.certificate()),
        kTestNow);
  }
  void ExpectRefused(const std::string& pem, const std::string& why) {
    const auto made = Make(pem);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(std::string(made.status().message()), HasSubstr(why));
  }

  Authority authority_{"one"};
  Authority other_{"two"};
};

TEST_F(RevocationsTest, NamesTheCertificatesOfItsIssuer) {
  const Issued bad = authority_.Issue(), good = authority_.Issue();
  const auto made = Make(authority_.Revoke({.serials = {bad.serial}}));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->IsRevoked(bad.parsed()));
  EXPECT_FALSE(made->IsRevoked(good.parsed()));
  EXPECT_FALSE(Revocations().IsRevoked(bad.parsed()));
  EXPECT_EQ(made->next_update(), kTestNow + absl::Hours(24));
  EXPECT_THAT(made->Summary(), HasSubstr("CN=one revokes 1 certificate, next"));
  EXPECT_TRUE(
      made->Covers(ParseCertificates(authority_.certificate())->front()));
  EXPECT_FALSE(made->Covers(ParseCertificates(other_.certificate())->front()));
}

TEST_F(RevocationsTest, DoesNotNameTheSameSerialOfAnotherIssuer) {
  const Issued foreign = other_.Issue();
  const auto made = Make(authority_.Revoke({.serials = {foreign.serial}}));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(made->IsRevoked(foreign.parsed()));
}

TEST_F(RevocationsTest, TakesListsOfSeveralAuthorities) {
  const Issued one = authority_.Issue(), two = other_.Issue();
  const auto made =
      Make(authority_.Revoke({.serials = {one.serial}}) +
           other_.Revoke({.serials = {two.serial}, .end = kTestNow}));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->IsRevoked(one.parsed()));
  EXPECT_TRUE(made->IsRevoked(two.parsed()));
  EXPECT_EQ(made->next_update(), kTestNow);
}

TEST_F(RevocationsTest, TakesAListWhoseSuccessorIsOverdue) {
  const Issued bad = authority_.Issue();
  const auto made = Make(authority_.Revoke(
      {.serials = {bad.serial}, .end = kTestNow - absl::Minutes(1)}));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->IsRevoked(bad.parsed()));
}

TEST_F(RevocationsTest, RefusesAListThatIsWrong) {
  ExpectRefused("", "has no block that begins with -----BEGIN X509 CRL-----");
  std::string damaged = authority_.Revoke({});
  damaged[60] = damaged[60] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(Make(damaged).ok());
  ExpectRefused(Authority("stranger").Revoke({}),
                "the list of CN=stranger is signed by no certificate of "
                "tls.client_ca");
  // The name alone is no proof.
  ExpectRefused(Authority("one").Revoke({}), "is signed by no certificate");
  ExpectRefused(authority_.Revoke({.begin = kTestNow + absl::Hours(1)}),
                "the list of CN=one is valid from 2027-01-15T09:00:00Z on");
  ExpectRefused(authority_.Revoke({.is_delta = true}), "is a delta list");
}

}  // namespace
}  // namespace actord::daemon
