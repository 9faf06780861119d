// A coroutine process with tasks that note what becomes of them.
#pragma once

#include <actord/task_group.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {

class TaskGroupTest : public CoroutineTest {
 protected:
  // A task that notes its begin and its end, and runs a command in between.
  // Throws the error of the command.
  Task<> Job(Context& ctx, std::string name) {
    const Destroyed destroyed(trace_, name);
    trace_.push_back(name);
    (co_await ctx.Run(name)).value();
    trace_.push_back(name + " done");
  }
  // Same as Job, but cleans up with a command when it is cancelled.
  Task<> TidyJob(Context& ctx, std::string name) {
    bool is_cancelled = false;
    try {
      (co_await ctx.Run(name)).value();
    } catch (const Cancelled&) {
      is_cancelled = true;
    }
    if (!is_cancelled) co_return;
    (co_await ctx.Run("tidy " + name)).value();
    trace_.push_back(name + " is tidy");
    throw Cancelled("from " + name);
  }
  static Task<> Nothing() { co_return; }
  static Task<> Throw(std::string what) {
    throw std::runtime_error(what);
    co_return;
  }

  // The commands of the last step, by their names.
  Tag TagOf(std::string_view command) {
    for (const auto& [name, tag] : tags_) {
      if (name == command) return tag;
    }
    ADD_FAILURE() << "no command " << command;
    return 0;
  }
  int32_t Note(int32_t verdict) {
    for (const auto& yield : process().yields) {
      tags_.emplace_back(yield.command, yield.tag);
    }
    return verdict;
  }
  int32_t Begin(ScriptCoroutine::Body body) {
    return Note(Start(std::move(body)));
  }
  int32_t End(std::string_view command, Code code = Code::kOk) {
    return Note(Complete(TagOf(command), Payload::Text("why"), code));
  }
  std::vector<std::string> Take() { return std::exchange(trace_, {}); }

  std::vector<std::pair<std::string, Tag>> tags_;
};

}  // namespace actord
