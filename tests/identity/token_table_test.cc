#include "identity/token_table.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/identity/tokens.h"

namespace actord::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// A well-formed token with the ID of TokenText(number) and another secret.
std::string WrongSecret(uint8_t number) {
  std::array<uint8_t, kTokenIdBytes> id{};
  id.back() = number;
  return FormatToken(id, std::array<uint8_t, kTokenSecretBytes>{});
}

TEST(TokenTable, FindsWhoHoldsAToken) {
  const TokenTable table({ClientToken(1, "billing"), ClientToken(2, "shop")});
  EXPECT_EQ(table.size(), 2u);
  const TokenTable::Answer answer = table.Find(TokenText(2), kNow);
  ASSERT_NE(answer.token, nullptr);
  EXPECT_EQ(*answer.token, ClientToken(2, "shop"));
}

TEST(TokenTable, SaysWhyATokenIsRefused) {
  StoredToken expired = ClientToken(2);
  expired.identity.expires = kNow;
  const TokenTable table({ClientToken(1), expired});
  const struct {
    std::string text;
    Refusal refusal;
  } cases[] = {
      {"", Refusal::kMalformed},
      {std::string(1'000'000, 'x'), Refusal::kMalformed},
      {TokenText(1).substr(1), Refusal::kMalformed},
      {std::string(ClientToken(1).identity.token_id), Refusal::kMalformed},
      {TokenText(3), Refusal::kUnknown},
      {WrongSecret(3), Refusal::kUnknown},
      {WrongSecret(1), Refusal::kWrongSecret},
      {TokenText(2), Refusal::kExpired},
      // Only the holder of the secret learns that the token has expired.
      {WrongSecret(2), Refusal::kWrongSecret},
  };
  for (const auto& c : cases) {
    const TokenTable::Answer answer = table.Find(c.text, kNow);
    EXPECT_EQ(answer.token, nullptr);
    EXPECT_EQ(answer.refusal, c.refusal) << c.text.substr(0, 70);
  }
}

TEST(TokenTable, StrangerIsNotToldWhichIdsExist) {
  EXPECT_EQ(RefusalMessage(Refusal::kUnknown),
            RefusalMessage(Refusal::kWrongSecret));
  for (const Refusal refusal :
       {Refusal::kMalformed, Refusal::kExpired, Refusal::kUnchecked}) {
    EXPECT_NE(RefusalMessage(refusal), RefusalMessage(Refusal::kUnknown));
    EXPECT_FALSE(RefusalMessage(refusal).empty());
  }
}

// A token whose hash is that of no token must not be reached by an unknown ID.
TEST(TokenTable, HashOfZerosIsNoBackDoor) {
  StoredToken zeros = ClientToken(1);
  zeros.hash = {};
  const TokenTable table({zeros});
  EXPECT_EQ(table.Find(TokenText(1), kNow).refusal, Refusal::kWrongSecret);
  EXPECT_EQ(table.Find(TokenText(2), kNow).refusal, Refusal::kUnknown);
  EXPECT_EQ(table.Find(TokenText(2), kNow).token, nullptr);
}

TEST(TokenTable, FindsTheSuccessorOfAToken) {
  const StoredToken former = ClientToken(1, "app");
  StoredToken renewed = former;
  renewed.identity.expires = kNow + absl::Hours(1);
  EXPECT_EQ(*TokenTable({renewed}).FindAgain(former, kNow).token, renewed);
  EXPECT_EQ(
      TokenTable({renewed}).FindAgain(former, renewed.identity.expires).refusal,
      Refusal::kExpired);
  const TokenTable without({ClientToken(2)});
  EXPECT_EQ(without.FindAgain(former, kNow).token, nullptr);
  EXPECT_EQ(without.FindAgain(former, kNow).refusal, Refusal::kUnknown);
  // The ID alone does not make a successor.
  StoredToken other = former;
  other.hash = *HashToken(WrongSecret(1));
  EXPECT_EQ(TokenTable({other}).FindAgain(former, kNow).refusal,
            Refusal::kWrongSecret);
}

TEST(TokenTable, TellsTheIdOfARefusedTokenOnlyIfItKnowsIt) {
  StoredToken expired = ClientToken(2);
  expired.identity.expires = kNow;
  const TokenTable table({ClientToken(1), expired});
  const std::string id = ClientToken(1).identity.token_id;
  EXPECT_EQ(table.Find(WrongSecret(1), kNow).known_id, id);
  EXPECT_EQ(table.Find(TokenText(2), kNow).known_id, expired.identity.token_id);
  EXPECT_EQ(table.Find(TokenText(3), kNow).known_id, "");
  EXPECT_EQ(table.Find("nonsense", kNow).known_id, "");
}

TEST(TokenTable, ExpiresToTheNanosecond) {
  StoredToken token = ClientToken(1);
  token.identity.expires = kNow;
  const TokenTable table({token});
  EXPECT_NE(table.Find(TokenText(1), kNow - absl::Nanoseconds(1)).token,
            nullptr);
  EXPECT_EQ(table.Find(TokenText(1), kNow).token, nullptr);
}

TEST(TokenTable, TwoTokensOfOneNameAreBothValid) {
  const TokenTable table({ClientToken(1, "app"), ClientToken(2, "app")});
  EXPECT_EQ(table.Find(TokenText(1), kNow).token->identity.name, "app");
  EXPECT_EQ(table.Find(TokenText(2), kNow).token->identity.name, "app");
}

TEST(TokenTable, TokenOutlivesTheTable) {
  auto table = std::make_unique<TokenTable>(
      std::vector<StoredToken>{ClientToken(1, "app")});
  const auto token = table->Find(TokenText(1), kNow).token;
  table.reset();
  EXPECT_EQ(token->identity.name, "app");
}

TEST(TokenTable, AnswersManyThreadsAtATime) {
  const TokenTable table({ClientToken(1), ClientToken(2)});
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&table, &right] {
      for (int round = 0; round < 500; ++round) {
        const bool is_right =
            table.Find(TokenText(1), kNow).token != nullptr &&
            table.Find(TokenText(3), kNow).refusal == Refusal::kUnknown &&
            table.Find(WrongSecret(2), kNow).refusal == Refusal::kWrongSecret;
        right += is_right ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 2000);
}

TEST(TokenTable, HasTheQuotasOfEachName) {
  std::vector<StoredToken> tokens = {
      ClientToken(1, "alice"), ClientToken(2, "bob"), ClientToken(3, "alice"),
      ClientToken(4, "carol")};
  const size_t streams = *FindQuota("streams");
  const size_t processes = *FindQuota("processes");
  tokens[0].identity.quotas.values[streams] = 5;
  tokens[0].identity.quotas.values[processes] = 7;
  tokens[0].identity.expires = absl::UnixEpoch();
  tokens[2].identity.quotas.values[streams] = 6;
  tokens[3].identity.quotas.values[streams] = 0;
  const TokenTable table(tokens);
  EXPECT_EQ(table.quotas().size(), 2u);
  // The last one in the file decides about each quota for itself.
  EXPECT_EQ(table.quotas().at("alice").values[streams], 6u);
  EXPECT_EQ(table.quotas().at("alice").values[processes], 7u);
  EXPECT_EQ(table.quotas().at("carol").values[streams], 0u);
}

}  // namespace
}  // namespace actord::identity
