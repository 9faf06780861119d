// How the effects of a call differ from those of its record, for people.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "runtime/step/effect.h"

namespace actord::runtime {

// Names the first effect that differs; "": all are the same.
std::string DifferenceOf(const std::vector<Effect>& now,
                         const std::vector<Effect>& recorded);

}  // namespace actord::runtime
