// Tests the commands that show texts of a daemon and of its processes: types,
// names, topics, payloads, failures, arguments. No text may act on the
// terminal.
//
// Not among them: the commands that read files (store, token, context, and
// plugin check), and work, whose program writes its texts itself.
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
    yield.set_pid("q-1");
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
    AddOperations();
    Submitted("fail");                  // p-0
    Run({"submit", "echo", kHostile});  // p-1
  }

  // Hostile in each text.
  void AddOperations() {
    FakeDaemon::Operations& all = daemon_.operations;
    v1::ProcessFailure& failure = *all.failures.add_failures();
    failure.set_pid("p-0");
    for (std::string* text :
         {failure.mutable_process_type(), failure.mutable_name(),
          failure.mutable_owner(), failure.mutable_parent_pid(),
          failure.mutable_linked_pid(), failure.mutable_first_cause_pid(),
          failure.mutable_failure()->mutable_message()}) {
      *text = kHostile;
    }
    v1::PendingCall& call = *all.calls.add_calls();
    call.set_pid("q-1");
    call.set_callee_pid("q-2");
    for (std::string* text :
         {call.mutable_process_type(), call.mutable_name(),
          call.mutable_callee_type(), call.mutable_callee_name()}) {
      *text = kHostile;
    }
    v1::QuarantinedProcess& quarantined = *all.quarantine.add_processes();
    quarantined.set_pid("q-3");
    for (std::string* text :
         {quarantined.mutable_process_type(), quarantined.mutable_name(),
          quarantined.mutable_owner(), quarantined.mutable_reason(),
          quarantined.mutable_plugin(), quarantined.mutable_plugin_version(),
          quarantined.mutable_signal()}) {
      *text = kHostile;
    }
    all.tried.add_tried()->set_reason(kHostile);
    all.log.add_lines()->set_text(kHostile);
    v1::RemoteWorker& worker = *all.workers.add_workers();
    worker.set_name(kHostile);
    worker.set_owner(kHostile);
    worker.add_commands(kHostile);
    AddPlugin();
    AddEvents();
  }

  void AddPlugin() {
    v1::PluginVersion& version = *daemon_.operations.plugins.add_plugins();
    v1::Plugin& plugin = *version.mutable_plugin();
    for (std::string* text : {plugin.mutable_name(), plugin.mutable_version(),
                              plugin.mutable_path(), plugin.mutable_sha256()}) {
      *text = kHostile;
    }
    version.add_process_types()->set_name(kHostile);
    v1::LoadPluginResponse& loaded = daemon_.operations.loaded;
    *loaded.mutable_plugin() = plugin;
    loaded.set_replaced_version(kHostile);
    loaded.add_process_types(kHostile);
    loaded.add_commands(kHostile);
  }

  void AddEvents() {
    v1::HistoryEntry& entry = *daemon_.operations.history.add_entries();
    entry.set_kind(v1::HISTORY_KIND_MESSAGE);
    entry.mutable_payload()->set_data(kHostile);
    entry.set_payload_bytes(sizeof(kHostile) - 1);
    v1::Publication& published =
        *daemon_.operations.publications.add_publications();
    published.mutable_payload()->set_data(kHostile);
    published.mutable_payload()->set_content_type(kHostile);
    for (std::string* text :
         {entry.mutable_name(), entry.mutable_detail(), entry.mutable_message(),
          entry.mutable_worker(), entry.mutable_peer_pid(),
          published.mutable_topic(), published.mutable_publisher_pid(),
          published.mutable_owner()}) {
      *text = kHostile;
    }
    // The answer of a process that claims to be a schedule.
    const nlohmann::json state = {
        {"when", kHostile},     {"what", kHostile},
        {"state", kHostile},    {"next", kHostile},
        {"last_run", kHostile}, {"last_error", kHostile},
        {"catch_up", kHostile}, {"last_pid", kHostile},
        {"pid", kHostile},      {"durability", kHostile}};
    for (const char* pid : {"q-1", "@schedule/nightly"}) {
      daemon_.calls[{pid, "show"}] = {state.dump()};
    }
    daemon_.calls[{"p-1", "get"}] = {kHostile};
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
        {"call", "p-1", "--topic", "get"},
        {"failures", "-o", "wide"},
        {"stuck", "--older-than", "0s"},
        {"logs"},
        {"history", "q-1"},
        {"quarantine", "list", "-o", "wide"},
        {"quarantine", "retry", "--all"},
        {"schedule", "list", "-o", "wide"},
        {"schedule", "show", "nightly"},
        {"workers", "-o", "wide"},
        {"plugin", "list", "-o", "wide"},
        {"plugin", "load", "any.so"},
        {"subscribe", "*", "--count", "1", "-o", "wide"},
        // Arguments that are repeated in an error.
        {"describe", kHostile},
        {"await", "p-0", kHostile},
        {"cancel", "p-1", kHostile},
        {"terminate", "p-1", kHostile},
        {"history", "q-1", kHostile},
        {"schedule", kHostile},
        {"complete", "-", "1"},
        {"submit", "--from-file", kHostile},
        {"status", "-o", kHostile},
        {"status", "--timeout", kHostile},
        {kHostile}}) {
    for (const bool terminal : {true, false}) {
      const std::string said = Said(command, terminal);
      const bool is_payload =
          command.back() == "--payload" || command.back() == "--wait" ||
          command.back() == "p-1" || command.back() == "get";
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

TEST_F(HostileText, IsEscapedInEachListForPrograms) {
  for (const std::vector<std::string>& list :
       {std::vector<std::string>{"ps"},
        {"names"},
        {"clients"},
        {"yields"},
        {"dead-letters", "list"},
        {"failures"},
        {"stuck", "--older-than", "0s"},
        {"logs"},
        {"history", "q-1"},
        {"quarantine", "list"},
        {"schedule", "list"},
        {"workers"},
        {"plugin", "list"},
        {"subscribe", "*", "--count", "1"}}) {
    for (const char* format : {"json", "jsonl", "yaml"}) {
      std::vector<std::string> command = list;
      command.insert(command.end(), {"-o", format});
      const std::string written = Run(command).out;
      EXPECT_EQ(FirstControl(written), "") << testing::PrintToString(command);
      EXPECT_THAT(written, HasSubstr("u202e"))
          << testing::PrintToString(command);
    }
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
