// A harness with the plugin of a recipe.
#pragma once

#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace actord::cookbook_test {

using namespace std::chrono_literals;
using actord::testing::EndKind;
using actord::testing::ForEachSeed;
using actord::testing::Harness;
using actord::testing::HarnessOptions;

inline std::string FileOf(const std::string& recipe) {
  return std::string(ACTORD_COOKBOOK_DIRECTORY) + "/cookbook_" + recipe + ".so";
}

class Kitchen : public Harness {
 public:
  explicit Kitchen(const std::string& recipe, uint64_t seed = 1)
      : Harness(FileOf(recipe).c_str(), {.seed = seed}) {}
};

}  // namespace actord::cookbook_test
