// actorctl dead-letters

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct ListOptions {
  std::string to;
  std::string reason;
  bool newest_first = false;
  uint64_t limit = 0;
};

struct ShowOptions {
  std::string id;
  bool payload = false;
};

struct ResendOptions {
  std::vector<std::string> ids;
  std::string to;
};

struct DropOptions {
  std::vector<std::string> ids;
  ListOptions all;
  bool is_all = false;
};

// Unit: characters of the payload.
constexpr size_t kPreviewWidth = 60;

const std::map<std::string, v1::DeadLetterReason>& Reasons() {
  static const auto& reasons = *new std::map<std::string, v1::DeadLetterReason>{
      {"unknown-process", v1::DEAD_LETTER_REASON_UNKNOWN_PROCESS},
      {"ended", v1::DEAD_LETTER_REASON_ENDED},
      {"mailbox-full", v1::DEAD_LETTER_REASON_MAILBOX_FULL},
      {"dropped-at-end", v1::DEAD_LETTER_REASON_DROPPED_AT_END}};
  return reasons;
}

std::string Sender(const v1::DeadLetter& letter) {
  return letter.from_pid().empty() ? "-" : letter.from_pid();
}

v1::ListDeadLettersRequest RequestOf(const ListOptions& options) {
  v1::ListDeadLettersRequest request;
  request.set_to_pid(options.to);
  if (!options.reason.empty()) request.set_reason(Reasons().at(options.reason));
  request.set_newest_first(options.newest_first);
  return request;
}

template <typename Show, typename EndPage>
absl::Status ForEachLetter(Invocation& invocation, const ListOptions& options,
                           const Show& show, const EndPage& end_page) {
  return ForEachElement(
      RequestOf(options), options.limit,
      [&](const v1::ListDeadLettersRequest& page) {
        return invocation.client().ListDeadLetters(page, invocation.Quick());
      },
      [](const v1::ListDeadLettersResponse& response) -> const auto& {
        return response.dead_letters();
      },
      show, end_page);
}

Item LetterItem(const v1::DeadLetter& letter) {
  return {.json = [&letter] { return ToJson(letter); },
          .name = [&letter] { return letter.id(); },
          .cells =
              [&letter] {
                return std::vector<std::string>{
                    letter.id(),
                    ShortDuration(absl::Now() - ToTime(letter.create_time())),
                    EnumName(letter.reason()),
                    letter.to_pid(),
                    OneLine(letter.topic(), kPreviewWidth),
                    ShortBytes(letter.payload_bytes()),
                    Sender(letter),
                    Preview(letter.payload(), kPreviewWidth)};
              }};
}

ExitStatus List(Invocation& invocation, const ListOptions& options) {
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "ID"},
                     {.heading = "AGE", .number = true},
                     {.heading = "REASON"},
                     {.heading = "TO"},
                     {.heading = "TOPIC"},
                     {.heading = "SIZE", .number = true},
                     {.heading = "FROM", .wide_only = true},
                     {.heading = "PAYLOAD", .wide_only = true}});
  const absl::Status status = ForEachLetter(
      invocation, options,
      [&](const v1::DeadLetter& letter) { writer.Add(LetterItem(letter)); },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  invocation.SayEmpty(writer, "there is no dead letter, or none matches");
  return ExitStatus::kDone;
}

