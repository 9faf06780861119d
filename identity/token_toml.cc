#include "identity/token_toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "identity/role.h"
#include "identity/token_keys.h"
#include "identity/token_text.h"
#include "identity/toml_nesting.h"

namespace actord::identity {
namespace {

std::string KeyNames() {
  return absl::StrJoin(TokenKeys(), ", ",
                       [](std::string* out, const TokenKey& key) {
                         absl::StrAppend(out, std::string(key.name));
                       });
}

// The roles that permit `permission`.
std::string RolesWith(Permission permission) {
  std::vector<std::string> names;
  for (const RoleRow& row : kRoleTable) {
    if (Permits(row.role, permission)) names.emplace_back(row.name);
  }
  return absl::StrJoin(names, " or ");
}

// Reads the tables of one file.
class FileReader {
 public:
  explicit FileReader(std::string_view file) : file_(file) {}

  absl::StatusOr<std::vector<TokenEntry>> Read(std::string_view text);

 private:
  [[nodiscard]] absl::Status Error(uint32_t line,
                                   const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":", line, ": ", what));
  }
  [[nodiscard]] absl::Status CheckSize(std::string_view text) const;
  [[nodiscard]] absl::Status ReadRoot(const toml::table& root);
  [[nodiscard]] absl::Status ReadTokens(const toml::array& tables);
  [[nodiscard]] absl::Status ReadKeys(const toml::table& table,
                                      TokenEntry& entry) const;
  // `given`: the list as the file has it. Fills in "*".
  [[nodiscard]] absl::Status CompletePatterns(
      const toml::table& table, std::string_view key, Permission permission,
      const StoredToken& token, std::vector<std::string>& list) const;
  [[nodiscard]] absl::Status Complete(const toml::table& table,
                                      TokenEntry& entry) const;

  const std::string file_;
  std::vector<TokenEntry> entries_;
};

absl::Status FileReader::CheckSize(std::string_view text) const {
  if (text.size() > kMaxTokenFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": is larger than ", kMaxTokenFileBytes,
                     " bytes, the maximum size of a file of tokens"));
  }
  uint32_t line = 1;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size());
    if (length > kMaxTokenFileLineBytes) {
      return Error(line,
                   absl::StrCat("the line has ", length, " bytes, and at most ",
                                kMaxTokenFileLineBytes,
                                " are allowed; a list may take several "
                                "lines"));
    }
    text.remove_prefix(std::min(length + 1, text.size()));
    ++line;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TokenEntry>> FileReader::Read(
    std::string_view text) {
  absl::Status status = CheckSize(text);
  if (status.ok()) status = CheckTomlNesting(text, file_);
  if (!status.ok()) return status;
  toml::table root;
  try {
    root = toml::parse(text);
    // Debian's library throws.
  } catch (const toml::parse_error& error) {
    if (text.substr(0, kTokenPrefix.size()) == kTokenPrefix) {
      return Error(1,
                   "the text of a token: this is the token file of a client; a "
                   "file of tokens has the hashes, and actorctl token new "
                   "--file PATH makes it");
    }
    return Error(error.source().begin.line,
                 RedactTokens(std::string(error.description())));
  }
  status = ReadRoot(root);
  if (!status.ok()) return status;
  return std::move(entries_);
}

absl::Status FileReader::ReadRoot(const toml::table& root) {
  const toml::array* tables = nullptr;
  for (const auto& [key, node] : root) {
    if (key.str() != "token") {
      return Error(key.source().begin.line,
                   absl::StrCat("unknown key or table ", Quoted(key.str()),
                                ": a token begins with [[token]]"));
    }
    tables = node.as_array();
    if (tables == nullptr || tables->empty()) {
      return Error(key.source().begin.line,
                   "each token must be a table that begins with [[token]]");
    }
  }
  return tables == nullptr ? absl::OkStatus() : ReadTokens(*tables);
}

