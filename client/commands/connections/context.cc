// actorctl context

#include "client/contexts/context.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/calls/endpoint.h"
#include "client/calls/token_file.h"
#include "client/cli/address.h"
#include "client/cli/tls_options.h"
#include "client/commands/commands.h"
#include "client/contexts/context_file.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct AddContextOptions {
  std::string name;
  bool use = false;
  bool replace = false;
};

struct NameOption {
  std::string name;
};
struct UseOption {
  std::string name;
  bool none = false;
};

// The path of the file, or the reason why there is none.
absl::StatusOr<std::string> PathFor(const Invocation& invocation) {
  std::string path = ContextsPath(invocation.environment().variable);
  if (!path.empty()) return path;
  return UsageError(
      "there is no place for contexts: set HOME or XDG_CONFIG_HOME");
}

// A path that means the same in every directory; "" stays.
absl::StatusOr<std::string> Absolute(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return UsageError(path + ": " + error.message());
  return absolute.lexically_normal().string();
}

// The value of a global option as it was typed; "": it was not.
std::string Typed(const CLI::App& app, const std::string& option) {
  const CLI::Option* const found = app.get_option(option);
  return found->count() == 0 ? std::string() : found->as<std::string>();
}

// Reads the files of the context once, to report an error at once.
absl::Status TryFiles(const Context& context) {
  auto tls =
      ReadTlsOptions(context.tls, [](const char*) { return std::string(); });
  if (!tls.ok()) return tls.status();
  if (context.token_file.empty()) return absl::OkStatus();
  auto token = ReadToken(context.token_file);
  const absl::Status status =
      token.ok() ? CheckEndpoint({context.address, *token, *std::move(tls)})
                 : token.status();
  return status.ok()
             ? status
             : UsageError("--token-file: " + std::string(status.message()));
}

absl::StatusOr<Context> TypedContext(const CLI::App& app) {
  Context context;
  context.address = WithDefaultPort(Typed(app, "--address"));
  context.timeout = Typed(app, "--timeout");
  context.tls.server_name = Typed(app, "--tls-server-name");
  if (context.address.empty()) {
    return UsageError("--address is required: the address of the daemon");
  }
  for (const auto& [option, path] :
       {std::pair{"--token-file", &context.token_file},
        std::pair{"--tls-ca", &context.tls.ca},
        std::pair{"--tls-certificate", &context.tls.certificate},
        std::pair{"--tls-key", &context.tls.key}}) {
    auto absolute = Absolute(Typed(app, option));
    if (!absolute.ok()) return absolute.status();
    *path = *std::move(absolute);
  }
  absl::Status status = CheckContext(context);
  if (status.ok()) status = TryFiles(context);
  if (!status.ok()) return status;
  return context;
}

Json ContextJson(const std::string& name, const Context& context,
                 bool is_in_use) {
  return {{"name", name},
          {"in_use", is_in_use},
          {"address", context.address},
          {"token_file", context.token_file},
          {"tls_ca", context.tls.ca},
          {"tls_certificate", context.tls.certificate},
          {"tls_key", context.tls.key},
          {"tls_server_name", context.tls.server_name},
          {"timeout", context.timeout}};
}

// What a command has done, as a line on standard error, or, for programs, as
// the context.
void Tell(Invocation& invocation, const Json& context, const std::string& name,
          const std::string& done) {
  WriteOne(invocation.out(), invocation.style(), context, name,
           [&] { invocation.err() << OneLine(done) << '\n'; });
}

ExitStatus Edit(
    Invocation& invocation,
    const std::function<absl::Status(Contexts&, const std::string&)>& edit) {
  const auto path = PathFor(invocation);
  if (!path.ok()) return invocation.Fail(path.status());
  const absl::Status status = EditContexts(
      *path, [&](Contexts& contexts) { return edit(contexts, *path); });
  return status.ok() ? ExitStatus::kDone : invocation.Fail(status);
}

