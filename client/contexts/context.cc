#include "client/contexts/context.h"

#include <actord/text.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/address.h"
#include "client/output/exit_status.h"
#include "client/output/text.h"
#include "identity/toml_nesting.h"

namespace actord::client {
namespace {

constexpr char kHead[] =
    "# The contexts of actorctl. \"actorctl context\" writes this file, and "
    "keeps no\n# comments but this one.\n";
// Unit: characters.
constexpr size_t kMaxRepeatedName = 100;

// A key of a context and its place.
struct ContextKey {
  std::string_view name;
  std::string& (*of)(Context& context);
  bool is_path;
};
constexpr std::array kKeys = {
    ContextKey{"address", [](Context& c) -> std::string& { return c.address; },
               false},
    ContextKey{"token_file",
               [](Context& c) -> std::string& { return c.token_file; }, true},
    ContextKey{"tls_ca", [](Context& c) -> std::string& { return c.tls.ca; },
               true},
    ContextKey{"tls_certificate",
               [](Context& c) -> std::string& { return c.tls.certificate; },
               true},
    ContextKey{"tls_key", [](Context& c) -> std::string& { return c.tls.key; },
               true},
    ContextKey{"tls_server_name",
               [](Context& c) -> std::string& { return c.tls.server_name; },
               false},
    ContextKey{"timeout", [](Context& c) -> std::string& { return c.timeout; },
               false},
};

std::string KeyNames() {
  return absl::StrJoin(kKeys, ", ", [](std::string* out, const auto& key) {
    out->append(key.name);
  });
}

std::string Repeat(std::string_view text) {
  return OneLine(std::string(text), kMaxRepeatedName);
}

absl::Status Wrong(const std::string& path, uint32_t line,
                   const std::string& what) {
  return UsageError(absl::StrCat(path, ":", line, ": ", what));
}

// A TOML string.
std::string QuotedToml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (iscntrl(byte) != 0) {
      quoted += absl::StrFormat("\\u%04X", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

absl::StatusOr<std::string> ReadText(const toml::node& node,
                                     const std::string& path,
                                     std::string_view key) {
  const auto* const text = node.as_string();
  if (text == nullptr) {
    return Wrong(path, node.source().begin.line,
                 absl::StrCat(std::string(key), " must be a text in quotes"));
  }
  return text->get();
}

absl::StatusOr<Context> ReadContext(const toml::table& table,
                                    const std::string& path) {
  Context context;
  for (const auto& [key, node] : table) {
    const auto known = std::find_if(
        kKeys.begin(), kKeys.end(),
        [name = key.str()](const auto& one) { return one.name == name; });
    if (known == kKeys.end()) {
      return Wrong(path, key.source().begin.line,
                   absl::StrCat("unknown key \"", Repeat(key.str()),
                                "\": a context has ", KeyNames()));
    }
    auto text = ReadText(node, path, known->name);
    if (!text.ok()) return text.status();
    known->of(context) = *std::move(text);
  }
  const absl::Status status = CheckContext(context);
  if (!status.ok()) {
    return Wrong(path, table.source().begin.line,
                 std::string(status.message()));
  }
  return context;
}

absl::Status ReadAll(const toml::table& root, const std::string& path,
                     Contexts& contexts) {
  for (const auto& [key, node] : root) {
    const uint32_t line = key.source().begin.line;
    if (key.str() == "use") {
      auto use = ReadText(node, path, "use");
      if (!use.ok()) return use.status();
      contexts.use = *std::move(use);
      continue;
    }
    const toml::table* const tables = node.as_table();
    if (key.str() != "context" || tables == nullptr) {
      return Wrong(path, line,
                   absl::StrCat("unknown key or table \"", Repeat(key.str()),
                                "\": a context begins with [context.NAME]"));
    }
    if (tables->size() > kMaxContexts) {
      return Wrong(
          path, line,
          absl::StrCat("there are more than ", kMaxContexts, " contexts"));
    }
    for (const auto& [name, value] : *tables) {
      const uint32_t at = name.source().begin.line;
      absl::Status status = CheckContextName(name.str());
      if (!status.ok()) return Wrong(path, at, std::string(status.message()));
      const toml::table* const table = value.as_table();
      if (table == nullptr) {
        return Wrong(path, at, "a context begins with [context.NAME]");
      }
      auto context = ReadContext(*table, path);
      if (!context.ok()) return context.status();
      contexts.all[std::string(name.str())] = *std::move(context);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckContextName(std::string_view name) {
  const bool is_valid =
      !name.empty() && name.size() <= kMaxContextNameBytes &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
      });
  if (is_valid) return absl::OkStatus();
  return UsageError(absl::StrCat("\"", Repeat(name),
                                 "\" is no name of a context: it must have 1 "
                                 "to ",
                                 kMaxContextNameBytes,
                                 " letters, digits, '.', '_' and '-'"));
}

absl::Status CheckContext(const Context& context) {
  if (context.address.empty()) return UsageError("address is missing");
  absl::Status status = CheckAddress(context.address);
  if (!status.ok()) {
    return UsageError(absl::StrCat("address: ", status.message()));
  }
  Context copy = context;
  for (const ContextKey& key : kKeys) {
    const std::string& value = key.of(copy);
    if (!IsUtf8(value)) {
      return UsageError(absl::StrCat(std::string(key.name), ": is not UTF-8"));
    }
    if (key.is_path && !value.empty() && !value.starts_with('/')) {
      return UsageError(absl::StrCat(std::string(key.name), ": \"",
                                     Repeat(value),
                                     "\" is not an absolute path"));
    }
  }
  if (context.timeout.empty()) return absl::OkStatus();
  const auto timeout = ParseDuration(context.timeout);
  return timeout.ok() ? absl::OkStatus()
                      : UsageError(absl::StrCat("timeout: ",
                                                timeout.status().message()));
}

absl::StatusOr<Context> FindContext(const Contexts& contexts,
                                    const std::string& name,
                                    const std::string& path) {
  const auto found = contexts.all.find(name);
  if (found != contexts.all.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [one, context] : contexts.all) names.push_back(one);
  return UsageError(absl::StrCat(
      "there is no context \"", Repeat(name), "\"; ",
      names.empty() ? absl::StrCat(path,
                                   " has none, and \"actorctl context "
                                   "add\" makes one")
                    : absl::StrCat(path, " has ", absl::StrJoin(names, ", "))));
}

absl::StatusOr<Contexts> ParseContexts(std::string_view text,
                                       const std::string& path) {
  if (text.size() > kMaxContextsBytes) {
    return UsageError(absl::StrCat(path, ": is larger than ", kMaxContextsBytes,
                                   " bytes, the maximum size of a file of "
                                   "contexts"));
  }
  const absl::Status nesting = identity::CheckTomlNesting(text, path);
  if (!nesting.ok()) return UsageError(std::string(nesting.message()));
  toml::table root;
  try {
    root = toml::parse(text);
    // Debian's library throws.
  } catch (const toml::parse_error& error) {
    return Wrong(path, error.source().begin.line,
                 std::string(error.description()));
  }
  Contexts contexts;
  absl::Status status = ReadAll(root, path, contexts);
  if (!status.ok()) return status;
  if (!contexts.use.empty() && !contexts.all.contains(contexts.use)) {
    return UsageError(absl::StrCat(
        path, ": use: ",
        FindContext(contexts, contexts.use, path).status().message()));
  }
  return contexts;
}

std::string ContextsText(const Contexts& contexts) {
  std::string text = kHead;
  if (!contexts.use.empty()) {
    absl::StrAppend(&text, "\nuse = ", QuotedToml(contexts.use), "\n");
  }
  for (const auto& [name, context] : contexts.all) {
    absl::StrAppend(&text, "\n[context.", QuotedToml(name), "]\n");
    Context copy = context;
    for (const ContextKey& key : kKeys) {
      const std::string& value = key.of(copy);
      if (value.empty()) continue;
      absl::StrAppend(&text, std::string(key.name), " = ", QuotedToml(value),
                      "\n");
    }
  }
  return text;
}

}  // namespace actord::client
