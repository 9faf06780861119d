// The same scripts in both runtimes: the harness for authors' tests, and the
// real one. The answers in the files are those of the real one;
// ACTORD_CONFORMANCE=renew writes them anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/driver.h"
#include "tests/conformance/script.h"

namespace actord::conformance {
namespace {

constexpr char kDirectory[] = ACTORD_TEST_CONFORMANCE_DIRECTORY;
constexpr uint64_t kSeeds = 20;

std::string Read(const std::string& name) {
  std::ifstream in(std::filesystem::path(kDirectory) / (name + ".txt"));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The names of all files, without ".txt".
std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kDirectory)) {
    if (entry.path().extension() == ".txt") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Conformance : public ::testing::TestWithParam<std::string> {
 protected:
  const ScriptFile file_ = Split(Read(GetParam()));
};

TEST_P(Conformance, RuntimeGivesTheAnswers) {
  const char* const renew = std::getenv("ACTORD_CONFORMANCE");
  const bool is_renewed =
      renew != nullptr && std::string_view(renew) == "renew";
  std::string text = file_.opening;
  for (const Script& script : file_.scripts) {
    for (const int workers : {1, 2}) {
      const std::string played =
          Play(script, [&] { return MakeRuntimeDriver(workers); });
      if (!is_renewed) {
        EXPECT_EQ(played, script.text)
            << script.name << ", with " << workers << " workers";
      } else if (workers == 1) {
        text += played;
      }
    }
  }
  if (is_renewed) {
    std::ofstream(std::filesystem::path(kDirectory) / (GetParam() + ".txt"))
        << text;
  }
}

TEST_P(Conformance, HarnessGivesTheSame) {
  for (const Script& script : file_.scripts) {
    bool is_same = true;
    for (uint64_t seed = 1; seed <= kSeeds && is_same; ++seed) {
      const std::string played =
          Play(script, [&] { return MakeHarnessDriver(seed); });
      is_same = played == script.text;
      EXPECT_EQ(played, script.text) << script.name << ", with seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, Conformance, ::testing::ValuesIn(Names()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

TEST(ConformanceScripts, HaveUniqueNamesAndAreNotTooFew) {
  std::set<std::string> names;
  size_t count = 0;
  for (const std::string& file : Names()) {
    for (const Script& script : Split(Read(file)).scripts) {
      names.insert(script.name);
      ++count;
    }
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_GE(count, 60u);
}

}  // namespace
}  // namespace actord::conformance