ExitStatus RunAddContext(Invocation& invocation, const CLI::App& app,
                         const AddContextOptions& options) {
  const absl::Status status = CheckContextName(options.name);
  if (!status.ok()) return invocation.Fail(status);
  const auto context = TypedContext(app);
  if (!context.ok()) return invocation.Fail(context.status());
  bool is_replaced = false, is_in_use = false;
  std::string file;
  const ExitStatus edited =
      Edit(invocation, [&](Contexts& contexts, const std::string& path) {
        is_replaced = contexts.all.contains(options.name);
        if (is_replaced && !options.replace) {
          return UsageError(path + " has a context \"" + options.name +
                            "\"; give --replace to replace it");
        }
        if (!is_replaced && contexts.all.size() >= kMaxContexts) {
          return UsageError(path + " has " + std::to_string(kMaxContexts) +
                            " contexts, and cannot have more; remove some");
        }
        contexts.all[options.name] = *context;
        if (options.use) contexts.use = options.name;
        is_in_use = contexts.use == options.name;
        file = path;
        return absl::OkStatus();
      });
  if (edited != ExitStatus::kDone) return edited;
  Tell(invocation, ContextJson(options.name, *context, is_in_use), options.name,
       absl::StrCat(is_replaced ? "replaced" : "added", " the context ",
                    options.name, " (", context->address, ") in ", file,
                    is_in_use ? "; it is in use"
                              : "; \"actorctl context use " + options.name +
                                    "\" puts it in use"));
  return edited;
}

ExitStatus RunUseContext(Invocation& invocation, const std::string& name) {
  Context context;
  const ExitStatus edited =
      Edit(invocation, [&](Contexts& contexts, const std::string& path) {
        if (!name.empty()) {
          auto found = FindContext(contexts, name, path);
          if (!found.ok()) return found.status();
          context = *std::move(found);
        }
        contexts.use = name;
        return absl::OkStatus();
      });
  if (edited != ExitStatus::kDone) return edited;
  Tell(invocation, ContextJson(name, context, !name.empty()), name,
       name.empty() ? "no context is in use now"
                    : absl::StrCat("the context ", name, " (", context.address,
                                   ") is in use now"));
  return edited;
}

ExitStatus RunRemoveContext(Invocation& invocation, const std::string& name) {
  bool was_in_use = false;
  Context context;
  const ExitStatus edited =
      Edit(invocation, [&](Contexts& contexts, const std::string& path) {
        auto found = FindContext(contexts, name, path);
        if (!found.ok()) return found.status();
        context = *std::move(found);
        contexts.all.erase(name);
        was_in_use = contexts.use == name;
        if (was_in_use) contexts.use.clear();
        return absl::OkStatus();
      });
  if (edited != ExitStatus::kDone) return edited;
  Tell(invocation, ContextJson(name, context, false), name,
       absl::StrCat(
           "removed the context ", name,
           was_in_use ? "; it was in use, and no context is in use now" : ""));
  return edited;
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : OneLine(text);
}

ExitStatus RunListContexts(Invocation& invocation) {
  const auto path = PathFor(invocation);
  if (!path.ok()) return invocation.Fail(path.status());
  const auto contexts = ReadContexts(*path);
  if (!contexts.ok()) return invocation.Fail(contexts.status());
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "NAME"},
                     {.heading = "IN USE"},
                     {.heading = "ADDRESS"},
                     {.heading = "TLS"},
                     {.heading = "TOKEN FILE"},
                     {.heading = "TIMEOUT", .wide_only = true}});
  for (const auto& [name, context] : contexts->all) {
    const bool is_in_use = name == contexts->use;
    writer.Add({.json =
                    [&, &name = name, &context = context] {
                      return ContextJson(name, context, is_in_use);
                    },
                .name = [&name = name] { return name; },
                .cells =
                    [&, &name = name, &context = context] {
                      return std::vector<std::string>{
                          name,
                          is_in_use ? "yes" : "no",
                          OneLine(context.address),
                          context.tls.ca.empty()            ? "no"
                          : context.tls.certificate.empty() ? "yes"
                                                            : "mutual",
                          OrDash(context.token_file),
                          OrDash(context.timeout)};
                    }});
  }
  writer.EndPage();
  writer.Finish();
  invocation.SayEmpty(writer, "there is no context");
  return ExitStatus::kDone;
}

