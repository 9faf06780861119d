// Tests every command that shows texts of others: types, names, topics,
// payloads, failures, arguments. No text may act on the terminal.
#include <actord/text.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/output/text.h"
#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"
#include "tests/client/streams/watch_fixture.h"

namespace actord::client {
namespace {

using testing::HasSubstr;

// One character of each kind: C0, DEL, C1, a mark of direction, a separator,
// a noncharacter.
constexpr char kHostile[] =
    "(\x1b[2J\x07\x7f\u0085\u009b2J\u061c\u200f\u202e\u2028\u2029\u2066\ufeff.";
constexpr char kShown[] = "(?[2J????2J???????.";

// The first character that acts on a terminal, other than a line end.
std::string FirstControl(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) return "no UTF-8";
    const char32_t code_point = Utf8CodePoint(text.substr(0, length));
    if (code_point != '\n' && IsTerminalControl(code_point)) {
      return std::to_string(static_cast<unsigned>(code_point));
    }
    text.remove_prefix(length);
  }
  return "";
}

class HostileText : public Commands {
 protected:
  HostileText() {
    v1::Process& process = daemon_.processes.emplace_back();
    process.set_pid("q-1");
    process.set_process_type(kHostile);
    process.set_method(kHostile);
    process.set_state(v1::PROCESS_STATE_IDLE);
    v1::Name& name = daemon_.names.emplace_back();
    name.set_name(kHostile);
    name.set_pid("q-1");
    v1::Yield& yield = daemon_.yields.emplace_back();
    yield.set_token("t-1");
    yield.set_command(kHostile);
    yield.mutable_payload()->set_data(kHostile);
    v1::DeadLetter& letter = daemon_.dead_letters.emplace_back();
    letter.set_id("d-1");
    letter.set_topic(kHostile);
    letter.mutable_payload()->set_data(kHostile);
    letter.mutable_payload()->set_content_type(kHostile);
    daemon_.status.add_process_types()->set_name(kHostile);
    daemon_.clients.emplace_back().mutable_token()->set_name(kHostile);
    daemon_.failure_message = kHostile;
    v1::WatchProcessesResponse ended = Happened("t1", {"!q-1"});
    ended.mutable_events()
        ->mutable_events(0)
        ->mutable_ended()
        ->mutable_failure()
        ->set_message(kHostile);
    daemon_.watches = {{ended}};
    Submitted("fail");                  // p-0
    Run({"submit", "echo", kHostile});  // p-1
  }

  // Standard output and standard error of a run.
  std::string Said(const std::vector<std::string>& arguments,
                   bool terminal = true) {
    const CliResult result = Run(arguments, {.variables = {{"NO_COLOR", "1"}},
                                             .out_is_terminal = terminal,
                                             .err_is_terminal = terminal});
    return result.out + result.err;
  }
};

TEST_F(HostileText, IsShownWithoutControlCharacters) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"ps", "-o", "wide"},
        {"describe", "q-1"},
        {"names"},
        {"clients", "-o", "wide"},
        {"tree", "-o", "wide"},
        {"yields", "-o", "wide"},
        {"dead-letters", "list", "-o", "wide"},
        {"dead-letters", "show", "d-1"},
        {"dead-letters", "show", "d-1", "--payload"},
        {"status"},
        {"top", "--once", "--interval", "100ms"},
        {"watch", "--count", "1"},
        {"await", "p-0"},
        {"await", "p-1"},
        {"submit", "fail", "--wait"},
        {"submit", "echo", kHostile, "--wait"},
        {"submit", kHostile},
        // Arguments that are repeated in an error.
        {"describe", kHostile},
        {"await", "p-0", kHostile},
        {"cancel", "p-1", kHostile},
        {"submit", "--from-file", kHostile},
        {"status", "-o", kHostile},
        {"status", "--timeout", kHostile},
        {kHostile}}) {
    for (const bool terminal : {true, false}) {
      const std::string said = Said(command, terminal);
      const bool is_payload = command.back() == "--payload" ||
                              command.back() == "--wait" ||
                              command.back() == "p-1";
      if (!terminal && is_payload) continue;  // written byte for byte
      EXPECT_EQ(FirstControl(said), "") << testing::PrintToString(command);
      EXPECT_THAT(said, HasSubstr(kShown)) << testing::PrintToString(command);
    }
  }
}

TEST_F(HostileText, IsEscapedWithoutLossForPrograms) {
  for (const char* format : {"json", "jsonl", "yaml"}) {
    const std::string written =
        Run({"dead-letters", "show", "d-1", "-o", format}).out;
    EXPECT_EQ(FirstControl(written), "") << format;
    if (std::string(format) == "yaml") continue;
    const auto letter = nlohmann::json::parse(written);
    EXPECT_EQ(letter["topic"], kHostile);
    EXPECT_EQ(letter["payload"]["text"], kHostile);
  }
}

TEST_F(HostileText, IsWrittenByteForByteIntoAPipe) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"await", "p-1"},
        {"dead-letters", "show", "d-1", "--payload"}}) {
    EXPECT_EQ(Run(command).out, kHostile);
  }
}

}  // namespace
}  // namespace actord::client
