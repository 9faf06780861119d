#include "tests/fuzz/mutator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace actord::fuzz {
namespace {

constexpr size_t kMaxBytes = 4096;
constexpr size_t kMaxChanges = 8;

}  // namespace

Mutator::Mutator(std::vector<std::string> corpus,
                 std::vector<std::string> words, uint64_t seed)
    : corpus_(std::move(corpus)), words_(std::move(words)), random_(seed) {}

std::string Mutator::Next() {
  std::string text = corpus_[Below(corpus_.size())];
  for (size_t changes = 1 + Below(kMaxChanges); changes > 0; --changes) {
    Change(text);
  }
  text.resize(std::min(text.size(), kMaxBytes));
  return text;
}

void Mutator::Change(std::string& text) {
  const size_t at = Below(text.size() + 1);
  const size_t length = Below(text.size() - at + 1);
  switch (Below(7)) {
    case 0:  // flip a bit
      if (at < text.size()) text[at] ^= static_cast<char>(1 << Below(8));
      break;
    case 1:  // any byte
      text.insert(at, 1, static_cast<char>(Below(256)));
      break;
    case 2:  // remove a piece
      text.erase(at, length);
      break;
    case 3:  // repeat a piece
      text.insert(at, text.substr(at, length));
      break;
    case 4:  // a word
      text.insert(at, words_[Below(words_.size())]);
      break;
    case 5: {  // a piece of another input
      const std::string& other = corpus_[Below(corpus_.size())];
      const size_t from = Below(other.size() + 1);
      text.insert(at, other.substr(from, Below(other.size() - from + 1)));
      break;
    }
    default:  // an extreme byte
      if (at < text.size()) text[at] = Below(2) == 0 ? '\0' : '\xff';
      break;
  }
}

void Fuzz(const std::vector<std::string>& corpus,
          const std::vector<std::string>& words, uint64_t seed, int rounds,
          const std::function<void(const std::string& input)>& target) {
  for (const std::string& input : corpus) target(input);
  Mutator mutator(corpus, words, seed);
  for (int i = 0; i < rounds; ++i) {
    const std::string input = mutator.Next();
    target(input);
    // A failed expectation is worth seeing once, with the input that made it.
    ASSERT_FALSE(testing::Test::HasFailure())
        << "seed " << seed << ", round " << i << ", input "
        << testing::PrintToString(input);
  }
}

}  // namespace actord::fuzz
