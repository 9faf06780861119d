// The holder of a token, and the holder's rights.
//
// Thread-safety: values. Any number of threads may read one at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "actord/text.h"
#include "identity/quotas.h"
#include "identity/role.h"
#include "identity/token_text.h"

namespace actord::identity {

// The processes that the holder sees.
enum class Sees { kOwn, kAll };

inline constexpr std::string_view kSeesRule = "own or all";
constexpr std::string_view SeesName(Sees sees) {
  return sees == Sees::kAll ? "all" : "own";
}
constexpr std::optional<Sees> ParseSees(std::string_view name) {
  if (name == "own") return Sees::kOwn;
  if (name == "all") return Sees::kAll;
  return std::nullopt;
}
// A viewer or an operator owns no processes, so only `all` shows them any.
constexpr Sees DefaultSees(Role role) {
  return role == Role::kClient || role == Role::kWorker ? Sees::kOwn
                                                        : Sees::kAll;
}

// The patterns of a token: process types, or commands.
inline constexpr std::string_view kPatternRule =
    "a name of up to 128 characters, which may end in *";
constexpr bool IsTokenPattern(std::string_view text) {
  if (!IsPattern(text) || text.size() > kMaxNameBytes) return false;
  if (text.ends_with('*')) text.remove_suffix(1);
  return text.empty() || IsDeclaredName(text);
}

struct Identity {
  std::string token_id;
  // The owner of everything that the holder starts. Several tokens may have the
  // same name.
  std::string name;
  Role role = Role::kViewer;
  // From this moment on the token is refused; InfiniteFuture: never.
  absl::Time expires = absl::InfiniteFuture();
  // Patterns (actord/text.h). Empty if the role does not permit it at all, and
  // only then.
  // Types of the processes that the holder may start.
  std::vector<std::string> submit = {};
  // Types of the processes that the holder may send to.
  std::vector<std::string> send = {};
  // External commands that the holder may take and complete. MayWork takes a
  // pattern, too: true if the holder may work on all commands that match it.
  std::vector<std::string> work = {};
  Sees sees = Sees::kOwn;
  // Quotas of the owner `name`, instead of the configured quotas.
  TokenQuotas quotas = {};

  [[nodiscard]] bool MaySubmit(std::string_view process_type) const {
    return May(Permission::kSubmit, submit, process_type);
  }
  [[nodiscard]] bool MaySend(std::string_view process_type) const {
    return May(Permission::kSend, send, process_type);
  }
  [[nodiscard]] bool MayWork(std::string_view command) const {
    return May(Permission::kWork, work, command);
  }

  // True: no process type, or no command, is refused because of its name.
  [[nodiscard]] bool MaySendToAll() const { return HasAll(send); }
  [[nodiscard]] bool MayWorkOnAll() const { return HasAll(work); }

  bool operator==(const Identity&) const = default;

 private:
  [[nodiscard]] static bool HasAll(const std::vector<std::string>& patterns) {
    return std::find(patterns.begin(), patterns.end(), "*") != patterns.end();
  }
  [[nodiscard]] bool May(Permission permission,
                         const std::vector<std::string>& patterns,
                         std::string_view wanted) const {
    return Permits(role, permission) &&
           std::any_of(patterns.begin(), patterns.end(),
                       [wanted](const std::string& pattern) {
                         return MatchesPattern(pattern, wanted);
                       });
  }
};

// A token as a file holds it: without its secret.
struct StoredToken {
  Identity identity;
  TokenHash hash = {};

  bool operator==(const StoredToken&) const = default;
};

}  // namespace actord::identity
