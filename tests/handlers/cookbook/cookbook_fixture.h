// A harness with the plugin of a recipe.
#pragma once

#include <actord/testing.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
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

// A plugin beside that of the harness, to look at or to upgrade to.
class Shelf {
 public:
  explicit Shelf(const std::string& recipe)
      : file_(dlopen(FileOf(recipe).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (file_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~Shelf() { dlclose(file_); }
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  // The first process type of the plugin. Ends with the Shelf.
  [[nodiscard]] const actord_process_type& type() const {
    const void* const plugin = dlsym(file_, ACTORD_PLUGIN_SYMBOL);
    if (plugin == nullptr) throw std::runtime_error("not a plugin");
    return *static_cast<const actord_plugin_info*>(plugin)->process_types[0];
  }

 private:
  void* const file_;
};

}  // namespace actord::cookbook_test
