// The pages of links to yields (daemon/links/), in HTML.
//
// No page has a script. All texts are escaped. The headers forbid a browser to
// run, load, frame, keep or pass on anything.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "daemon/admin/admin_request.h"
#include "daemon/links/yield_link.h"

namespace actord::daemon {

// Asks, with a button for each value. Nothing is completed by looking at it.
AdminAnswer AskPage(const YieldLink& link);

// Says one thing, with this status of HTTP.
AdminAnswer TextPage(unsigned status, std::string_view title,
                     std::string_view text);

AdminAnswer InvalidLinkPage();
AdminAnswer ExpiredLinkPage();
AdminAnswer AnsweredYieldPage();
AdminAnswer EndedYieldPage();
AdminAnswer UnknownYieldPage();
// `value`: "" if the link offers none.
AdminAnswer DonePage(std::string_view value);

// `text` as text of HTML, also within quotation marks.
std::string EscapeHtml(std::string_view text);

}  // namespace actord::daemon
