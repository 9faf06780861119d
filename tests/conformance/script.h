// Scripts: commands to a runtime, and its answers.
//
// A file has scripts, each below a line "== NAME". A line is a command, or
// several that are joined by " && ": nothing runs between them, unless one of
// them waits for an answer. script.cc lists the commands. The lines below a
// command that begin with two spaces are its answers. Lines that begin with "#"
// are comments.
//
// Thread-safety: one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/driver.h"

namespace actord::conformance {

struct Script {
  std::string name;
  std::string text;  // with the line of its name
};

struct ScriptFile {
  std::string opening;  // what stands above the first script
  std::vector<Script> scripts;
};

ScriptFile Split(const std::string& text);

// Plays it in a runtime of its own. Returns the script with what came of it: if
// all is as it was, the same text.
std::string Play(const Script& script,
                 const std::function<std::unique_ptr<Driver>()>& make);

}  // namespace actord::conformance
