#include "client/commands/yields/find_token.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/paging.h"
#include "client/output/exit_status.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

constexpr size_t kMostSearched = 100'000;
constexpr size_t kMostCandidates = 5;
// A PID has four numbers with dots between them; a dot and the tag follow.
constexpr int kDotsOfToken = 4;

// Whether a token may begin so, and the text is not a whole token. The daemon
// refuses all other texts, and says why.
bool IsBeginning(const std::string& typed) {
  const bool fits = std::all_of(typed.begin(), typed.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '.';
  });
  return fits && !typed.empty() &&
         (typed.back() == '.' ||
          std::count(typed.begin(), typed.end(), '.') < kDotsOfToken);
}

std::string CommandText(const v1::Yield& yield) {
  return absl::StrCat(yield.token(), " (", yield.command(), " of ",
                      yield.process_type(), ")");
}

struct FoundYields {
  size_t count = 0;
  std::vector<v1::Yield> first = {};  // at most kMostCandidates
};

absl::StatusOr<FoundYields> FindYields(Invocation& invocation,
                                       const std::string& beginning) {
  FoundYields found;
  size_t searched = 0;
  const absl::Status status = ForEachElement(
      v1::ListYieldsRequest(), 0,
      [&](const v1::ListYieldsRequest& page)
          -> absl::StatusOr<v1::ListYieldsResponse> {
        if (searched >= kMostSearched) {
          return absl::ResourceExhaustedError(
              "more than 100,000 commands wait; give a whole token, which "
              "\"actorctl yields\" lists");
        }
        return invocation.client().ListYields(page, invocation.Quick());
      },
      [](const v1::ListYieldsResponse& response) -> const auto& {
        return response.yields();
      },
      [&](const v1::Yield& yield) {
        ++searched;
        if (!yield.token().starts_with(beginning)) return;
        ++found.count;
        if (found.first.size() < kMostCandidates) found.first.push_back(yield);
      },
      [] {});
  if (!status.ok()) return status;
  return found;
}

}  // namespace

std::string PidOfToken(const std::string& token) {
  size_t end = 0;
  for (int dot = 1; dot <= kDotsOfToken; ++dot) {
    end = token.find('.', dot == 1 ? 0 : end + 1);
    if (end == std::string::npos) return "";
  }
  return token.substr(0, end);
}

absl::StatusOr<std::string> FindToken(Invocation& invocation,
                                      const std::string& typed) {
  const bool is_only = typed == "-";
  if (!is_only && !IsBeginning(typed)) return typed;
  const auto found = FindYields(invocation, is_only ? "" : typed);
  if (!found.ok()) return found.status();
  if (found->count == 0) {
    return absl::NotFoundError(
        is_only ? "no command waits for an answer"
                : absl::StrCat("no waiting command has a token that begins "
                               "with \"",
                               typed, "\""));
  }
  if (found->count > 1) {
    std::string text =
        is_only ? absl::StrCat(found->count, " commands wait; give the token: ")
                : absl::StrCat(found->count, " tokens begin with \"", typed,
                               "\": ");
    for (const v1::Yield& yield : found->first) {
      absl::StrAppend(&text, &yield == &found->first.front() ? "" : ", ",
                      CommandText(yield));
    }
    if (found->count > found->first.size()) text += ", ...";
    return UsageError(text);
  }
  const v1::Yield& yield = found->first.front();
  if (invocation.ForPeople()) {
    invocation.err() << OneLine(CommandText(yield)) << '\n';
  }
  return yield.token();
}

}  // namespace actord::client
