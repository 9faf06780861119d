// actorctl history

#include "client/streams/history.h"

#include <actord/text.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct HistoryOptions {
  std::string pid;
  bool follow = false;
  uint32_t payload_bytes = 0;
};

// Unit: characters of a payload and of a message in a table.
constexpr size_t kShownWidth = 80;

// Whether the entry belongs to the step before it.
bool IsPartOfStep(v1::HistoryKind kind) {
  return (kind >= v1::HISTORY_KIND_MESSAGE &&
          kind <= v1::HISTORY_KIND_CANCEL_YIELD) ||
         kind == v1::HISTORY_KIND_PUBLISH || kind == v1::HISTORY_KIND_LOG;
}

// Text as it is, and other bytes as hexadecimal digits.
std::string ShownPayload(const v1::HistoryEntry& entry) {
  std::string_view bytes = entry.payload().data();
  const bool is_cut = bytes.size() < entry.payload_bytes();
  // The cut may have split a character.
  const std::string_view text =
      is_cut ? CutUtf8(bytes, bytes.size() - 1) : bytes;
  std::string shown;
  if (IsUtf8(text)) {
    shown = OneLine(text, kShownWidth);
  } else {
    const std::string hex =
        absl::BytesToHexString({bytes.data(), bytes.size()});
    shown = "0x" + OneLine(hex, kShownWidth);
  }
  if (is_cut || shown.ends_with("...")) {
    absl::StrAppend(&shown, " (", ShortBytes(entry.payload_bytes()), ")");
  }
  return shown;
}

std::string CodeName(int code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

std::string Details(const v1::HistoryEntry& entry) {
  std::vector<std::string> parts;
  const auto add = [&parts](const std::string& text) {
    if (!text.empty()) parts.push_back(OneLine(text, kShownWidth));
  };
  switch (entry.kind()) {
    case v1::HISTORY_KIND_BEGINS:
      add(absl::StrCat(
          "the journal begins at ",
          entry.has_time() ? Rfc3339(ToTime(entry.time())) : "an unknown time",
          ", after step ", entry.step()));
      break;
    case v1::HISTORY_KIND_GAP:
      add("the records up to here have been removed meanwhile");
      break;
    case v1::HISTORY_KIND_UP_TO_HERE:
      add(absl::StrCat("after step ", entry.step()));
      break;
    case v1::HISTORY_KIND_MORE_WAITING:
      add("more events wait in the mailbox");
      break;
    default:
      break;
  }
  if (entry.code() != 0) {
    add(absl::StrCat("FAILED ", CodeName(entry.code()),
                     entry.message().empty() ? "" : ": ", entry.message()));
  } else if (!entry.message().empty()) {
    add(entry.message());
  }
  add(entry.name());
  add(entry.detail());
  if (entry.has_payload() && entry.code() == 0) {
    parts.push_back(ShownPayload(entry));
  } else if (entry.payload_bytes() != 0 && !entry.has_payload()) {
    add(absl::StrCat("(", ShortBytes(entry.payload_bytes()), ")"));
  }
  if (entry.attempts() != 0) add(absl::StrCat("attempt ", entry.attempts()));
  if (!entry.worker().empty()) add("worker " + entry.worker());
  if (entry.has_deadline()) {
    add("until " + Rfc3339(ToTime(entry.deadline())));
  }
  return absl::StrJoin(parts, " ");
}

Item EntryItem(const v1::HistoryEntry& entry) {
  return {.json = [&entry] { return ToJson(entry); },
          .name = [&entry] { return std::to_string(entry.position()); },
          .cells =
              [&entry] {
                return std::vector<std::string>{
                    entry.has_time() ? Rfc3339(ToTime(entry.time())) : "-",
                    entry.step() == 0 ? "-" : std::to_string(entry.step()),
                    (IsPartOfStep(entry.kind()) ? "  " : "") +
                        EnumName(entry.kind()),
                    entry.tag() == 0 ? "-" : std::to_string(entry.tag()),
                    entry.peer_pid().empty() ? "-" : entry.peer_pid(),
                    Details(entry),
                    std::to_string(entry.position())};
              }};
}

ExitStatus RunHistory(Invocation& invocation, const HistoryOptions& options) {
  v1::ReadHistoryRequest request;
  request.set_pid(options.pid);
  request.set_follow(options.follow);
  request.set_max_payload_bytes(options.payload_bytes);
  ListWriter writer(
      invocation.out(), invocation.style(),
      {{.heading = "TIME"},
       {.heading = "STEP", .number = true},
       {.heading = "WHAT"},
       {.heading = "TAG", .number = true},
       {.heading = "PEER"},
       {.heading = "DETAILS"},
       {.heading = "POSITION", .wide_only = true, .number = true}});
  const absl::Status status = ReadHistory(
      invocation.options().endpoint(), request, invocation.Waiting(),
      [&](const v1::ReadHistoryResponse& response) {
        for (const v1::HistoryEntry& entry : response.entries()) {
          writer.Add(EntryItem(entry));
        }
        writer.EndPage();
        invocation.out().flush();
      });
  writer.Finish();
  return status.ok() ? ExitStatus::kDone : invocation.Fail(status);
}

constexpr char kHistoryFooter[] = R"(
Prints the stored history of a durable process, live or ended: each step with its events and
effects, and at the end the commands and events that the process waits for. The store drops
old steps; the first line then says after which step the history begins. A failure has
FAILED in its details. Times are UTC.

The lines have the order of the journal. Below each step stand the events that it has taken,
with the times and positions (-o wide) of their arrival. These are earlier than those of the
step, and may be earlier than those of the line before. To order by time:
-o json | jq 'sort_by(.time)'.

With --follow, prints new lines until the process ends or you interrupt it (130).

Examples:
  actorctl history "$pid"
  actorctl history @orders/17 --follow
  actorctl history "$pid" -o jsonl | jq 'select(.code != 0)'
)";

}  // namespace

void AddHistory(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = app.add_subcommand(
      "history", "Show the steps, events and effects of a durable process");
  command->footer(kHistoryFooter);
  command->add_option("PID", options->pid, "Process")
      ->required()
      ->type_name("");
  command->add_flag("--follow", options->follow,
                    "Go on with new lines until the process ends");
  command
      ->add_option("--payload-bytes", options->payload_bytes,
                   "Bytes of each payload, at most 65536 [1024]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunHistory(invocation, *options);
    };
  });
}

}  // namespace actord::client
