// Finds the token of a waiting command from what a person has typed.
//
// Thread-safety: as Invocation.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/invocation.h"

namespace actord::client {

// The help of the options that the argument TOKEN takes.
inline constexpr char kTokenArgument[] =
    "Token of the yield, see \"actorctl yields\"; its beginning, if no other "
    "waiting command has it; or -, for the only waiting command";

// The whole token for `typed`: a token, the beginning of one, or "-". A text
// that looks like a whole token is returned as it is, without a question to the
// daemon. Tells people which command was found. NOT_FOUND: no command waits, or
// none has this beginning. A usage error lists the commands if there are
// several. Reads at most 100,000 waiting commands; RESOURCE_EXHAUSTED: there
// are more.
absl::StatusOr<std::string> FindToken(Invocation& invocation,
                                      const std::string& typed);

// The PID in the text of a whole token; "": it is no token.
std::string PidOfToken(const std::string& token);

}  // namespace actord::client