ExitStatus RunShowContext(Invocation& invocation, std::string name) {
  const auto path = PathFor(invocation);
  if (!path.ok()) return invocation.Fail(path.status());
  const auto contexts = ReadContexts(*path);
  if (!contexts.ok()) return invocation.Fail(contexts.status());
  if (name.empty()) name = contexts->use;
  if (name.empty()) {
    return invocation.Fail(UsageError(
        "no context is in use; name one, or choose one with \"actorctl "
        "context use\""));
  }
  const auto context = FindContext(*contexts, name, *path);
  if (!context.ok()) return invocation.Fail(context.status());
  const bool is_in_use = name == contexts->use;
  WriteOne(invocation.out(), invocation.style(),
           ContextJson(name, *context, is_in_use), name, [&] {
             WriteFields(invocation.out(),
                         {{"Name", name},
                          {"In use", is_in_use ? "yes" : "no"},
                          {"Address", OneLine(context->address)},
                          {"Token file", OrDash(context->token_file)},
                          {"TLS CA", OrDash(context->tls.ca)},
                          {"TLS certificate", OrDash(context->tls.certificate)},
                          {"TLS key", OrDash(context->tls.key)},
                          {"TLS server name", OrDash(context->tls.server_name)},
                          {"Timeout", OrDash(context->timeout)},
                          {"File", OneLine(*path)}});
           });
  return ExitStatus::kDone;
}

constexpr char kContextFooter[] = R"(
A context names a daemon and the way to reach it. A setting comes from the
option, else from the environment, else from the context, else from the default.
The context is the one of --context, else of $ACTORD_CONTEXT, else the one in use.
The token and the TLS files of a context are for its own address: with another
address actorctl does not use them.

The file is $XDG_CONFIG_HOME/actorctl/contexts.toml, or
~/.config/actorctl/contexts.toml. Only you may read and write it.

Examples:
  actorctl context add prod --address actord.example:7600 --tls-ca ca.pem \
      --token-file ops.token --timeout 10s --use
  actorctl context add here --address unix:/run/actord/actord.sock
  actorctl context list
  actorctl context use here
  actorctl --context prod ps

add, use and remove say on standard error what they have done; with -o json they write
the context to standard output.
)";

constexpr char kAddContextFooter[] = R"(
The options --address, --token-file, --tls-* and --timeout become the context.
Relative paths are stored as absolute ones. The files are read once, to find
errors; their content is not stored.
)";

void AddAddContext(CLI::App& app, CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<AddContextOptions>();
  CLI::App* command = parent.add_subcommand("add", "Add a context");
  command->footer(kAddContextFooter);
  command->add_option("NAME", options->name, "Name of the context")
      ->required()
      ->type_name("");
  command->add_flag("--use", options->use, "Use it from now on");
  command->add_flag("--replace", options->replace,
                    "Replace a context of this name");
  command->callback([&app, &chosen, options] {
    chosen = [&app, options](Invocation& invocation) {
      return RunAddContext(invocation, app, *options);
    };
  });
}

void AddUseContext(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<UseOption>();
  CLI::App* command =
      parent.add_subcommand("use", "Use a context in commands that name none");
  command->add_option("NAME", options->name, "Name of the context")
      ->type_name("");
  command->add_flag("--none", options->none, "Use no context from now on");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      if (options->name.empty() != options->none) {
        return invocation.Fail(UsageError("give either NAME or --none"));
      }
      return RunUseContext(invocation, options->name);
    };
  });
}

}  // namespace

void AddContext(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("context", "Name daemons, and the ways to reach them");
  command->footer(kContextFooter);
  command->require_subcommand(1);
  command->fallthrough();
  AddAddContext(app, *command, chosen);
  AddUseContext(*command, chosen);
  command->add_subcommand("list", "List the contexts")->callback([&chosen] {
    chosen = RunListContexts;
  });
  auto shown = std::make_shared<NameOption>();
  CLI::App* const show = command->add_subcommand("show", "Show one context");
  show->add_option("NAME", shown->name, "Name of the context [the one in use]")
      ->type_name("");
  show->callback([&chosen, shown] {
    chosen = [shown](Invocation& invocation) {
      return RunShowContext(invocation, shown->name);
    };
  });
  auto removed = std::make_shared<NameOption>();
  CLI::App* const remove =
      command->add_subcommand("remove", "Remove a context");
  remove->add_option("NAME", removed->name, "Name of the context")
      ->required()
      ->type_name("");
  remove->callback([&chosen, removed] {
    chosen = [removed](Invocation& invocation) {
      return RunRemoveContext(invocation, removed->name);
    };
  });
}

}  // namespace actord::client
