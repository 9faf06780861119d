#include "daemon/access/owners.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using runtime::Owner;

TEST(Owners, EachNameKeepsItsNumber) {
  Owners owners;
  const absl::StatusOr<Owner> alice = owners.NumberOf("alice");
  const absl::StatusOr<Owner> bob = owners.NumberOf("bob");
  ASSERT_TRUE(alice.ok());
  ASSERT_TRUE(bob.ok());
  EXPECT_NE(*alice, *bob);
  EXPECT_NE(*alice, Owner::kNobody);
  EXPECT_NE(*alice, Owner::kAny);
  EXPECT_EQ(owners.NumberOf("alice").value(), *alice);
  EXPECT_EQ(owners.Find("bob"), *bob);
  EXPECT_EQ(owners.NameOf(*alice), "alice");
  EXPECT_EQ(owners.NameOf(*bob), "bob");
}

TEST(Owners, NamesOfTheStoreKeepTheirNumbers) {
  std::vector<std::string> kept;
  Owners owners;
  owners.Restore({"alice", "bob"}, [&](Owner owner, const std::string& name) {
    kept.push_back(absl::StrCat(static_cast<int>(owner), " ", name));
    return absl::OkStatus();
  });
  EXPECT_EQ(owners.NumberOf("bob").value(), Owner{2});
  EXPECT_EQ(owners.NumberOf("carol").value(), Owner{3});
  EXPECT_EQ(owners.NumberOf("alice").value(), Owner{1});
  EXPECT_EQ(owners.NumberOf("carol").value(), Owner{3});
  EXPECT_EQ(owners.Find("alice"), Owner{1});
  EXPECT_EQ(owners.NameOf(Owner{2}), "bob");
  EXPECT_EQ(kept, std::vector<std::string>{"3 carol"});
}

TEST(Owners, NameThatCannotBeKeptHasNoNumber) {
  bool is_closed = true;
  Owners owners;
  owners.Restore({}, [&](Owner, const std::string&) {
    return is_closed ? absl::UnavailableError("closed") : absl::OkStatus();
  });
  EXPECT_EQ(owners.NumberOf("alice").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(owners.Find("alice"), std::nullopt);
  is_closed = false;
  EXPECT_EQ(owners.NumberOf("bob").value(), Owner{1});
}

TEST(Owners, ClientThatNeverCalledHasNoNumber) {
  const Owners owners;
  EXPECT_EQ(owners.Find("alice"), std::nullopt);
  EXPECT_EQ(owners.Find(""), std::nullopt);
  EXPECT_EQ(owners.NameOf(Owner::kNobody), "");
  EXPECT_EQ(owners.NameOf(Owner::kAny), "");
  EXPECT_EQ(owners.NameOf(Owner{1}), "");
}

TEST(Owners, AboveTheLimitNewNamesAreRefusedAndCounted) {
  Owners owners(2);
  ASSERT_TRUE(owners.NumberOf("alice").ok());
  ASSERT_TRUE(owners.NumberOf("bob").ok());
  EXPECT_EQ(owners.refused(), 0u);
  const absl::Status refused = owners.NumberOf("carol").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(runtime::ReasonOf(refused), runtime::reason::kOwnerLimit);
  EXPECT_EQ(owners.refused(), 1u);
  EXPECT_EQ(owners.Find("carol"), std::nullopt);
  EXPECT_TRUE(owners.NumberOf("alice").ok());
}

TEST(Owners, TheLastNumberIsNotThatOfAny) {
  Owners owners;
  std::set<Owner> numbers;
  for (size_t i = 0; i < Owners::kMax; ++i) {
    const absl::StatusOr<Owner> number = owners.NumberOf(absl::StrCat(i));
    ASSERT_TRUE(number.ok()) << i;
    numbers.insert(*number);
  }
  EXPECT_EQ(numbers.size(), Owners::kMax);
  EXPECT_EQ(numbers.count(Owner::kAny), 0u);
  EXPECT_EQ(numbers.count(Owner::kNobody), 0u);
  EXPECT_FALSE(owners.NumberOf("one more").ok());
}

TEST(Owners, ThreadsAgreeOnTheNumber) {
  Owners owners;
  std::vector<Owner> numbers(8);
  std::vector<std::thread> threads;
  for (Owner& number : numbers) {
    threads.emplace_back([&owners, &number] {
      for (int i = 0; i < 100; ++i) {
        number = owners.NumberOf(absl::StrCat("name ", i)).value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<Owner>(numbers.begin(), numbers.end()).size(), 1u);
  EXPECT_EQ(owners.NameOf(numbers[0]), "name 99");
}

}  // namespace
}  // namespace actord::daemon
