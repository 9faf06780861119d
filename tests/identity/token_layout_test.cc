#include "identity/token_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "identity/token_toml.h"
#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

using testing::SizeIs;

std::string Without(const std::string& text, size_t index) {
  const auto entries = ParseTokens(text, "f.toml");
  EXPECT_TRUE(entries.ok()) << entries.status();
  return TextWithoutToken(text, entries->at(index));
}

TEST(TokenLayout, TableIsReadAsItIsWritten) {
  StoredToken token = ClientToken(1, "Billing/eu:1.a-b_c");
  EXPECT_EQ(FormatTokenTable(token),
            "[[token]]\nid = \"00000001\"\nname = \"Billing/eu:1.a-b_c\"\nrole "
            "= \"client\"\nhash = \"" +
                FormatHash(token.hash) +
                "\"\nsubmit = [\"*\"]\nsend = [\"*\"]\nsee = \"own\"\n");
  token.identity.submit = {"order", "invoice.*"};
  token.identity.expires =
      absl::FromUnixSeconds(1'800'000'000) + absl::Milliseconds(250);
  token.identity.sees = Sees::kAll;
  for (size_t i = 0; i < kQuotas; ++i) {
    token.identity.quotas.values[i] = kQuotaTable[i].max;
  }
  const auto entries = ParseTokens(FormatTokenTable(token), "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_THAT(*entries, SizeIs(1));
  EXPECT_EQ(entries->front().token, token);
}

TEST(TokenLayout, LongestListsAreReadAgain) {
  StoredToken token = ClientToken(1, std::string(128, 'n'));
  token.identity.submit.assign(kMaxPatterns, std::string(127, 'p') + "*");
  const auto entries = ParseTokens(FormatTokenTable(token), "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(entries->front().token, token);
}

TEST(TokenLayout, TokenIsAppended) {
  const std::string table = FormatTokenTable(ClientToken(1));
  EXPECT_EQ(TextWithToken("", ClientToken(1)), table);
  EXPECT_EQ(TextWithToken("# a\n", ClientToken(1)), "# a\n\n" + table);
  EXPECT_EQ(TextWithToken("# a", ClientToken(1)), "# a\n\n" + table);
}

TEST(TokenLayout, CommentsStayWhenATokenGoes) {
  const std::string one = FormatTokenTable(ClientToken(1));
  const std::string two = FormatTokenTable(ClientToken(2));
  const std::string three = FormatTokenTable(ClientToken(3));
  const std::string text = "# head\n\n# of one\n" + one + "\n" + two +
                           "# under two\n\n# of three\n" + three + "# end";
  EXPECT_EQ(Without(text, 0), "# head\n\n# of one\n\n" + two +
                                  "# under two\n\n# of three\n" + three +
                                  "# end");
  EXPECT_EQ(Without(text, 1), "# head\n\n# of one\n" + one +
                                  "\n# under two\n\n# of three\n" + three +
                                  "# end");
  EXPECT_EQ(Without(text, 2), "# head\n\n# of one\n" + one + "\n" + two +
                                  "# under two\n\n# of three\n# end");
}

TEST(TokenLayout, AddedAndRemovedLeavesTheTextAsItWas) {
  for (const std::string& text :
       {std::string(), std::string("# a\n"),
        "# a\n\n" + FormatTokenTable(ClientToken(1))}) {
    const std::string more = TextWithToken(text, ClientToken(2));
    EXPECT_EQ(Without(more, text.size() > 10 ? 1 : 0), text);
  }
}

TEST(TokenLayout, EveryLayoutOfATableIsRemovedAsAWhole) {
  const std::string hash = FormatHash(ClientToken(1).hash);
  const std::string two = FormatTokenTable(ClientToken(2));
  const std::string tables[] = {
      "[[token]] # a\n  id = '00000001' # b\n\n  # c\n  name = "
      "\"\"\"\napp\"\"\"\n"
      "role=\"client\"\nhash = '" +
          hash + "'\nsubmit = [\n\n  'a', # d\n] # e\n",
      "[[ token ]]\r\nid = \"00000001\"\r\nname = \"app\"\r\nrole = "
      "\"client\"\r\n\"hash\" = \"" +
          hash + "\"\r\n",
      "  [[\"token\"]]\nhash = \"" + hash +
          "\"\nsend = [\"a\",\n\"b\"]\nrole = "
          "\"client\"\nname = \"app\"\nid = \"00000001\"\n",
  };
  for (const std::string& table : tables) {
    EXPECT_EQ(Without(table, 0), "");
    EXPECT_EQ(Without(table + two, 0), two);
    EXPECT_EQ(Without(two + table, 1), two);
    // The last line of a file may have no line end.
    EXPECT_EQ(
        Without(two + table.substr(0, table.find_last_not_of("\r\n") + 1), 1),
        two);
  }
}

}  // namespace
}  // namespace actord::identity
