#include "client/contexts/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace actord::client {
namespace {

using ::testing::HasSubstr;

Contexts TwoContexts() {
  Contexts contexts;
  contexts.use = "prod.eu-1_a";
  contexts.all["here"] = {.address = "unix:/run/a \"b\"\\c.sock"};
  contexts.all["prod.eu-1_a"] = {.address = "actord.example:7600",
                                 .token_file = "/home/me/\u00e4 \t.token",
                                 .tls = {.ca = "/ca.pem",
                                         .certificate = "/c.pem",
                                         .key = "/k.pem",
                                         .server_name = "actord"},
                                 .timeout = "10s"};
  return contexts;
}

std::string WhyRefused(const std::string& text) {
  const auto contexts = ParseContexts(text, "FILE");
  EXPECT_EQ(contexts.status().code(), absl::StatusCode::kInvalidArgument)
      << text;
  return std::string(contexts.status().message());
}

TEST(Contexts, AreReadAsTheyWereWritten) {
  for (const Contexts& contexts : {TwoContexts(), Contexts()}) {
    const auto read = ParseContexts(ContextsText(contexts), "FILE");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, contexts);
  }
}

TEST(Contexts, ErrorsNameTheLineAndWhatWouldBeRight) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"use = 1", "FILE:1: use must be a text in quotes"},
      {"\n[contexts.a]\naddress = \"a:1\"",
       "FILE:2: unknown key or table \"contexts\": a context begins with "
       "[context.NAME]"},
      {"[context.a]\naddress = \"a:1\"\nport = 1",
       "FILE:3: unknown key \"port\": a context has address, token_file, "
       "tls_ca, tls_certificate, tls_key, tls_server_name, timeout"},
      {"[context.a]\naddress = 7600", "FILE:2: address must be a text"},
      {"[context.a]\ntimeout = \"1s\"", "FILE:1: address is missing"},
      {"[context.a]\naddress = \"http://a:1\"", "FILE:1: address: "},
      {"[context.a]\naddress = \"a:1\"\ntimeout = \"soon\"",
       "FILE:1: timeout: "},
      {"[context.a]\naddress = \"a:1\"\ntls_ca = \"ca.pem\"",
       "tls_ca: \"ca.pem\" is not an absolute path"},
      {"[context.\"a b\"]\naddress = \"a:1\"",
       "\"a b\" is no name of a context"},
      {"context = 1", "a context begins with [context.NAME]"},
      {"[context]\na = 1", "FILE:2: a context begins with [context.NAME]"},
      {"[context.a", "FILE:1: "},
      {"use = \"b\"\n[context.a]\naddress = \"a:1\"",
       "FILE: use: there is no context \"b\"; FILE has a"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(WhyRefused(c.text), HasSubstr(c.why)) << c.text;
  }
  EXPECT_THAT(WhyRefused(std::string(kMaxContextsBytes + 1, '\n')),
              HasSubstr("is larger than 1048576 bytes"));
}

TEST(Contexts, DeepNestingIsRefusedBeforeItIsRead) {
  std::string header = "[a";
  for (int i = 0; i < 100'000; ++i) header += ".a";
  EXPECT_THAT(WhyRefused(header + "]\n"), HasSubstr("FILE:1: "));
}

TEST(Contexts, NumberIsLimited) {
  Contexts contexts;
  for (size_t i = 0; i < kMaxContexts; ++i) {
    contexts.all["c" + std::to_string(i)].address = "a:1";
  }
  EXPECT_TRUE(ParseContexts(ContextsText(contexts), "FILE").ok());
  contexts.all["one-more"].address = "a:1";
  EXPECT_THAT(WhyRefused(ContextsText(contexts)),
              HasSubstr("there are more than 1000 contexts"));
}

TEST(Contexts, UnknownNameSaysWhichExist) {
  const auto unknown = FindContext(TwoContexts(), "there", "FILE");
  EXPECT_EQ(unknown.status().message(),
            "there is no context \"there\"; FILE has here, prod.eu-1_a");
  EXPECT_THAT(std::string(FindContext({}, "a", "FILE").status().message()),
              HasSubstr("FILE has none, and \"actorctl context add\" makes"));
  EXPECT_EQ(FindContext(TwoContexts(), "here", "FILE")->address,
            TwoContexts().all["here"].address);
}

TEST(ContextName, HasLettersDigitsAndMarks) {
  for (const char* good : {"a", "A.b_c-9"}) {
    EXPECT_TRUE(CheckContextName(good).ok()) << good;
  }
  EXPECT_TRUE(CheckContextName(std::string(64, 'a')).ok());
  for (const std::string& bad :
       {std::string(), std::string(65, 'a'), std::string("a/b"),
        std::string("\u00e4"), std::string("a\n")}) {
    EXPECT_FALSE(CheckContextName(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace actord::client
