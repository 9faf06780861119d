// The program ends at each call of the file system, and again during recovery.
// The promises hold, no matter what the disk has kept:
//
//   1. Acknowledged work is there.
//   2. No message acts twice, and no message is there that nobody has sent.
//   3. Everything that a client has seen is there.
//   4. Money that processes send to each other is neither lost nor made.
//   5. A request or a call under an id acts once, however often it is repeated
//      before and after the end; a repeat gets the answer of the first.
//
// Each deposit is another power of two, so a balance says which deposits are in
// it, and how often.
//
// ACTORD_DURABLE_SEEDS: number of scripts, each with a crash at each call
// (default: one script, a crash at each third call).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/system/random.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

constexpr int kAccounts = 3;
constexpr int kOperations = 60;
// A balance has 63 bits, and payments need some.
constexpr size_t kMostDeposits = 40;

class Bank {
 public:
  explicit Bank(uint64_t seed) : random_(seed), world_(seed) {}

  // Runs the script. `crash_at`: the number of the call of the disk at which
  // the program ends.
  void Run(uint64_t crash_at) {
    world_.disk.CrashAt(crash_at);
    if (!world_.Start().ok()) return;
    for (int i = 0; i < kAccounts; ++i) {
      opened_.push_back(world_.SubmitOnce(NameOf(i), "0", NameOf(i)));
    }
    for (int i = 0; i < kOperations && !world_.disk.has_crashed(); ++i) {
      Operate();
      // The program and the disk are somewhere in the middle.
      if (random_.Next() >> 62 == 0) world_.Settle();
      if (random_.Next() >> 63 == 0) world_.Turn();
      if (random_.Next() >> 62 == 0) world_.store->Work();
    }
    if (!world_.disk.has_crashed()) world_.Settle();
    Learn();
  }
  uint64_t calls() const { return world_.disk.calls(); }

  // Starts the program again. False: it ended in a call of the disk.
  bool Restart(uint64_t crash_at) {
    const bool keep_cache = random_.Next() >> 63 == 0;
    const uint64_t kept = random_.Next() % (world_.state.unflushed() + 1);
    world_.Reboot(keep_cache, kept);
    world_.disk.CrashAt(crash_at);
    const absl::Status status = world_.Start();
    if (status.ok()) world_.Settle();
    if (world_.disk.has_crashed()) return false;
    EXPECT_EQ(status, absl::OkStatus());
    EXPECT_EQ(world_.failed, absl::OkStatus());
    return status.ok();
  }

  void Check() {
    for (int i = 0; i < kAccounts; ++i) {
      const auto pid = world_.runtime().names.Find(Owner::kNobody, NameOf(i));
      const auto& opened =
          opened_.empty() ? nullptr : opened_[static_cast<size_t>(i)];
      if (opened != nullptr && opened->answer.has_value() &&
          opened->answer->ok()) {
        ASSERT_TRUE(pid.ok()) << "account " << i << " was acknowledged";
        EXPECT_EQ(*pid, **opened->answer);
      }
    }
    const uint64_t found = Sum();
    EXPECT_EQ(found & acknowledged_, acknowledged_)
        << "an acknowledged deposit is lost";
    EXPECT_EQ(found & seen_, seen_) << "a deposit that was seen is lost";
    EXPECT_EQ(found & ~sent_, 0u) << "a deposit came twice, or from nowhere";
  }

  // Every client repeats what it has asked for.
  void Repeat() {
    for (size_t i = 0; i < opened_.size(); ++i) {
      ExpectSameAnswer(*opened_[i],
                       *world_.SubmitOnce(NameOf(static_cast<int>(i)), "0",
                                          NameOf(static_cast<int>(i))));
    }
    for (size_t i = 0; i < tallies_.size(); ++i) {
      ExpectSameAnswer(*tallies_[i], *SubmitTally(i));
    }
    // Deposits without an id are not repeated.
    uint64_t expected = Sum() & together_bits_;
    for (const auto& called : called_) RepeatCall(*called, expected);
    for (const auto& deposit : deposits_) {
      const Told again = SendDeposit(*deposit);
      world_.Settle();
      const bool is_there{world_.runtime().processes.Find(deposit->to)};
      if (is_there) expected |= deposit->bit;
      if (deposit->told->answer.has_value() && deposit->told->answer->ok()) {
        EXPECT_TRUE(is_there) << "its account was acknowledged";
        EXPECT_EQ(again->role, RequestIds::Role::kRepeat);
      }
      ASSERT_TRUE(again->answer.has_value());
      EXPECT_EQ(again->answer->ok(), is_there) << again->answer->status();
    }
    for (int i = 0; i < kAccounts && !opened_.empty(); ++i) {
      EXPECT_TRUE(world_.runtime().names.Find(Owner::kNobody, NameOf(i)).ok())
          << "account " << i << " was asked for again";
    }
    EXPECT_EQ(Sum(), expected) << "a deposit acted twice, or not at all";
    EXPECT_EQ(world_.runtime().LiveProcesses(),
              opened_.size() + tallies_.size())
        << "a Submit acted twice, or not at all";
  }

