// soak: the process types of the soak, which keep books of what they take.
// Built in two versions from this one source.
//
// A number is a text "CLIENT:COUNT", which no two messages share. Books are a
// text "taken=EVENTS books=CLIENT:1-5,7;CLIENT:3": how many messages and calls
// a receiver has taken, and their numbers.
#include <actord/commands.h>
#include <actord/coroutine.h>
#include <actord/plugin.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace {

struct Number {
  uint64_t client = 0;
  uint64_t count = 0;
};

// nullopt: the text is not a number, such as that of "stop".
std::optional<Number> ParseNumber(std::string_view text) {
  Number number;
  const char* const end = text.data() + text.size();
  const auto client = std::from_chars(text.data(), end, number.client);
  if (client.ec != std::errc() || client.ptr == end || *client.ptr != ':') {
    return std::nullopt;
  }
  const auto count = std::from_chars(client.ptr + 1, end, number.count);
  if (count.ec != std::errc() || count.ptr != end) return std::nullopt;
  return number;
}

// Numbers with how often each was taken; a number that was taken twice is
// written twice.
class Books {
 public:
  void Take(const Number& number) { ++taken_[number.client][number.count]; }
  void Clear() { taken_.clear(); }

  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const auto& [client, counts] : taken_) {
      if (!text.empty()) text += ';';
      text += std::to_string(client) + ':';
      AddRanges(counts, text);
    }
    return text;
  }

  // Reads what Text has written.
  void Read(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::string part;
    while (std::getline(in, part, ';')) {
      const size_t colon = part.find(':');
      if (colon == std::string::npos) continue;
      auto& counts = taken_[std::stoull(part.substr(0, colon))];
      std::istringstream ranges(part.substr(colon + 1));
      std::string range;
      while (std::getline(ranges, range, ',')) AddRange(range, counts);
    }
  }

 private:
  using Counts = std::map<uint64_t, uint64_t>;

  static void AddRanges(const Counts& counts, std::string& text) {
    for (auto from = counts.begin(); from != counts.end();) {
      auto last = from;
      auto next = std::next(from);
      while (next != counts.end() && next->first == last->first + 1 &&
             next->second == from->second) {
        last = next++;
      }
      for (uint64_t times = 0; times < from->second; ++times) {
        if (text.back() != ':') text += ',';
        text += std::to_string(from->first);
        if (last != from) text += '-' + std::to_string(last->first);
      }
      from = next;
    }
  }

  static void AddRange(const std::string& range, Counts& counts) {
    const size_t dash = range.find('-');
    const uint64_t first = std::stoull(range.substr(0, dash));
    const uint64_t last =
        dash == std::string::npos ? first : std::stoull(range.substr(dash + 1));
    for (uint64_t count = first; count <= last; ++count) ++counts[count];
  }

  std::map<uint64_t, Counts> taken_;
};

// Takes messages "m" with a number. Passes messages "via", a number and a PID,
// on to that process as "m". "stop" ends it with its books. The calls "books"
// and "forget" are answered with the books; "forget" then empties them. A flaky
// one throws, fails or ends at random; the text of its end has its books, too.
// Now and then it blocks until a sleep has completed, and messages wait in its
// mailbox. An upgrade in between makes it step; it still ends only after the
// sleep, so that each yield of a receiver completes.
//
// A durable soak.receiver is kept as an image, a durable soak.replayer by
// replay.
template <actord::Durability kKind>
class Receiver : public actord::Process {
 public:
  static constexpr actord::Durability kDurability = kKind;
  static constexpr bool kIsImage = kKind == actord::Durability::kImage;
  static constexpr const char* kName =
      kIsImage ? "soak.receiver" : "soak.replayer";
  static constexpr const char* kDoc = "Keeps books of its messages.";
  static constexpr actord::Method kMethods[] = {
      {"steady", "Ends when it is told to."},
      {"flaky", "Ends at random, once in as many messages as its input says."},
  };

