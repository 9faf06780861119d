#include "client/cli/tls_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/calls/endpoint.h"
#include "tests/identity/certificates/issued.h"

namespace actord::client {
namespace {

using identity::Authority;
using identity::Issued;
using identity::WithPassphrase;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

std::function<std::string(const char*)> Reader(const Variables& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  };
}

class TlsOptionsTest : public testing::Test {
 protected:
  ~TlsOptionsTest() override {
    for (const std::string& path : written_) std::remove(path.c_str());
  }

  std::string Write(const std::string& name, const std::string& text) {
    // The tests of this file run at the same time, in processes of their own.
    written_.push_back(
        absl::StrCat(testing::TempDir(), "actorctl_tls_", getpid(), "_", name));
    std::ofstream(written_.back()) << text;
    return written_.back();
  }
  std::string WhyRefused(const TypedTls& typed,
                         const Variables& variables = {}) {
    const auto options = ReadTlsOptions(typed, Reader(variables));
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(options.status().message());
  }

  std::vector<std::string> written_;
  Authority authority_;
  const Issued client_ = authority_.Issue({.common_name = "billing"});
  const std::string ca_pem_ = "text before\n" + authority_.certificate();
  const std::string ca_ = Write("ca", ca_pem_);
  const std::string certificate_ = Write("certificate", client_.certificate);
  const std::string key_ = Write("key", client_.key);
};

TEST_F(TlsOptionsTest, DefaultsComeLastAndAreNamedInErrors) {
  const std::string other_pem = Authority("other").certificate();
  const std::string other = Write("other", other_pem);
  const DefaultTls otherwise{{.ca = ca_, .server_name = "of the context"},
                             "context prod"};
  const auto defaults = ReadTlsOptions({}, Reader({}), otherwise);
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_EQ(defaults->server_name, "of the context");
  const Variables variables{{"ACTORD_CLIENT_TLS_CA", other},
                            {"ACTORD_CLIENT_TLS_SERVER_NAME", "variable"}};
  const auto of_variables = ReadTlsOptions({}, Reader(variables), otherwise);
  ASSERT_TRUE(of_variables.ok()) << of_variables.status();
  EXPECT_EQ(of_variables->ca, other_pem);
  EXPECT_EQ(of_variables->server_name, "variable");
  const auto typed =
      ReadTlsOptions({.server_name = "typed"}, Reader(variables), otherwise);
  ASSERT_TRUE(typed.ok()) << typed.status();
  EXPECT_EQ(typed->server_name, "typed");
  const auto missing = ReadTlsOptions(
      {}, Reader({}), {{.ca = "/nonexistent/ca.pem"}, "context prod"});
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("context prod: tls_ca: /nonexistent/ca.pem"));
}

TEST_F(TlsOptionsTest, WithoutAnAuthorityThereIsNoTls) {
  const auto options = ReadTlsOptions({}, Reader({}));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->ca, "");
  EXPECT_FALSE(Endpoint("127.0.0.1:1", "", *options).has_tls());
}

TEST_F(TlsOptionsTest, OptionsOverrideVariables) {
  const std::string other = Write("other", Authority("other").certificate());
  const auto options =
      ReadTlsOptions({.ca = ca_, .server_name = "typed"},
                     Reader({{"ACTORD_CLIENT_TLS_CA", other},
                             {"ACTORD_CLIENT_TLS_CERTIFICATE", certificate_},
                             {"ACTORD_CLIENT_TLS_KEY", key_},
                             {"ACTORD_CLIENT_TLS_SERVER_NAME", "variable"},
                             // The files of the daemon.
                             {"ACTORD_TLS_CERTIFICATE", "/nowhere"},
                             {"ACTORD_TLS_KEY", "/nowhere"}}));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->ca, ca_pem_);
  EXPECT_EQ(options->certificate, client_.certificate);
  EXPECT_EQ(options->key, client_.key);
  EXPECT_EQ(options->server_name, "typed");
  EXPECT_TRUE(Endpoint("127.0.0.1:1", "", *options).has_tls());
  EXPECT_FALSE(Endpoint("unix:/s", "", *options).has_tls());
}

