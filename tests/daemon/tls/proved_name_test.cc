#include "daemon/tls/proved_name.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/identity/certificates/issued.h"

namespace actord::daemon {
namespace {

using identity::Authority;
using identity::Wanted;

std::string NameOf(const Wanted& wanted) {
  static auto& authority = *new Authority;
  return ProvedName(authority.Issue(wanted).parsed());
}

TEST(ProvedName, IsTheUriThenTheDnsNameThenTheCommonName) {
  EXPECT_EQ(NameOf({.common_name = "cn",
                    .alternative_names =
                        "DNS:a.example,URI:spiffe://example.org/billing"}),
            "spiffe://example.org/billing");
  EXPECT_EQ(NameOf({.common_name = "cn", .alternative_names = "DNS:a.example"}),
            "a.example");
  EXPECT_EQ(NameOf({.common_name = "cn", .alternative_names = "IP:127.0.0.1"}),
            "cn");
  EXPECT_EQ(NameOf({.common_name = "cn"}), "cn");
  EXPECT_EQ(NameOf({.common_name = ""}), "");
}

TEST(ProvedName, IsTheFirstAlternativeNameAndTheLastCommonName) {
  EXPECT_EQ(NameOf({.alternative_names = "URI:urn:a,URI:urn:b"}), "urn:a");
  EXPECT_EQ(NameOf({.alternative_names = "DNS:a,DNS:b"}), "a");
  EXPECT_EQ(NameOf({.common_names = {"first", "last"}}), "last");
}

TEST(ProvedName, KeepsOtherScripts) {
  EXPECT_EQ(NameOf({.common_name = "Zürich"}), "Zürich");
}

TEST(ProvedName, IsNoneIfItCouldDeceive) {
  EXPECT_EQ(NameOf({.common_name = "admin\n"}), "");
  EXPECT_EQ(NameOf({.common_name = std::string("admin\0x", 7)}), "");
  // A bad URI is not replaced by a name of another kind.
  EXPECT_EQ(NameOf({.common_name = "cn", .alternative_names = "URI:a\x7f"}),
            "");
  const std::string longest(kMaxProvedNameBytes - 4, 'x');
  EXPECT_EQ(NameOf({.alternative_names = "URI:urn:" + longest}),
            "urn:" + longest);
  EXPECT_EQ(NameOf({.alternative_names = "URI:urn:x" + longest}), "");
}

}  // namespace
}  // namespace actord::daemon
