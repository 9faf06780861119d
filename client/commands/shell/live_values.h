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

// Writes the candidates with the beginning, one a line: the value, a tab, and
// what it is.
void PrintCandidates(const std::vector<Candidate>& candidates,
                     const Completion& completion, std::ostream& out);

}  // namespace actord::client
