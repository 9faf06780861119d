// Seeded mutations of known inputs: a fuzzer that needs no instrumentation and
// finds the same again from the same seed.
//
// Thread-safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace actord::fuzz {

class Mutator {
 public:
  // `corpus` must not be empty; `words` are pieces worth inserting.
  Mutator(std::vector<std::string> corpus, std::vector<std::string> words,
          uint64_t seed);

  // An input of the corpus after one to eight changes, at most 4096 bytes.
  std::string Next();

 private:
  void Change(std::string& text);
  size_t Below(size_t limit) { return random_() % limit; }

  const std::vector<std::string> corpus_;
  const std::vector<std::string> words_;
  std::mt19937_64 random_;
};

// Feeds the corpus as it is and then `rounds` mutations of it.
void Fuzz(const std::vector<std::string>& corpus,
          const std::vector<std::string>& words, uint64_t seed, int rounds,
          const std::function<void(const std::string& input)>& target);

}  // namespace actord::fuzz