 private:
  // A deposit by a call, which is answered with the balance.
  struct Called {
    uint64_t bit;
    Pid to;
    std::shared_ptr<DurableWorld::Reply> reply = nullptr;
  };
  std::shared_ptr<DurableWorld::Reply> CallDeposit(const Called& called) {
    const std::string amount = std::to_string(called.bit);
    return world_.CallOnce("call" + amount, called.to, "add", amount);
  }
  static bool IsAnswered(const Called& called) {
    return called.reply->answer.has_value() && called.reply->answer->ok();
  }
  void RepeatCall(const Called& called, uint64_t& expected) {
    const auto again = CallDeposit(called);
    world_.Settle();
    ASSERT_TRUE(again->answer.has_value());
    const bool is_there{world_.runtime().processes.Find(called.to)};
    EXPECT_EQ(again->answer->ok(), is_there) << again->answer->status();
    if (is_there) expected |= called.bit;
    if (!IsAnswered(called)) return;
    EXPECT_TRUE(again->is_duplicate());
    EXPECT_EQ(again->text(), called.reply->text());
  }

  using Told = std::shared_ptr<DurableWorld::Told>;
  struct Deposit {
    uint64_t bit;
    Pid to;
    Told told = nullptr;
  };

  // Deposits without ids, which a stream has sent together.
  struct Together {
    uint64_t bits = 0;
    bool is_durable = false;
  };

  Told SendDeposit(const Deposit& deposit) {
    const std::string amount = std::to_string(deposit.bit);
    return world_.SendOnce("deposit" + amount, deposit.to, "add", amount);
  }
  Told SubmitTally(size_t number) {
    return world_.SubmitOnce("tally" + std::to_string(number), "", "", "tally");
  }
  // The sum of all balances.
  uint64_t Sum() {
    int64_t sum = 0;
    for (int i = 0; i < kAccounts; ++i) {
      const auto pid = world_.runtime().names.Find(Owner::kNobody, NameOf(i));
      if (pid.ok()) sum += std::stoll(world_.BalanceOf(*pid));
    }
    return static_cast<uint64_t>(sum);
  }
  void ExpectSameAnswer(const DurableWorld::Told& first,
                        DurableWorld::Told& again) {
    world_.Settle();
    ASSERT_TRUE(again.answer.has_value() && again.answer->ok());
    if (!first.answer.has_value() || !first.answer->ok()) return;
    EXPECT_EQ(again.role, RequestIds::Role::kRepeat);
    EXPECT_EQ(**again.answer, **first.answer);
  }

