// actorctl token

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actord/text.h"
#include "client/cli/tokens.h"
#include "client/commands/commands.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "identity/identity.h"
#include "identity/quotas.h"
#include "identity/role.h"
#include "identity/token_edit.h"
#include "identity/token_file.h"
#include "identity/token_layout.h"
#include "identity/token_text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using identity::Identity;
using identity::Permission;
using identity::StoredToken;

struct NewTokenOptions {
  std::string file;
  std::string name;
  std::string role;
  std::string expires;
  std::vector<std::string> submit;
  std::vector<std::string> send;
  std::vector<std::string> work;
  std::string see;
  std::vector<std::string> quotas;
};

struct TokenListOptions {
  std::string file;
};

struct RevokeTokenOptions {
  std::string file;
  std::string id;
};

// Checks the patterns of `option`, or fills in "*".
absl::Status CompletePatterns(const std::string& option, Permission permission,
                              const Identity& identity,
                              std::vector<std::string>& patterns) {
  const bool permits = Permits(identity.role, permission);
  if (!permits && !patterns.empty()) {
    return UsageError("--" + option + ": the role " +
                      std::string(RoleName(identity.role)) +
                      " does not permit it");
  }
  for (const std::string& pattern : patterns) {
    if (!identity::IsTokenPattern(pattern)) {
      return UsageError(absl::StrCat("--", option, ": \"", pattern,
                                     "\" is not ",
                                     std::string(identity::kPatternRule)));
    }
  }
  if (permits && patterns.empty()) patterns.emplace_back("*");
  return absl::OkStatus();
}

// Reads "NAME=VALUE".
absl::Status ReadQuota(const std::string& text, identity::TokenQuotas& quotas) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto quota = identity::FindQuota(name);
  if (!quota) {
    std::string names;
    for (const identity::QuotaRow& row : identity::kQuotaTable) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(row.name));
    }
    return UsageError(
        absl::StrCat("--quota: \"", name, "\" is no quota; there are ", names));
  }
  const identity::QuotaRow& row = identity::kQuotaTable[*quota];
  uint64_t value = 0;
  if (equals == std::string::npos ||
      !absl::SimpleAtoi(text.substr(equals + 1), &value) ||
      !identity::IsQuotaValue(row, value)) {
    return UsageError(absl::StrCat("--quota: \"", text, "\" must be ", name,
                                   "=N, where N is a number of ",
                                   std::string(row.unit), " from ", row.min,
                                   " to ", row.max, ", or 0 for no limit"));
  }
  if (quotas.values[*quota]) {
    return UsageError(absl::StrCat("--quota: ", name, " is given twice"));
  }
  quotas.values[*quota] = value;
  return absl::OkStatus();
}

// All parts of the token except its ID.
absl::StatusOr<Identity> IdentityOf(const NewTokenOptions& options) {
  Identity identity;
  if (!IsName(options.name)) {
    return UsageError("--name: \"" + options.name + "\" is not " +
                      std::string(kNameRule));
  }
  identity.name = options.name;
  // The parser has checked both.
  identity.role = identity::ParseRole(options.role).value();
  identity.sees = identity::ParseSees(options.see)
                      .value_or(identity::DefaultSees(identity.role));
  if (!options.expires.empty()) {
    const auto expires = ParseExpiry(options.expires, absl::Now());
    if (!expires.ok()) {
      return UsageError("--expires: " +
                        std::string(expires.status().message()));
    }
    identity.expires = *expires;
  }
  identity.submit = options.submit;
  identity.send = options.send;
  identity.work = options.work;
  absl::Status status = CompletePatterns("submit", Permission::kSubmit,
                                         identity, identity.submit);
  status.Update(
      CompletePatterns("send", Permission::kSend, identity, identity.send));
  status.Update(
      CompletePatterns("work", Permission::kWork, identity, identity.work));
  for (const std::string& text : options.quotas) {
    status.Update(ReadQuota(text, identity.quotas));
  }
  if (!status.ok()) return status;
  return identity;
}