  actord::Status Init(std::string_view method, const actord::Payload& input) {
    if (method != "flaky") return {};
    const std::string_view text = input.bytes;
    const auto read =
        std::from_chars(text.data(), text.data() + text.size(), once_in_);
    if (read.ec == std::errc() && once_in_ > 0) return {};
    return {actord::Code::kInvalidArgument, "its input is a number above 0"};
  }

  [[nodiscard]] actord::SnapshotResult Snapshot() const {
    // An image is needed after each step; one of a replay type may be later.
    if (sleep_ != 0 && !kIsImage) return actord::SnapshotResult::NotNow();
    return std::to_string(once_in_) + ' ' + std::to_string(taken_) + ' ' +
           std::to_string(sleep_) + ' ' + (stop_ ? '1' : '0') + ' ' +
           books_.Text();
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
    std::istringstream text{std::string(from.snapshot.bytes)};
    std::string books;
    if (!(text >> once_in_ >> taken_ >> sleep_ >> stop_)) {
      return {actord::Code::kInvalidArgument, "no receiver"};
    }
    // False if the sleep has completed, and the completion is on its way.
    if (sleep_ != 0) static_cast<void>(context.AdoptYield(sleep_));
    text >> books;
    books_.Read(books);
    return {};
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    Books passed_on;
    bool end = false;
    for (const actord::Event event : events) {
      if (event.is_completion()) {
        sleep_ = 0;
        end = out.random() % 3 == 0;
      }
      if (!event.is_message()) continue;
      ++taken_;
      if (once_in_ > 0 && out.random() % once_in_ == 0) end = true;
      if (event.call() != 0) {
        out.Reply(event.call(), actord::Payload::Text(Text()));
        if (event.topic() == "forget") books_.Clear();
      } else if (event.topic() == "stop") {
        stop_ = true;
      } else if (event.topic() == "via") {
        PassOn(event.payload().bytes, out, passed_on);
      } else if (const auto number = ParseNumber(event.payload().bytes)) {
        books_.Take(*number);
      }
    }
    if (sleep_ != 0) return out.Block();
    if (stop_) return out.Done(actord::Payload::Text(Text()));
    if (end) return End(passed_on, out);
    if (once_in_ > 0 && !events.empty() && out.random() % kBlocksOnceIn == 0) {
      sleep_ = out.Yield(actord::commands::Sleep(kBlocked));
      out.Block();
    }
  }

 private:
  static constexpr uint64_t kBlocksOnceIn = 20;  // steps
  static constexpr std::chrono::milliseconds kBlocked{300};

  void PassOn(std::string_view payload, actord::StepOutput& out,
              Books& passed_on) {
    const std::string_view text = payload.substr(0, payload.find(' '));
    const auto to = out.ParsePid(payload.substr(text.size() + 1));
    const auto number = ParseNumber(text);
    if (!to || !number) throw std::runtime_error("not a number and a PID");
    passed_on.Take(*number);
    out.Send(*to, "m", actord::Payload::Text(text));
  }

  void End(const Books& passed_on, actord::StepOutput& out) {
    const uint64_t how = out.random() % 3;
    if (how == 0) return out.Done(actord::Payload::Text(Text()));
    // A step that fails or throws has no effect, so nothing is passed on.
    books_.Read(passed_on.Text());
    if (how == 1) throw std::runtime_error(Text());
    out.Fail(actord::Code::kAborted, Text());
  }

  [[nodiscard]] std::string Text() const {
    return "taken=" + std::to_string(taken_) + " books=" + books_.Text() + ' ';
  }

  uint64_t once_in_ = 0;  // 0: it is steady
  uint64_t taken_ = 0;
  actord::Tag sleep_ = 0;  // 0: it does not sleep
  bool stop_ = false;      // it ends after its sleep
  Books books_;
};

