// account: money that moves between processes by messages. Its topics, all with
// a JSON object as the payload:
//
//   credit    {"id": text, "amount": n}             adds the amount
//   transfer  {"id": text, "amount": n, "to": PID}  moves the amount to another
//                                                   account
//   balance                                         changes nothing
//
// A call of any topic is answered with {"balance": n}; a transfer is answered
// when its amount has arrived or was refused. Errors are the answer of a call;
// otherwise they are logged.
//
// The id makes a repetition harmless: an account carries out a credit or a
// transfer of each id once, and answers a repetition as if it had just been
// carried out. It remembers the last 100 ids. The sum of all accounts, and of
// the amounts on their way, stays the same.
//
// Input: {"balance": n}; empty: 0.
//
// The type can be durable: its image is JSON. The image has the balance, the
// transfers that are on their way, and the ids.
#include <actord/excerpt.h>
#include <actord/json.h>
#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using nlohmann::json;

constexpr size_t kRememberedIds = 100;
constexpr size_t kMaxIdBytes = 100;
constexpr size_t kMaxTransfers = 100;
constexpr size_t kMaxPidBytes = 128;
constexpr const char* kPidRule = "the PID of another account";
constexpr int64_t kMaxAmount = 1'000'000'000'000;

// The error of a payload: the field, its value, and which value would be right.
actord::Failure Wrong(const std::string& field, const json* value,
                      const std::string& rule) {
  const std::string is =
      value == nullptr ? "missing" : actord::Excerpt(value->dump(), 64);
  return {actord::Code::kInvalidArgument,
          field + " is " + is + ": it must be " + rule};
}

const json& FieldOf(const json& object, const char* field,
                    const std::string& rule) {
  if (!object.is_object()) throw Wrong("the payload", &object, "an object");
  const auto found = object.find(field);
  if (found == object.end()) throw Wrong(field, nullptr, rule);
  return *found;
}

std::string TextOf(const json& object, const char* field, size_t max_bytes,
                   const std::string& rule) {
  const json& value = FieldOf(object, field, rule);
  const auto* const text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > max_bytes) {
    throw Wrong(field, &value, rule);
  }
  return *text;
}

int64_t AmountOf(const json& object, const char* field, int64_t least) {
  const std::string rule = "a whole number from " + std::to_string(least) +
                           " to " + std::to_string(kMaxAmount);
  const json& value = FieldOf(object, field, rule);
  // Compared as a double, which a number above the range of int64_t fits into.
  const bool fits = value.is_number_integer() &&
                    value.get<double>() <= static_cast<double>(kMaxAmount) &&
                    value.get<int64_t>() >= least;
  if (!fits) throw Wrong(field, &value, rule);
  return value;
}

class Account : public actord::Process {
 public:
  static constexpr const char* kName = "account";
  static constexpr const char* kDoc = "Holds money: credit, transfer, balance.";
  static constexpr actord::Method kMethods[] = {
      {"run", "Begins with the balance of its input."}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    if (input.empty()) return {};
    try {
      balance_ = AmountOf(actord::ParseJson(input).value(), "balance", 0);
    } catch (const actord::Failure& failure) {
      return failure.status();
    }
    return {};
  }

  // A durable process calls it after each step, so the image must be complete
  // at any time: there is no NotNow().
  actord::SnapshotResult Snapshot() const {
    json transfers = json::array();
    for (const auto& [tag, transfer] : transfers_) {
      transfers.push_back(
          {tag, transfer.id, transfer.amount, transfer.asked_by});
    }
    return json{
        {"balance", balance_}, {"done", done_}, {"transfers", transfers}}
        .dump();
  }