TEST_F(TlsOptionsTest, NamesWhatIsMissing) {
  EXPECT_THAT(WhyRefused({.certificate = certificate_, .key = key_}),
              HasSubstr("--tls-certificate needs --tls-ca"));
  EXPECT_THAT(WhyRefused({}, {{"ACTORD_CLIENT_TLS_SERVER_NAME", "a"}}),
              HasSubstr("$ACTORD_CLIENT_TLS_SERVER_NAME needs --tls-ca"));
  EXPECT_THAT(WhyRefused({.ca = ca_, .certificate = certificate_}),
              HasSubstr("--tls-certificate needs --tls-key"));
  EXPECT_THAT(WhyRefused({.ca = ca_}, {{"ACTORD_CLIENT_TLS_KEY", key_}}),
              HasSubstr("$ACTORD_CLIENT_TLS_KEY needs --tls-certificate"));
}

TEST_F(TlsOptionsTest, NamesTheFileThatIsWrong) {
  EXPECT_THAT(WhyRefused({.ca = "/nowhere/ca.pem"}),
              HasSubstr("--tls-ca: /nowhere/ca.pem: cannot be read: No such "
                        "file or directory"));
  EXPECT_THAT(WhyRefused({.ca = key_}),
              HasSubstr("--tls-ca: " + key_ +
                        ": has no block that begins with -----BEGIN "
                        "CERTIFICATE-----; the file must be PEM"));
  EXPECT_THAT(WhyRefused({.ca = ca_, .certificate = certificate_, .key = ca_}),
              HasSubstr("--tls-key: " + ca_ + ": has no private key in PEM"));
}

TEST_F(TlsOptionsTest, NamesADamagedFile) {
  const std::string damaged = Write(
      "damaged", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(WhyRefused({.ca = damaged}),
              HasSubstr("--tls-ca: " + damaged + ": block 1 that begins with"));
  EXPECT_THAT(
      WhyRefused({.ca = ca_, .certificate = damaged, .key = key_}),
      HasSubstr("--tls-certificate: " + damaged + ": block 1 that begins"));
  const std::string damaged_key =
      Write("damaged_key", client_.key.substr(0, client_.key.size() / 2));
  EXPECT_THAT(
      WhyRefused({.ca = ca_, .certificate = certificate_, .key = damaged_key}),
      HasSubstr("--tls-key: " + damaged_key + ": has no private key in PEM"));
  // An empty file does not mean a connection without TLS.
  const std::string empty = Write("empty", "");
  EXPECT_THAT(WhyRefused({.ca = empty}), HasSubstr("has no block that begins"));
  EXPECT_THAT(
      WhyRefused({.ca = ca_, .certificate = empty, .key = key_}),
      HasSubstr("--tls-certificate: " + empty + ": has no block that begins"));
}

TEST_F(TlsOptionsTest, NamesAKeyThatCannotBeUsed) {
  const std::string secret = Write("secret", WithPassphrase(client_.key));
  EXPECT_THAT(
      WhyRefused({.ca = ca_, .certificate = certificate_},
                 {{"ACTORD_CLIENT_TLS_KEY", secret}}),
      HasSubstr("$ACTORD_CLIENT_TLS_KEY: " + secret +
                ": the key has a passphrase, and only a key without one can be "
                "used: remove it with openssl pkey"));
  const std::string foreign = Write("foreign", authority_.Issue().key);
  EXPECT_THAT(
      WhyRefused({.ca = ca_, .certificate = certificate_, .key = foreign}),
      HasSubstr("--tls-key: " + foreign +
                ": the key does not belong to the certificate of CN=billing "
                "in " +
                certificate_ + ", which must come first in that file"));
}

// A daemon that asks for no certificate serves such a client.
TEST_F(TlsOptionsTest, AcceptsAnExpiredCertificate) {
  const Issued old = authority_.Issue(
      {.begin = absl::UnixEpoch(), .end = absl::UnixEpoch() + absl::Hours(1)});
  const auto options =
      ReadTlsOptions({.ca = ca_,
                      .certificate = Write("old", old.certificate),
                      .key = Write("old_key", old.key)},
                     Reader({}));
  EXPECT_TRUE(options.ok()) << options.status();
}

}  // namespace
}  // namespace actord::client
