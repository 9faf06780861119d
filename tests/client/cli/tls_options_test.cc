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

namespace actord::client {
namespace {

using ::testing::HasSubstr;

constexpr char kCertificate[] = "-----BEGIN CERTIFICATE-----\nx\n";
constexpr char kKey[] = "-----BEGIN EC PRIVATE KEY-----\nx\n";

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
  const std::string ca_ =
      Write("ca", std::string("text before\n") + kCertificate);
  const std::string certificate_ = Write("certificate", kCertificate);
  const std::string key_ = Write("key", kKey);
};

TEST_F(TlsOptionsTest, DefaultsComeLastAndAreNamedInErrors) {
  const std::string other = Write("other", std::string(kCertificate) + "2");
  const DefaultTls otherwise{{.ca = ca_, .server_name = "of the context"},
                             "context prod"};
  const auto defaults = ReadTlsOptions({}, Reader({}), otherwise);
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_EQ(defaults->server_name, "of the context");
  const Variables variables{{"ACTORD_CLIENT_TLS_CA", other},
                            {"ACTORD_CLIENT_TLS_SERVER_NAME", "variable"}};
  const auto of_variables = ReadTlsOptions({}, Reader(variables), otherwise);
  ASSERT_TRUE(of_variables.ok()) << of_variables.status();
  EXPECT_EQ(of_variables->ca, std::string(kCertificate) + "2");
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
  const std::string other = Write("other", std::string(kCertificate) + "other");
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
  EXPECT_EQ(options->ca, std::string("text before\n") + kCertificate);
  EXPECT_EQ(options->certificate, kCertificate);
  EXPECT_EQ(options->key, kKey);
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
              HasSubstr("has no certificate in PEM (-----BEGIN CERTIFICATE"));
  EXPECT_THAT(WhyRefused({.ca = ca_, .certificate = certificate_, .key = ca_}),
              HasSubstr("--tls-key: " + ca_ + ": has no private key in PEM"));
}

}  // namespace
}  // namespace actord::client
