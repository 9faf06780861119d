// wordcount: counts words with parallel children and merges their counts. A
// word is a run of ASCII letters; case does not count, as in
//   tr -cs 'A-Za-z' '\n' | tr A-Z a-z | sort | uniq -c | sort -k1,1nr -k2
//
// Input: the text itself, or as JSON {"path": text} or {"text": text}, with
// "top" (10) and "chunk_bytes" (65536). Result: {"words": n, "distinct": n,
// "top": [{"word": w, "count": n}, …]}, most frequent first; words with the
// same count are sorted alphabetically.
#include <actord/commands.h>
#include <actord/excerpt.h>
#include <actord/json.h>
#include <actord/plugin.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using Counts = std::map<std::string, uint64_t>;

char Lower(char c) { return static_cast<char>(c | 0x20); }
bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }

// A child: counts its input, sends the counts to its parent, and ends.
class Chunk : public actord::Process {
 public:
  static constexpr const char* kName = "wordcount.chunk";
  static constexpr actord::Method kMethods[] = {{"run", "Counts its input."}};

  void Init(std::string_view, actord::Payload in) { text_ = in.bytes; }

  void Step(actord::Events /*events*/, actord::StepOutput& out) {
    Counts counts;
    std::string word;
    for (const char c : text_ + ' ') {
      if (IsLetter(c)) {
        word += Lower(c);
      } else if (!word.empty()) {
        ++counts[std::exchange(word, {})];
      }
    }
    out.Send(out.parent(), "counts", actord::JsonPayload(counts));
    out.Done();
  }

 private:
  std::string text_;
};

class WordCount : public actord::Process {
 public:
  static constexpr const char* kName = "wordcount";
  static constexpr const char* kDoc = "Counts the words of a text or file.";
  static constexpr actord::Method kMethods[] = {{"run", "Counts words."}};

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    text_ = input.bytes;
    if (!input.is_json()) return actord::Status::Ok();
    try {
      const auto json = nlohmann::json::parse(input.bytes);
      path_ = json.value("path", "");
      text_ = json.value("text", "");
      top_ = json.value("top", top_);
      chunk_bytes_ = json.value("chunk_bytes", chunk_bytes_);
    } catch (const nlohmann::json::exception& error) {
      // The library repeats what it could not read.
      return {actord::Code::kInvalidArgument,
              actord::Excerpt(error.what(), 256)};
    }
    if (path_.empty() == text_.empty() || chunk_bytes_ < 1024) {
      return {actord::Code::kInvalidArgument,
              "say either path or text; chunk_bytes is at least 1024"};
    }
    return actord::Status::Ok();
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    // The first step.
    if (children_.empty() && read_ == 0) {
      if (path_.empty()) return Split(text_, out);
      read_ = out.Yield(actord::commands::ReadFile(path_));
      // Only the file's completion matters now.
      return out.Block();
    }
    for (const actord::Event event : events) {
      if (event.is_completion()) return OnCompletion(event, out);
      // Counts each child once, and ignores other senders.
      if (event.is_message() && children_.erase(event.from()) == 1) {
        const auto counts = nlohmann::json::parse(event.payload().bytes);
        for (const auto& [word, count] : counts.items()) {
          counts_[word] += count.get<uint64_t>();
        }
        if (children_.empty()) return out.Done(Result());
      }
    }
  }

 private:
  void OnCompletion(const actord::Event& event, actord::StepOutput& out) {
    if (event.error()) return out.Fail(event.error());
    if (event.tag() == read_) return Split(event.payload().bytes, out);
    out.Fail(actord::Code::kDeadlineExceeded, "a child did not answer");
  }

  void Split(std::string_view text, actord::StepOutput& out) {
    do {
      size_t size = std::min(chunk_bytes_, text.size());
      // Keeps words whole.
      while (size < text.size() && IsLetter(text[size])) ++size;
      const auto piece = actord::Payload::Binary(text.substr(0, size));
      const actord::Pid child = out.Spawn(Chunk::kName, "run", piece);
      if (child.empty()) {
        return out.Fail(actord::Code::kResourceExhausted,
                        "no more processes can be started");
      }
      children_.insert(child);
      text.remove_prefix(size);
    } while (!text.empty());
    // A child that fails sends nothing, so the wait for the children has a
    // limit.
    out.Yield(actord::commands::Sleep(std::chrono::minutes(1)));
  }

  actord::OwnedPayload Result() const {
    std::vector<std::pair<std::string, uint64_t>> words(counts_.begin(),
                                                        counts_.end());
    std::stable_sort(words.begin(), words.end(),
                     [](auto& a, auto& b) { return a.second > b.second; });
    uint64_t total = 0;
    auto top = nlohmann::ordered_json::array();
    for (const auto& [word, count] : words) {
      total += count;
      if (top.size() < top_) top.push_back({{"word", word}, {"count", count}});
    }
    return actord::OwnedPayload::Json(
        nlohmann::ordered_json(
            {{"words", total}, {"distinct", words.size()}, {"top", top}})
            .dump());
  }

  std::string path_, text_;
  size_t top_ = 10, chunk_bytes_ = 64 << 10;
  actord::Tag read_ = 0;
  std::unordered_set<actord::Pid> children_;
  Counts counts_;
};

}  // namespace

ACTORD_EXPORT_PLUGIN("wordcount", "1.0.0",
                     actord::ProcessTypes<WordCount, Chunk>);