ExitStatus ShowLetter(Invocation& invocation, const ShowOptions& options) {
  v1::GetDeadLetterRequest request;
  request.set_id(options.id);
  const auto response =
      invocation.client().GetDeadLetter(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const v1::DeadLetter& letter = response->dead_letter();
  if (options.payload) {
    WriteRaw(invocation.out(), invocation.style(), letter.payload());
    return ExitStatus::kDone;
  }
  const absl::Time created = ToTime(letter.create_time());
  const std::string& type = letter.payload().content_type();
  WriteOne(invocation.out(), invocation.style(), ToJson(letter), letter.id(),
           [&] {
             WriteFields(
                 invocation.out(),
                 {{"ID", letter.id()},
                  {"Reason", EnumName(letter.reason())},
                  {"Since", Rfc3339(created) + " (" +
                                ShortDuration(absl::Now() - created) + " ago)"},
                  {"From", Sender(letter)},
                  {"Owner", letter.owner().empty() ? "-" : letter.owner()},
                  {"To", letter.to_pid()},
                  {"Topic", OneLine(letter.topic())},
                  {"Call", letter.is_call() ? "yes" : "no"},
                  {"Content type",
                   type.empty() ? "application/json" : OneLine(type)},
                  {"Size", ShortBytes(letter.payload_bytes())},
                  {"Payload", Preview(letter.payload(), kPreviewWidth)}});
           });
  return ExitStatus::kDone;
}

ExitStatus Resend(Invocation& invocation, const ResendOptions& options) {
  ExitStatus result = ExitStatus::kDone;
  ListWriter writer(invocation.out(), invocation.style(), {});
  for (const std::string& id : options.ids) {
    v1::ResendDeadLetterRequest request;
    request.set_id(id);
    request.set_to(options.to);
    const auto response =
        invocation.client().ResendDeadLetter(request, invocation.Quick());
    if (!response.ok()) {
      const ExitStatus failed = invocation.Fail(
          response.status(),
          options.ids.size() > 1 ? "dead letter " + id : std::string());
      if (result == ExitStatus::kDone) result = failed;
      if (failed == ExitStatus::kInterrupted ||
          failed == ExitStatus::kUnavailable) {
        break;
      }
    } else if (!invocation.ForPeople()) {
      writer.Add({.json =
                      [&] {
                        return Json{{"id", id},
                                    {"pid", response->pid()},
                                    {"receipt", EnumName(response->receipt())}};
                      },
                  .name = [&] { return id; },
                  .cells = nullptr});
    }
  }
  writer.Finish();
  return result;
}

// The dead letters that match the filters at this moment.
absl::StatusOr<std::vector<std::string>> AllIds(Invocation& invocation,
                                                const ListOptions& options) {
  std::vector<std::string> ids;
  const absl::Status status = ForEachLetter(
      invocation, options,
      [&](const v1::DeadLetter& letter) { ids.push_back(letter.id()); }, [] {});
  if (!status.ok()) return status;
  return ids;
}

ExitStatus Drop(Invocation& invocation, const DropOptions& options) {
  absl::StatusOr<std::vector<std::string>> ids = options.ids;
  if (options.is_all) ids = AllIds(invocation, options.all);
  if (!ids.ok()) return invocation.Fail(ids.status());
  if (ids->empty() && !options.is_all) {
    return invocation.Fail(UsageError("dead-letters drop: ID or --all"));
  }
  uint64_t dropped = 0;
  for (size_t i = 0; i < ids->size(); i += kMaxPageSize) {
    v1::DropDeadLettersRequest request;
    const size_t end = std::min<size_t>(i + kMaxPageSize, ids->size());
    for (size_t j = i; j < end; ++j) request.add_ids((*ids)[j]);
    const auto response =
        invocation.client().DropDeadLetters(request, invocation.Quick());
    if (!response.ok()) return invocation.Fail(response.status());
    dropped += response->dropped_count();
  }
  WriteOne(invocation.out(), invocation.style(),
           Json{{"dropped_count", dropped}}, std::to_string(dropped),
           [&] { invocation.out() << WithThousands(dropped) << " dropped\n"; });
  return ExitStatus::kDone;
}

constexpr char kDeadLettersFooter[] = R"(
A dead letter is a message that a process sent and that could not be delivered, or a
message that was still in a mailbox when its process ended. The daemon keeps the newest.
Without a command, dead-letters lists them.

Examples:
  actorctl dead-letters list --reason mailbox-full
  actorctl dead-letters show "$id"
  actorctl dead-letters resend "$id" --to @orders/17
  actorctl dead-letters drop --all
)";