// Its input is a number and the PID of a receiver. Sends its number there,
// yields it as soak.work and ends with "NUMBER RESULT".
class Job : public actord::Process {
 public:
  static constexpr const char* kName = "soak.job";
  static constexpr const char* kDoc = "Has remote workers do one task.";
  static constexpr actord::Method kMethods[] = {{"run", "Does one task."}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;

  void Init(std::string_view /*method*/, const actord::Payload& input) {
    const std::string_view text = input.bytes;
    number_ = text.substr(0, text.find(' '));
    receiver_ = text.substr(number_.size() + 1);
  }

  [[nodiscard]] actord::SnapshotResult Snapshot() const {
    return std::to_string(task_) + ' ' + number_ + ' ' + receiver_;
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
    std::istringstream text{std::string(from.snapshot.bytes)};
    if (!(text >> task_ >> number_ >> receiver_)) {
      return {actord::Code::kInvalidArgument, "no job"};
    }
    // False if the task has completed, and the completion is on its way.
    if (task_ != 0) static_cast<void>(context.AdoptYield(task_));
    return {};
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    if (task_ == 0) return Begin(out);
    for (const actord::Event event : events) {
      if (!event.is_completion()) continue;
      const actord::Error error = event.error();
      out.Done(
          actord::Payload::Text(number_ + ' ' +
                                (error ? "error " + std::string(error.message)
                                       : std::string(event.payload().bytes))));
    }
  }

 private:
  void Begin(actord::StepOutput& out) {
    const auto to = out.ParsePid(receiver_);
    if (!to) throw std::runtime_error("not a PID: " + receiver_);
    out.Send(*to, "m", actord::Payload::Text(number_));
    task_ = out.Yield("soak.work", actord::Payload::Text(number_));
  }

  actord::Tag task_ = 0;  // 0: it has not begun
  std::string number_;
  std::string receiver_;
};

// Does what a Job does, as a coroutine: pauses, asks its receiver something,
// and now and then begins again before its task. Its input is as that of a Job;
// a third word stands in the input of its second life.
class Order : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "soak.order";
  static constexpr const char* kDoc = "Has remote workers do one task, slowly.";
  static constexpr actord::Method kMethods[] = {{"run", "Does one task."}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Task<std::string> Main(actord::Context& ctx,
                                 actord::OwnedPayload input) {
    std::istringstream text(input.bytes);
    std::string number, receiver, again;
    text >> number >> receiver >> again;
    const auto to = ctx.ParsePid(receiver);
    if (!to) throw std::runtime_error("not a PID: " + receiver);
    if (again.empty()) {
      ctx.Send(*to, "m", actord::Payload::Text(number));
      co_await ctx.Sleep(Pause(ctx));
      if (ctx.random() % kBeginsAgainOnceIn == 0) {
        ctx.ContinueAs(actord::OwnedPayload(input.bytes + " again"));
        co_return "";
      }
    }
    (co_await ctx.Call(*to, "books", actord::Payload())).value();
    co_await ctx.Sleep(Pause(ctx));
    const auto done =
        co_await ctx.Run("soak.work", actord::Payload::Text(number));
    co_return number + ' ' +
        (done.ok() ? done->bytes
                   : "error " + std::string(done.error().message));
  }

 private:
  static constexpr uint64_t kBeginsAgainOnceIn = 4;
  static constexpr uint64_t kMostMs = 400;

  static std::chrono::milliseconds Pause(const actord::Context& ctx) {
    return std::chrono::milliseconds(ctx.random() % kMostMs);
  }
};

}  // namespace

using ImageReceiver = Receiver<actord::Durability::kImage>;
using ReplayReceiver = Receiver<actord::Durability::kReplay>;
using Types = actord::ProcessTypes<ImageReceiver, ReplayReceiver, Job, Order>;
ACTORD_EXPORT_PLUGIN("soak", VERSION, Types);