ExitStatus RunNewToken(Invocation& invocation, const NewTokenOptions& options) {
  auto identity = IdentityOf(options);
  if (!identity.ok()) return invocation.Fail(identity.status());
  const auto secret = identity::MakeToken();
  if (!secret.ok()) return invocation.Fail(secret.status());
  const auto hash = identity::HashToken(secret->text);
  if (!hash.ok()) return invocation.Fail(hash.status());
  identity->token_id = secret->id;
  const StoredToken token = {*std::move(identity), *hash};
  const auto added =
      AddToken(options.file, token, EditOptionsOf(invocation, options.file));
  if (!added.ok()) return FailWithFile(invocation, added.status());
  Json json = TokenJson(token.identity);
  json["token"] = secret->text;
  WriteOne(invocation.out(), invocation.style(), json, secret->text,
           [&] { invocation.out() << secret->text << '\n'; });
  if (!invocation.ForPeople()) return ExitStatus::kDone;
  const std::string file = identity::RedactTokens(OneLine(options.file));
  if (added->created) {
    invocation.err() << "created " << file << " with mode 0640\n";
  }
  invocation.err() << "added the token " << secret->id << " of "
                   << token.identity.name << " to " << file
                   << "; its secret is shown this once\n";
  return ExitStatus::kDone;
}

std::string PatternsText(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) {
    text += (text.empty() ? "" : ",") + pattern;
  }
  return text.empty() ? "-" : text;
}

Item TokenItem(const Identity& identity, absl::Time now) {
  return {.json = [&identity] { return TokenJson(identity); },
          .name = [&identity] { return identity.token_id; },
          .cells =
              [&identity, now] {
                return std::vector<std::string>{
                    identity.token_id,
                    identity.name,
                    std::string(RoleName(identity.role)),
                    ExpiryText(identity.expires) +
                        (identity.expires <= now ? " (expired)" : ""),
                    std::string(SeesName(identity.sees)),
                    PatternsText(identity.submit),
                    PatternsText(identity.send),
                    PatternsText(identity.work),
                    identity.quotas.empty() ? "-"
                                            : QuotasText(identity.quotas, "=")};
              }};
}

ExitStatus RunTokenList(Invocation& invocation,
                        const TokenListOptions& options) {
  const auto tokens = identity::ReadTokenFile(options.file);
  if (!tokens.ok()) return FailWithFile(invocation, tokens.status());
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "ID"},
                     {.heading = "NAME"},
                     {.heading = "ROLE"},
                     {.heading = "EXPIRES"},
                     {.heading = "SEE"},
                     {.heading = "SUBMIT"},
                     {.heading = "SEND"},
                     {.heading = "WORK"},
                     {.heading = "QUOTAS"}});
  const absl::Time now = absl::Now();
  for (const StoredToken& token : *tokens) {
    writer.Add(TokenItem(token.identity, now));
  }
  writer.EndPage();
  writer.Finish();
  invocation.SayEmpty(writer, "the file has no token");
  return ExitStatus::kDone;
}

ExitStatus RunRevokeToken(Invocation& invocation,
                          const RevokeTokenOptions& options) {
  const auto revoked = RevokeToken(options.file, options.id,
                                   EditOptionsOf(invocation, options.file));
  if (!revoked.ok()) return FailWithFile(invocation, revoked.status());
  const Identity& identity = revoked->identity;
  WriteOne(invocation.out(), invocation.style(), TokenJson(identity),
           identity.token_id, [&] {
             invocation.out() << "revoked " << identity.token_id << " of "
                              << identity.name << '\n';
           });
  return ExitStatus::kDone;
}

constexpr char kTokenFooter[] = R"(
These commands read and edit a file of tokens on this machine and contact no daemon. The
daemon's auth.tokens names the file. It has the hashes of the tokens, not their secrets. Only
its owner may write it, and others may not read it: mode 0640 at most.

A token file is another file: it has the secret of one token, as "token new" prints it, and
is for a client (--token-file).

Examples:
  actorctl token new --file tokens.toml --name billing --role client
  actorctl token list --file tokens.toml
  actorctl token revoke --file tokens.toml k3v9x0ab
)";

constexpr char kNewTokenFooter[] = R"(
Writes the secret of the token, and nothing else, to standard output. It cannot be shown
again. Creates the file with mode 0640 if it is missing. The rest of the file stays as it
is, with its comments, owner, group and mode.

Roles:
  viewer    sees processes, without payloads
  client    sees payloads too, starts processes and sends to them
  worker    takes external commands and completes them
  operator  sees as a client, completes external commands, cancels and terminates
            processes, resends and drops dead letters
  admin     all of this; loads plugins, sets the log level, makes backups, cuts
            clients, shuts down

