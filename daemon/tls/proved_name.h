// The name that a client's certificate proves.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "identity/certificates/x509.h"

namespace actord::daemon {

// The longest name. A certificate with a longer name proves no name.
inline constexpr size_t kMaxProvedNameBytes = 512;

// The first URI of the subject's alternative names, for example
// "spiffe://example.org/billing"; else the first DNS name there; else the last
// common name of the subject. "": the certificate proves no name. A name with a
// control character, or longer than the limit, is not replaced by a name of the
// next kind: such a certificate proves no name.
std::string ProvedName(const identity::Certificate& certificate);

}  // namespace actord::daemon