  static std::string NameOf(int account) {
    return "account" + std::to_string(account);
  }
  std::optional<Pid> Account(uint64_t of = kAccounts) {
    const auto pid = world_.runtime().names.Find(
        Owner::kNobody, NameOf(static_cast<int>(random_.Next() % of)));
    return pid.ok() ? std::optional(*pid) : std::nullopt;
  }
  void Operate() {
    const std::optional<Pid> from = Account(kAccounts - 1);
    const std::optional<Pid> partner = Account(kAccounts - 1);
    const std::optional<Pid> to = Account();
    if (!from || !partner || !to) return world_.Turn();
    switch (random_.Next() % 8) {
      case 0: {
        if (bits_ == kMostDeposits) return;
        auto deposit = std::make_shared<Deposit>(Deposit{NewBit(), *to});
        deposits_.push_back(deposit);
        deposit->told = SendDeposit(*deposit);
        return;
      }
      case 1:
        return DepositTogether();
      case 6: {
        if (bits_ == kMostDeposits) return;
        auto called = std::make_shared<Called>(Called{NewBit(), *to});
        called_.push_back(called);
        called->reply = CallDeposit(*called);
        return;
      }
      case 7:
        // Another impatient client.
        if (!called_.empty()) {
          static_cast<void>(
              CallDeposit(*called_[random_.Next() % called_.size()]));
        }
        return;
      case 4:
        // An impatient client.
        if (deposits_.empty()) return;
        static_cast<void>(
            SendDeposit(*deposits_[random_.Next() % deposits_.size()]));
        return;
      case 5:
        tallies_.push_back(SubmitTally(tallies_.size()));
        return;
      case 2:
        world_.Send(*from, "pay", FormatPid(*partner) + " 1000");
        return;
      default:
        // The last account takes no part in payments, so its balance shows the
        // deposits that it had.
        if (const auto last = world_.runtime().names.Find(
                Owner::kNobody, NameOf(kAccounts - 1));
            last.ok()) {
          asked_.push_back(world_.Ask(*last));
        }
    }
  }
  uint64_t NewBit() {
    const uint64_t bit = uint64_t{1} << bits_++;
    sent_ |= bit;
    return bit;
  }
  // As a stream does: all records are reserved together, and all deposits are
  // acknowledged at once.
  void DepositTogether() {
    auto batch = world_.NewBatch();
    auto together = std::make_shared<Together>();
    for (uint64_t i = 0; i < 3 && bits_ < kMostDeposits; ++i) {
      const uint64_t bit = NewBit();
      together_bits_ |= bit;
      const absl::Status added = batch->Add(
          Owner::kAny, *Account(), {"add", {std::to_string(bit), ""}}, i);
      if (added.ok()) together->bits |= bit;
    }
    bool all_sent = true;
    const uint64_t position = world_.Send(
        *batch, [&](uint64_t, const absl::Status&) { all_sent = false; });
    if (!all_sent) return;
    together_.push_back(together);
    world_.runtime().WhenDurable(position,
                                 [together] { together->is_durable = true; });
  }
  // What the world outside knows when the program has ended.
  void Learn() {
    for (const auto& deposit : deposits_) {
      if (deposit->told->answer.has_value() && deposit->told->answer->ok()) {
        acknowledged_ |= deposit->bit;
      }
    }
    for (const auto& called : called_) {
      if (IsAnswered(*called)) acknowledged_ |= called->bit;
    }
    for (const auto& together : together_) {
      if (together->is_durable) acknowledged_ |= together->bits;
    }
    for (const auto& answer : asked_) {
      if (answer->has_value() && !(**answer).empty() &&
          (**answer).find_first_not_of("0123456789") == std::string::npos) {
        seen_ |= std::stoull(**answer);
      }
    }
  }

  Random random_;
  DurableWorld world_;
  std::vector<Told> opened_;
  std::vector<Told> tallies_;
  std::vector<std::shared_ptr<Deposit>> deposits_;
  std::vector<std::shared_ptr<Called>> called_;
  std::vector<std::shared_ptr<std::optional<std::string>>> asked_;
  size_t bits_ = 0;
  std::vector<std::shared_ptr<Together>> together_;
  uint64_t together_bits_ = 0;
  uint64_t sent_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t seen_ = 0;
};

uint64_t Seeds() {
  const char* const text = std::getenv("ACTORD_DURABLE_SEEDS");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

TEST(CrashSweep, PromisesHoldWhereverTheProgramEnds) {
  const uint64_t seeds = std::max<uint64_t>(1, Seeds());
  const uint64_t stride = Seeds() == 0 ? 3 : 1;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    uint64_t calls = 0;
    {
      Bank whole(seed);
      whole.Run(SimulatedDisk::kNever);
      calls = whole.calls();
      ASSERT_TRUE(whole.Restart(SimulatedDisk::kNever));
      whole.Check();
      whole.Repeat();
    }
    for (uint64_t at = 0; at < calls; at += stride) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " +
                   std::to_string(at));
      Bank bank(seed);
      bank.Run(at);
      // Again in the recovery, twice.
      if (!bank.Restart(at % 7)) {
        bank.Restart(at % 11);
      }
      ASSERT_TRUE(bank.Restart(SimulatedDisk::kNever));
      bank.Check();
      bank.Repeat();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace actord::runtime