absl::Status FileReader::ReadTokens(const toml::array& tables) {
  absl::flat_hash_map<std::string, uint32_t> lines;
  for (const toml::node& node : tables) {
    TokenEntry entry;
    entry.first_line = entry.last_line = node.source().begin.line;
    const toml::table* const table = node.as_table();
    if (table == nullptr || table->is_inline()) {
      return Error(entry.first_line,
                   "each token must be a table that begins with [[token]]");
    }
    if (entries_.size() == kMaxTokens) {
      return Error(entry.first_line, absl::StrCat("the file has more than ",
                                                  kMaxTokens, " tokens"));
    }
    absl::Status status = ReadKeys(*table, entry);
    if (status.ok()) status = Complete(*table, entry);
    if (!status.ok()) return status;
    const std::string& id = entry.token.identity.token_id;
    const auto [other, is_new] = lines.emplace(id, entry.first_line);
    if (!is_new) {
      return Error(
          entry.first_line,
          absl::StrCat("the ID ", id,
                       " is also that of the token in "
                       "line ",
                       other->second, ": each token needs an ID of its own"));
    }
    entries_.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

absl::Status FileReader::ReadKeys(const toml::table& table,
                                  TokenEntry& entry) const {
  // toml++ sorts by name, but a message should report the first wrong line.
  const std::span<const TokenKey> keys = TokenKeys();
  std::vector<std::pair<const toml::key*, const toml::node*>> in_order;
  for (const auto& [key, node] : table) in_order.emplace_back(&key, &node);
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return a.first->source().begin.line < b.first->source().begin.line;
  });
  for (const auto& [key, node] : in_order) {
    const std::string_view name = key->str();
    const uint32_t line = key->source().begin.line;
    const auto known =
        std::find_if(keys.begin(), keys.end(),
                     [name](const TokenKey& one) { return one.name == name; });
    if (known == keys.end()) {
      return Error(line, absl::StrCat("unknown key ", Quoted(name),
                                      ": a token has ", KeyNames()));
    }
    const absl::Status status = known->read(*node, entry.token);
    if (!status.ok()) {
      return Error(
          line, absl::StrCat(std::string(known->name), " ", status.message()));
    }
    entry.last_line = std::max(entry.last_line, node->source().end.line);
  }
  return absl::OkStatus();
}

absl::Status FileReader::CompletePatterns(
    const toml::table& table, std::string_view key, Permission permission,
    const StoredToken& token, std::vector<std::string>& list) const {
  const bool permits = Permits(token.identity.role, permission);
  if (permits && list.empty()) list.emplace_back("*");
  if (permits || list.empty()) return absl::OkStatus();
  return Error(
      table.find(key)->first.source().begin.line,
      absl::StrCat(std::string(key), " is of no use, because the role ",
                   std::string(RoleName(token.identity.role)),
                   " does not permit it: leave the key out, or make the role ",
                   RolesWith(permission)));
}

absl::Status FileReader::Complete(const toml::table& table,
                                  TokenEntry& entry) const {
  for (const TokenKey& key : TokenKeys()) {
    if (!key.required_rule.empty() && !table.contains(key.name)) {
      return Error(
          entry.first_line,
          absl::StrCat("the token has no ", std::string(key.name),
                       ", which must be ", std::string(key.required_rule)));
    }
  }
  StoredToken& token = entry.token;
  Identity& identity = token.identity;
  if (!table.contains("see")) identity.sees = DefaultSees(identity.role);
  absl::Status status = CompletePatterns(table, "submit", Permission::kSubmit,
                                         token, identity.submit);
  if (status.ok()) {
    status = CompletePatterns(table, "send", Permission::kSend, token,
                              identity.send);
  }
  if (status.ok()) {
    status = CompletePatterns(table, "work", Permission::kWork, token,
                              identity.work);
  }
  return status;
}

}  // namespace

absl::StatusOr<std::vector<TokenEntry>> ParseTokens(std::string_view text,
                                                    std::string_view file) {
  return FileReader(file).Read(text);
}

}  // namespace actord::identity
