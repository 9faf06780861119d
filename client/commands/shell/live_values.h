// The values for a completion that the daemon and the file of contexts know.
#pragma once

#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/usage/candidates.h"

namespace actord::client {

// At most some hundred values. None if they are not to be had, since a
// completion has nobody to complain to. All of their characters are safe in a
// shell.
std::vector<Candidate> LiveCandidates(Invocation& invocation,
                                      const Completion& completion);

// The line that asks the shell for files. A candidate is never empty.
inline constexpr char kFilesLine[] = "\tfiles";

// Writes the candidates with the beginning, one a line: the value, a tab, and
// what it is. If the value may be a file, kFilesLine comes first.
void PrintCandidates(const std::vector<Candidate>& candidates,
                     const Completion& completion, std::ostream& out);

}  // namespace actord::client