A PATTERN is a name, or a prefix that ends in *. Without patterns a token has all that its
role permits. Several tokens may have one name: to rotate a token, make a new one, hand it
out, and revoke the old one.

A --quota holds for all tokens of the same name together: the owner. It has the name of a
key of the section quotas in the configuration. If several tokens of one name set the same
quota, the last one in the file decides.

Examples:
  actorctl token new --file tokens.toml --name billing --role client > billing.token
  actorctl token new --file tokens.toml --name shop --role client --expires 90d \
    --submit order --submit 'invoice.*' --quota streams=5 --quota processes=1000
  actorctl token new --file tokens.toml --name ops --role operator -o json
)";

constexpr char kTokenListFooter[] = R"(
In the order of the file. Never shows secrets or hashes. -o name prints the IDs.

Examples:
  actorctl token list --file tokens.toml
  actorctl token list --file tokens.toml -o json | jq -r '.[] | select(.role == "admin").name'
)";

constexpr char kRevokeTokenFooter[] = R"(
Removes the token from the file. Comments stay. -o name prints the ID.

Examples:
  actorctl token revoke --file tokens.toml k3v9x0ab
)";

void AddTokenFile(CLI::App& command, std::string& file) {
  command
      .add_option("--file", file,
                  "The file of tokens, which a daemon reads (auth.tokens)")
      ->required()
      ->type_name("PATH");
}

void AddPatternOption(CLI::App& command, const std::string& name,
                      const std::string& what,
                      std::vector<std::string>& patterns) {
  command
      .add_option(name, patterns, what + "; may be given several times [all]")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
}

void AddNewToken(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<NewTokenOptions>();
  CLI::App* command =
      parent.add_subcommand("new", "Make a token and add it to a file");
  command->footer(kNewTokenFooter);
  AddTokenFile(*command, options->file);
  command->add_option("--name", options->name, "Name of the token's owner")
      ->required()
      ->type_name("NAME");
  command->add_option("--role", options->role, "The rights of the token")
      ->required()
      ->check(CLI::IsMember({"viewer", "client", "worker", "operator", "admin"})
                  .description(""))
      ->type_name("viewer|client|worker|operator|admin");
  command
      ->add_option(
          "--expires", options->expires,
          "When it expires: a duration from now on such as 90d or 12h, "
          "or a time such as 2027-01-31T00:00:00Z [never]")
      ->type_name("WHEN");
  AddPatternOption(*command, "--submit", "Process types that it may start",
                   options->submit);
  AddPatternOption(*command, "--send", "Process types that it may send to",
                   options->send);
  AddPatternOption(*command, "--work", "External commands that it may complete",
                   options->work);
  command
      ->add_option(
          "--see", options->see,
          "Whose processes it shows [own for clients and workers, else "
          "all]")
      ->check(CLI::IsMember({"own", "all"}).description(""))
      ->type_name("own|all");
  command
      ->add_option(
          "--quota", options->quotas,
          "A quota of its owner instead of the configured one, such as "
          "streams=5; bytes without a unit, 0 for no limit; may be "
          "given several times [as configured]")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunNewToken(invocation, *options);
    };
  });
}

void AddTokenList(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<TokenListOptions>();
  CLI::App* command =
      parent.add_subcommand("list", "List the tokens of a file");
  command->footer(kTokenListFooter);
  AddTokenFile(*command, options->file);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunTokenList(invocation, *options);
    };
  });
}

void AddRevokeToken(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<RevokeTokenOptions>();
  CLI::App* command =
      parent.add_subcommand("revoke", "Remove a token from a file");
  command->footer(kRevokeTokenFooter);
  AddTokenFile(*command, options->file);
  command->add_option("ID", options->id, "ID of the token, see list")
      ->required()
      ->type_name("");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunRevokeToken(invocation, *options);
    };
  });
}

}  // namespace

void AddToken(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("token", "Make, list and revoke tokens in a file");
  command->footer(kTokenFooter);
  command->require_subcommand(1);
  command->fallthrough();
  AddNewToken(*command, chosen);
  AddTokenList(*command, chosen);
  AddRevokeToken(*command, chosen);
}

}  // namespace actord::client
