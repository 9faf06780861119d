#include "identity/token_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kHash[] =
    "sha256:1f3a85ad7035fd6da6770a7c3d6a1b2b43fa02630d39959767b369c87463d316";

// Line 1 is [[token]], line 2 the ID, 3 the name, 4 the role, 5 the hash.
std::string Table(const std::string& id = "04107zqz",
                  const std::string& role = "client") {
  return "[[token]]\nid = \"" + id + "\"\nname = \"app\"\nrole = \"" + role +
         "\"\nhash = \"" + kHash + "\"\n";
}

std::string TextComplaint(const std::string& text) {
  return std::string(ParseTokens(text, "f.toml").status().message());
}

TEST(ParseTokens, ReadsEveryKey) {
  const auto entries = ParseTokens(
      "# A comment.\n\n" + Table() +
          "expires = 2027-01-31T08:15:00.5Z\nsubmit = [\n  \"order\", # one\n"
          "  \"invoice.*\",\n]\nsend = [\"*\"]\nsee = \"all\"\n\n# End.\n",
      "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_THAT(*entries, SizeIs(1));
  const TokenEntry& entry = entries->front();
  EXPECT_EQ(entry.first_line, 3u);
  EXPECT_EQ(entry.last_line, 14u);
  const Identity& identity = entry.token.identity;
  EXPECT_EQ(identity.token_id, "04107zqz");
  EXPECT_EQ(identity.name, "app");
  EXPECT_EQ(identity.role, Role::kClient);
  EXPECT_EQ(absl::FormatTime(identity.expires, absl::UTCTimeZone()),
            "2027-01-31T08:15:00.5+00:00");
  EXPECT_THAT(identity.submit, ElementsAre("order", "invoice.*"));
  EXPECT_THAT(identity.send, ElementsAre("*"));
  EXPECT_THAT(identity.work, IsEmpty());
  EXPECT_EQ(identity.sees, Sees::kAll);
  EXPECT_EQ(FormatHash(entry.token.hash), kHash);
}

TEST(ParseTokens, ReadsQuotas) {
  const auto entries =
      ParseTokens(Table() +
                      "quotas = {streams = 5, bytes_per_second = 1048576, "
                      "requests_per_second = 0}\n" +
                      Table("00000001"),
                  "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status();
  TokenQuotas expected;
  expected.values[*FindQuota("streams")] = 5;
  expected.values[*FindQuota("bytes_per_second")] = 1048576;
  expected.values[*FindQuota("requests_per_second")] = 0;
  EXPECT_EQ(entries->at(0).token.identity.quotas, expected);
  EXPECT_EQ(entries->at(0).last_line, 6u);
  EXPECT_TRUE(entries->at(1).token.identity.quotas.empty());
}

TEST(ParseTokens, RefusesWrongQuotas) {
  const auto complaint = [](const std::string& quotas) {
    return TextComplaint(Table() + quotas + "\n");
  };
  const std::string shape =
      "f.toml:6: quotas must be a table in one line, such as {streams = 5, "
      "processes = 1000}";
  EXPECT_EQ(complaint("quotas = 5"), shape);
  EXPECT_EQ(complaint("quotas = {}"), shape);
  EXPECT_EQ(complaint("[token.quotas]\nstreams = 5"), shape);
  EXPECT_EQ(complaint("quotas = {nonsense = 5}"),
            "f.toml:6: quotas has the unknown quota \"nonsense\": there are "
            "requests_per_second, request_burst, bytes_per_second, "
            "bytes_burst, streams, connections, processes, mailbox_bytes, "
            "yield_bytes");
  const std::string streams =
      "f.toml:6: quotas needs a whole number of streams from 1 to 10000000, or "
      "0 for no limit, as streams";
  EXPECT_EQ(complaint("quotas = {streams = -1}"), streams);
  EXPECT_EQ(complaint("quotas = {streams = 1.5}"), streams);
  EXPECT_EQ(complaint("quotas = {streams = \"5\"}"), streams);
  EXPECT_EQ(complaint("quotas = {streams = 10000001}"), streams);
  EXPECT_EQ(complaint("quotas = {yield_bytes = 1023}"),
            "f.toml:6: quotas needs a whole number of bytes from 1024 to "
            "1099511627776, or 0 for no limit, as yield_bytes");
}

TEST(ParseTokens, FillsInWhatTheRolePermits) {
  const auto entries =
      ParseTokens(Table("00000001", "client") + Table("00000002", "worker") +
                      Table("00000003", "viewer") + Table("00000004", "admin"),
                  "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status();
  const auto identity = [&](size_t i) { return (*entries)[i].token.identity; };
  EXPECT_EQ(identity(0).expires, absl::InfiniteFuture());
  EXPECT_THAT(identity(0).submit, ElementsAre("*"));
  EXPECT_THAT(identity(0).work, IsEmpty());
  EXPECT_EQ(identity(0).sees, Sees::kOwn);
  EXPECT_THAT(identity(1).send, IsEmpty());
  EXPECT_THAT(identity(1).work, ElementsAre("*"));
  EXPECT_THAT(identity(2).submit, IsEmpty());
  EXPECT_EQ(identity(2).sees, Sees::kAll);
  EXPECT_THAT(identity(3).send, ElementsAre("*"));
}

TEST(ParseTokens, FileWithoutTokensIsValid) {
  for (const char* text : {"", "\n", "# Nothing.\n", "\xef\xbb\xbf"}) {
    const auto entries = ParseTokens(text, "f.toml");
    ASSERT_TRUE(entries.ok()) << entries.status();
    EXPECT_THAT(*entries, IsEmpty());
  }
}

// The text, and the whole message.
TEST(ParseTokens, ErrorSaysLineReasonAndRemedy) {
  const std::string roles = "viewer, client, worker, operator or admin";
  const std::string head = "[[token]]\n";
  const struct {
    std::string text;
    std::string complaint;
  } cases[] = {
      {"[token]\nid = \"x\"\n",
       "f.toml:1: each token must be a table that begins with [[token]]"},
      {"token = [{id = \"x\"}]\n",
       "f.toml:1: each token must be a table that begins with [[token]]"},
      {"token = []\n",
       "f.toml:1: each token must be a table that begins with [[token]]"},
      {"token = [1]\n",
       "f.toml:1: each token must be a table that begins with [[token]]"},
      {"\n[[tokens]]\n",
       "f.toml:2: unknown key or table \"tokens\": a token begins with "
       "[[token]]"},
      {head + "id = \"0410\"\n",
       "f.toml:2: id must be 8 characters of 0-9 and a-z without i, l, o and "
       "u, "
       "not \"0410\""},
      {head + "id = 5\n",
       "f.toml:2: id must be 8 characters of 0-9 and a-z without i, l, o and "
       "u, "
       "in quotes"},
      {head + "name = \"a b\"\n",
       "f.toml:2: name must be 1 to 128 characters of a-z, A-Z, 0-9 and "
       "_.-/:, not \"a b\""},
      {head + "role = \"boss\"\n",
       "f.toml:2: role must be " + roles + ", not \"boss\""},
      {head + "role = [\"client\"]\n",
       "f.toml:2: role must be " + roles + ", in quotes"},
      {head + "hash = \"sha256:12\"\n",
       "f.toml:2: hash must be sha256: and 64 characters of 0-9 and a-f"},
      {head + "see = \"none\"\n",
       "f.toml:2: see must be own or all, not \"none\""},
      {head + "roll = \"client\"\n",
       "f.toml:2: unknown key \"roll\": a token has id, name, role, hash, "
       "expires, submit, send, work, see, quotas"},
      {head + "submit = [\"ok\", \"a*b\"]\n",
       "f.toml:2: submit must be a name of up to 128 characters, which may end "
       "in *, not \"a*b\""},
      {head + "send = [\"\"]\n",
       "f.toml:2: send must be a name of up to 128 characters, which may end "
       "in *, not \"\""},
      {head + "work = [1]\n",
       "f.toml:2: work must be a name of up to 128 characters, which may end "
       "in *, in quotes"},
      {head + "work = \"payment.*\"\n",
       "f.toml:2: work must be a list of patterns, such as [\"order\", "
       "\"invoice.*\"]"},
      {head + "submit = []\n",
       "f.toml:2: submit is an empty list, which permits nothing: name a "
       "pattern, or leave the key out to permit all"},
      {"[[token]]\nname = \"app\"\n",
       "f.toml:1: the token has no id, which must be 8 characters of 0-9 and "
       "a-z without i, l, o and u"},
      {Table() + "work = [\"*\"]\n",
       "f.toml:6: work is of no use, because the role client does not permit "
       "it: leave the key out, or make the role worker or operator or admin"},
      {Table() + "\n" + Table(),
       "f.toml:7: the ID 04107zqz is also that of the token in line 1: each "
       "token needs an ID of its own"},
      {Table() + "name = \"b\"\n",
       "f.toml:6: Error while parsing key-value pair: cannot redefine existing "
       "string 'name'"},
  };
  for (const auto& c : cases) EXPECT_EQ(TextComplaint(c.text), c.complaint);
}

TEST(ParseTokens, EveryRequiredKeyIsRequired) {
  const std::string lines[] = {"id = \"04107zqz\"\n", "name = \"app\"\n",
                               "role = \"client\"\n",
                               std::string("hash = \"") + kHash + "\"\n"};
  const char* const names[] = {"id", "name", "role", "hash"};
  for (size_t missing = 0; missing < 4; ++missing) {
    std::string text = "[[token]]\n";
    for (size_t i = 0; i < 4; ++i) {
      if (i != missing) text += lines[i];
    }
    EXPECT_THAT(TextComplaint(text),
                HasSubstr(std::string("f.toml:1: the token has no ") +
                          names[missing] + ", which must be "));
  }
}

TEST(ParseTokens, ExpiryMustBeATimeInUtc) {
  for (const char* bad :
       {"\"2027-01-31T00:00:00Z\"", "2027-01-31T00:00:00", "2027-01-31",
        "2027-01-31T00:00:00+01:00", "00:00:00", "1800000000"}) {
    EXPECT_EQ(TextComplaint("[[token]]\nexpires = " + std::string(bad) + "\n"),
              "f.toml:2: expires must be a time in UTC without quotes, such as "
              "2027-01-31T00:00:00Z")
        << bad;
  }
  for (const char* good :
       {"2027-01-31T00:00:00Z", "2027-01-31 00:00:00Z", "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z", "2028-02-29T00:00:00+00:00"}) {
    EXPECT_EQ(TextComplaint(Table() + "expires = " + good + "\n"), "") << good;
  }
  EXPECT_THAT(TextComplaint(Table() + "expires = 2027-02-29T00:00:00Z\n"),
              HasSubstr("f.toml:6: "));
}

TEST(ParseTokens, SizesAreBounded) {
  EXPECT_EQ(TextComplaint(std::string(kMaxTokenFileBytes + 1, '\n')),
            "f.toml: is larger than 4194304 bytes, the maximum size of a file "
            "of tokens");
  EXPECT_EQ(TextComplaint(std::string(kMaxTokenFileBytes, '\n')), "");
  EXPECT_EQ(TextComplaint("\n#" + std::string(1023, 'x')), "");
  EXPECT_EQ(
      TextComplaint("\n#" + std::string(1024, 'x') + "\n"),
      "f.toml:2: the line has 1025 bytes, and at most 1024 are allowed; a "
      "list may take several lines");
  std::string list = "submit = [\n";
  for (size_t i = 0; i < kMaxPatterns; ++i) list += "\"a\",\n";
  EXPECT_EQ(TextComplaint(Table() + list + "]\n"), "");
  EXPECT_EQ(TextComplaint(Table() + list + "\"a\"]\n"),
            "f.toml:6: submit has 101 patterns; at most 100 are allowed");
}

TEST(ParseTokens, NumberOfTokensIsBounded) {
  std::string text;
  const auto append = [&text](size_t i) {
    std::string id = std::to_string(i);
    text += Table(std::string(8 - id.size(), '0') + id, "viewer");
  };
  for (size_t i = 0; i < kMaxTokens; ++i) append(i);
  ASSERT_LE(text.size(), kMaxTokenFileBytes);
  EXPECT_EQ(TextComplaint(text), "");
  append(kMaxTokens);
  EXPECT_EQ(TextComplaint(text),
            "f.toml:50001: the file has more than 10000 tokens");
}

// None of them may crash the program or hold it up.
TEST(ParseTokens, HostileTextIsRefused) {
  std::string nested_keys = "[";
  for (int i = 0; i < 500; ++i) nested_keys += "a.";
  std::string nested_lines = "token = ";
  for (int i = 0; i < 100'000; ++i) nested_lines += "[\n";
  const std::string texts[] = {
      std::string(1, '\0'),
      std::string("a\0b", 3),
      "\xff\xfe",
      "[[token]]\nid = \"\xff\"\n",
      "[[token]]\r[[token]]",
      "[[token]\n",
      "[[token]]]\n",
      "[[token]]\n[token.submit]\nx = 1\n",
      "[[token]]\n[[token.submit]]\n",
      "[[token]]\nsubmit = {a = 1}\n",
      "[[token]]\nsubmit = [[\"a\"]]\n",
      "[[token]]\nid.x = 1\n",
      "[[token]]\nname = \"\"\"\n",
      "[[token]]\n\"\" = 1\n",
      "[[token]]\nexpires = 99999-01-01T00:00:00Z\n",
      "[[token]]\nexpires = inf\n",
      "[[token]]\nid = 999999999999999999999999999\n",
      nested_keys + "b]\n",
      nested_lines,
      "token = 1\n[[token]]\n",
      "token." + std::string(900, 'x') + " = 1\n",
  };
  for (const std::string& text : texts) {
    const absl::Status status = ParseTokens(text, "f.toml").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << text.substr(0, 80);
    EXPECT_THAT(std::string(status.message()), testing::StartsWith("f.toml:"));
    EXPECT_LT(status.message().size(), 300u) << status.message();
  }
}

// A person may paste the secret where the hash belongs, or anywhere else.
TEST(ParseTokens, DeepNestingIsRefusedWithItsLine) {
  std::string parts;
  for (int i = 0; i < 100; ++i) parts += ".a";
  EXPECT_EQ(TextComplaint(Table() + "[token" + parts + "]\n"),
            "f.toml:6: a key has more than 16 parts with dots between them");
  EXPECT_EQ(TextComplaint(Table() + "submit = " + std::string(100, '[')),
            "f.toml:6: a value is nested more than 16 levels deep");
}

TEST(ParseTokens, NoErrorRepeatsASecret) {
  const std::string token = TokenText(7);
  const std::string texts[] = {
      token,
      token + " = 1\n",
      "[" + token + "]\n",
      "[[" + token + "]]\n",
      "[[token]]\nhash = \"" + token + "\"\n",
      "[[token]]\nhash = " + token + "\n",
      "[[token]]\nhash = \"" + token + "\n",
      "[[token]]\nid = \"" + token + "\"\n",
      "[[token]]\nname = \"a b " + token + "\"\n",
      "[[token]]\nrole = \"" + token + "\"\n",
      "[[token]]\nsee = \"" + token + "\"\n",
      "[[token]]\nsubmit = [\"x " + token + "\"]\n",
      "[[token]]\n" + token + " = \"hash\"\n",
      "[[token]]\nexpires = \"" + token + "\"\n",
      "[[token]]\nexpires = true" + token + "\n",
      "[[token]]\n" + token + " = 1\n" + token + " = 2\n",
  };
  const std::string secret = token.substr(13, 43);
  for (const std::string& text : texts) {
    const std::string complaint = TextComplaint(text);
    EXPECT_NE(complaint, "") << text;
    for (size_t at = 0; at + 8 <= secret.size(); ++at) {
      EXPECT_THAT(complaint, Not(HasSubstr(secret.substr(at, 8))));
    }
  }
}

}  // namespace
}  // namespace actord::identity
