// A runtime with commands whose yields a test looks at.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/runtime_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {

class YieldsTest : public RuntimeTest {
 protected:
  void StartWith(RuntimeOptions options = {}) {
    if (options.workers == 0) options.workers = GetParam();
    options.external_commands = {"ext.*", "exact"};
    // Completes after as many milliseconds as its payload says.
    Add("sleep", ACTORD_HANDLER_INLINE, [this](actord::testing::Call& call) {
      const uint64_t ms = std::stoull(std::string(call.bytes()));
      runtime_->host()->complete_after(runtime_->host(), call.Defer(),
                                       ms * 1'000'000);
      return ACTORD_DEFERRED;
    });
    Add("echo", ACTORD_HANDLER_INLINE, [](actord::testing::Call& call) {
      call.Reply(ACTORD_OK, "draft");
      call.Reply(ACTORD_OK, call.bytes());
      return ACTORD_HANDLED;
    });
    Add("pooled", ACTORD_HANDLER_POOLED, [](actord::testing::Call& call) {
      call.Reply(ACTORD_OK, call.bytes());
      return ACTORD_HANDLED;
    });
    Start(options);
  }

  void Add(std::string command, uint32_t mode,
           actord::testing::ScriptHandler::Function handle) {
    handlers_.push_back(std::make_unique<actord::testing::ScriptHandler>(
        std::move(command), mode, std::move(handle)));
    ASSERT_TRUE(catalog_
                    .AddCommand(handlers_.back()->descriptor(),
                                handlers_.back().get(), "test")
                    .ok());
  }

  // How one yield ended: "OK:payload", with the content type if there is one,
  // or the code's number and the text.
  static std::string TextOf(const Event& event) {
    std::string text(event.payload().bytes);
    if (event.error()) {
      return std::to_string(static_cast<int>(event.error().code)) + ":" + text;
    }
    if (!event.payload().content_type.empty()) {
      text.append(" (").append(event.payload().content_type).append(")");
    }
    return "OK:" + text;
  }

  // Runs a process that yields once and returns how that ended.
  std::string YieldOnce(const std::string& command,
                        const std::string& payload = "",
                        YieldOptions options = {}) {
    const Script script{.step = [&](Events events, StepOutput& out) {
      if (events.empty()) {
        out.Yield(command, payload, options);
        out.Block();
        return;
      }
      EXPECT_EQ(events.size(), 1u);
      EXPECT_TRUE(events[0].is_completion());
      out.Done(TextOf(events[0]));
    }};
    return MustAwait(MustSubmit(script)).result.bytes;
  }

  std::vector<std::unique_ptr<actord::testing::ScriptHandler>> handlers_;
};

}  // namespace actord::runtime
