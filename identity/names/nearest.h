// The name that a user may have meant.
//
// Thread-safety: a pure function. Its time is bounded: names of another length
// are not compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace actord::identity {

// The known name that is nearest to `typed`: it begins with `typed`, or at most
// a third of its characters, and at most three, are wrong, missing, too much or
// exchanged with their neighbour. The first of several; "" if there is none.
std::string NearestName(std::string_view typed,
                        const std::vector<std::string>& known);

// "; did you mean "NAME"?" with the nearest name, for the end of a message; ""
// if there is none.
std::string DidYouMean(std::string_view typed,
                       const std::vector<std::string>& known);

}  // namespace actord::identity