  // The yields of the transfers stay after a restart. After an upgrade they
  // stay because Restore adopts them.
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
    try {
      const json image = json::parse(from.snapshot.bytes);
      balance_ = image.at("balance");
      done_ = image.at("done").get<std::deque<std::string>>();
      for (const json& transfer : image.at("transfers")) {
        const actord::Tag tag = transfer.at(0);
        transfers_[tag] = {transfer.at(1), transfer.at(2), transfer.at(3)};
        if (!context.AdoptYield(tag)) {
          return {actord::Code::kDataLoss,
                  "a transfer has no outstanding call"};
        }
      }
    } catch (const json::exception& error) {
      // The library repeats the text that it could not read.
      return {actord::Code::kInvalidArgument,
              actord::Excerpt(error.what(), 256)};
    }
    return {};
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_completion()) OnCompletion(event, out);
      if (!event.is_message()) continue;
      try {
        OnMessage(event, out);
      } catch (const actord::Failure& failure) {
        Refuse(event, failure.status(), out);
      }
    }
  }

 private:
  struct Transfer {
    std::string id;
    int64_t amount = 0;
    actord::CallId asked_by = 0;
  };

  void OnMessage(const actord::Event& event, actord::StepOutput& out) {
    if (event.topic() == "balance") return Answer(event.call(), out);
    if (event.topic() != "credit" && event.topic() != "transfer") {
      Reject(actord::Code::kInvalidArgument,
             "unknown topic '" + actord::Excerpt(event.topic()) +
                 "'; known are credit, transfer, balance");
    }
    const json order = actord::ParseJson(event.payload()).value();
    const std::string id =
        TextOf(order, "id", kMaxIdBytes, "a text of 1 to 100 bytes");
    const int64_t amount = AmountOf(order, "amount", 1);
    if (event.topic() == "credit") {
      Credit(event, id, amount, out);
    } else {
      BeginTransfer(event, id, amount,
                    TextOf(order, "to", kMaxPidBytes, kPidRule), out);
    }
  }

  void Credit(const actord::Event& event, const std::string& id, int64_t amount,
              actord::StepOutput& out) {
    // Each sender has ids of its own.
    const std::string key = "from " + out.FormatPid(event.from()) + " " + id;
    if (!IsDone(key)) {
      if (balance_ > kMaxAmount - amount) {
        Reject(actord::Code::kOutOfRange, "the account is full");
      }
      balance_ += amount;
      Remember(key);
    }
    Answer(event.call(), out);
  }

  void BeginTransfer(const actord::Event& event, const std::string& id,
                     int64_t amount, const std::string& to_text,
                     actord::StepOutput& out) {
    if (IsDone("to " + id)) return Answer(event.call(), out);
    for (const auto& [tag, transfer] : transfers_) {
      if (transfer.id == id) {
        Reject(actord::Code::kUnavailable,
               "this transfer is on its way; ask again");
      }
    }
    const std::optional<actord::Pid> to = out.ParsePid(to_text);
    if (!to || *to == out.self()) {
      const json value = to_text;
      throw Wrong("to", &value, kPidRule);
    }
    if (amount > balance_ || transfers_.size() == kMaxTransfers) {
      Reject(actord::Code::kFailedPrecondition,
             amount > balance_ ? "the balance is too low"
                               : "100 transfers are on their way");
    }
    balance_ -= amount;
    // Without a timeout: only the other account knows whether it has the
    // amount.
    const actord::Tag tag = out.Call(
        *to, "credit", actord::JsonPayload({{"id", id}, {"amount", amount}}),
        {.timeout = actord::Duration::max()});
    transfers_[tag] = {id, amount, event.call()};
  }

  void OnCompletion(const actord::Event& event, actord::StepOutput& out) {
    const auto found = transfers_.find(event.tag());
    if (found == transfers_.end()) return;  // a log line
    const Transfer transfer = found->second;
    transfers_.erase(found);
    if (const actord::Error error = event.error()) {
      // The other account has refused the amount, or has ended without it.
      balance_ += transfer.amount;
      if (transfer.asked_by == 0) return Log(error.message, out);
      return out.ReplyError(transfer.asked_by, error.code, error.message);
    }
    Remember("to " + transfer.id);
    Answer(transfer.asked_by, out);
  }

  [[nodiscard]] bool IsDone(const std::string& key) const {
    return std::find(done_.begin(), done_.end(), key) != done_.end();
  }
  void Remember(std::string key) {
    done_.push_back(std::move(key));
    if (done_.size() > kRememberedIds) done_.pop_front();
  }

  void Answer(actord::CallId call, actord::StepOutput& out) const {
    if (call != 0)
      out.Reply(call, actord::JsonPayload({{"balance", balance_}}));
  }
  // For the parts of OnMessage; Step answers the sender.
  [[noreturn]] static void Reject(actord::Code code, std::string why) {
    throw actord::Failure(actord::Status(code, std::move(why)));
  }
  static void Refuse(const actord::Event& event, const actord::Status& why,
                     actord::StepOutput& out) {
    if (event.call() == 0) return Log(why.message(), out);
    out.ReplyError(event.call(), why.code(), why.message());
  }
  static void Log(std::string_view why, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kWarning, "account: " + std::string(why));
  }

  int64_t balance_ = 0;
  // The ids of the last credits ("from PID id") and transfers ("to id").
  std::deque<std::string> done_;
  // The transfers that are on their way, by the tag of their call.
  std::map<actord::Tag, Transfer> transfers_;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("account", "1.0.0", actord::ProcessTypes<Account>);