constexpr char kListFooter[] = R"(
Oldest first. "actorctl status" shows how many are kept, and how many there were.

Examples:
  actorctl dead-letters list --to "$pid" -o wide
  actorctl dead-letters list --newest --limit 10
  actorctl dead-letters list -o name | xargs actorctl dead-letters resend --to @heir
)";

constexpr char kShowFooter[] = R"(
Examples:
  actorctl dead-letters show "$id" -o json | jq .payload.json
  actorctl dead-letters show "$id" --payload > payload
)";

constexpr char kResendFooter[] = R"(
A message that is accepted is no longer a dead letter; a message that is refused stays one.
Sender and topic stay the same. Prints nothing; -o name prints the IDs.

Examples:
  actorctl dead-letters resend "$id"
  actorctl dead-letters resend "$id" --to @orders/17
)";

constexpr char kDropFooter[] = R"(
Prints how many were dropped. An ID that is no longer kept is not an error.

Examples:
  actorctl dead-letters drop "$id"
  actorctl dead-letters drop --all --to "$pid"
)";

void AddFilters(CLI::App& command, ListOptions& options) {
  std::vector<std::string> names;
  std::string choices;
  for (const auto& [name, reason] : Reasons()) {
    names.push_back(name);
    choices += (choices.empty() ? "" : "|") + name;
  }
  command
      .add_option("--to", options.to,
                  "Only dead letters for this process: a PID or @NAME")
      ->type_name("PID");
  command
      .add_option("--reason", options.reason,
                  "Only dead letters with this reason")
      ->check(CLI::IsMember(names).description(""))
      ->type_name(choices);
}

void AddListLetters(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command =
      parent.add_subcommand("list", "List the kept dead letters");
  command->footer(kListFooter);
  AddFilters(*command, *options);
  command->add_flag("--newest", options->newest_first, "Newest first");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return List(invocation, *options);
    };
  });
}

void AddShowLetter(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = parent.add_subcommand("show", "Show one dead letter");
  command->footer(kShowFooter);
  command->add_option("ID", options->id, "ID of the dead letter, see list")
      ->required()
      ->type_name("");
  command->add_flag("--payload", options->payload,
                    "Write only the payload, byte for byte");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return ShowLetter(invocation, *options);
    };
  });
}

void AddResendLetter(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<ResendOptions>();
  CLI::App* command =
      parent.add_subcommand("resend", "Send dead letters again");
  command->footer(kResendFooter);
  command->add_option("ID", options->ids, "Dead letters, see list")
      ->required()
      ->type_name("...");
  command
      ->add_option("--to", options->to,
                   "New receiver: a PID or @NAME [the original receiver]")
      ->type_name("PID");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return Resend(invocation, *options);
    };
  });
}

void AddDropLetters(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<DropOptions>();
  CLI::App* command = parent.add_subcommand("drop", "Drop dead letters");
  command->footer(kDropFooter);
  auto* ids = command->add_option("ID", options->ids, "Dead letters, see list")
                  ->type_name("...");
  auto* all = command
                  ->add_flag("--all", options->is_all,
                             "All dead letters that match --to and --reason")
                  ->excludes(ids);
  AddFilters(*command, options->all);
  command->get_option("--to")->needs(all);
  command->get_option("--reason")->needs(all);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return Drop(invocation, *options);
    };
  });
}

}  // namespace

void AddDeadLetters(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "dead-letters", "List, resend and drop undeliverable messages");
  command->footer(kDeadLettersFooter);
  command->require_subcommand(0, 1);
  command->fallthrough();
  AddListLetters(*command, chosen);
  AddShowLetter(*command, chosen);
  AddResendLetter(*command, chosen);
  AddDropLetters(*command, chosen);
  // CLI11 runs this after the callback of a subcommand.
  command->callback([command, &chosen] {
    if (!command->get_subcommands().empty()) return;
    chosen = [](Invocation& invocation) {
      return List(invocation, ListOptions());
    };
  });
}

}  // namespace actord::client
