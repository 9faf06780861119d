#include "tests/conformance/stage.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/conformance/words.h"

namespace actord::conformance {
namespace {

Stage* current_stage = nullptr;

std::string TextOf(const Pid& pid) {
  char text[48];
  std::snprintf(text, sizeof(text), "%x.%x.%x.%x", pid.node, pid.incarnation,
                pid.slot, pid.generation);
  return text;
}

}  // namespace

Stage& Stage::Current() {
  if (current_stage == nullptr) std::abort();
  return *current_stage;
}

Stage::Stage(std::string script) : script_(std::move(script)) {
  current_stage = this;
}

Stage::~Stage() { current_stage = nullptr; }

Pid Stage::PidOf(const std::string& name) const {
  const auto found = pids_.find(name);
  return found == pids_.end() ? pids_.at("nobody") : found->second;
}

std::string Stage::NameOf(const Pid& pid) const {
  for (const auto& [name, named] : pids_) {
    if (named == pid) return name;
  }
  return "?";
}

std::string Stage::WithNames(std::string_view text) const {
  std::vector<std::pair<std::string, std::string>> replaced;
  for (const auto& [name, pid] : pids_)
    replaced.emplace_back(TextOf(pid), name);
  // The longer of two names, if one begins with the other.
  std::sort(replaced.begin(), replaced.end(), [](const auto& a, const auto& b) {
    return a.first.size() > b.first.size();
  });
  std::string result(text);
  for (const auto& [pid, name] : replaced) {
    for (size_t at = 0; (at = result.find(pid, at)) != std::string::npos;) {
      result.replace(at, pid.size(), name);
      at += name.size();
    }
  }
  return result;
}

std::string Stage::WithPids(std::string_view text) const {
  std::string result(text);
  for (const auto& [name, pid] : pids_) {
    const std::string tagged = "<" + name + ">";
    for (size_t at = 0; (at = result.find(tagged, at)) != std::string::npos;) {
      result.replace(at, tagged.size(), TextOf(pid));
    }
  }
  return result;
}

std::string Stage::Said(std::string_view text) const {
  if (script_.find(text) != std::string::npos) return std::string(text);
  if (text.find_first_not_of('x') == std::string_view::npos) {
    return Shorten(std::string(text));
  }
  const size_t colon = text.rfind(": ");
  // The runtime adds how the callee has ended, if it knows.
  if (colon == std::string_view::npos ||
      text.find("has ended without a reply") != std::string_view::npos) {
    return "~";
  }
  const std::string_view end = text.substr(colon);
  return script_.find(end.substr(2)) == std::string::npos
             ? "~"
             : "~" + std::string(end);
}

void Stage::Note(const std::string& name, std::string_view what) {
  notes_.emplace_back(name, what);
}

std::string Stage::TakeNotes() {
  std::stable_sort(
      notes_.begin(), notes_.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [name, what] : notes_) {
    text += name + ": " + WithNames(what) + "\n";
  }
  notes_.clear();
  return text;
}

}  // namespace actord::conformance
