#include "daemon/api/routes/link_pages.h"

#include <actord/text.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/api/http_status.h"

namespace actord::daemon {
namespace {

constexpr std::string_view kStyle =
    "body{font:1.1rem/1.5 system-ui,sans-serif;margin:0;color:#1b1b1f;"
    "background:#f6f6f8}main{max-width:34rem;margin:12vh auto 0;padding:0 1rem}"
    "h1{font-size:1.5rem}p{white-space:pre-line;overflow-wrap:anywhere}"
    "button{font:inherit;padding:.6rem 1.4rem;margin:0 .6rem .6rem 0;"
    "border:1px solid #4a4a55;border-radius:.4rem;background:#fff;"
    "color:inherit;max-width:100%;overflow-wrap:anywhere;cursor:pointer}"
    "button:focus-visible{outline:3px solid #3060c0}small{color:#55555f}"
    "@media(prefers-color-scheme:dark){body{color:#ececf0;background:#17171a}"
    "button{background:#26262b}small{color:#a8a8b2}}";

AdminAnswer Page(unsigned status, std::string_view title,
                 const std::string& body) {
  static const std::string* const policy = new std::string(absl::StrCat(
      "default-src 'none'; style-src ", StyleSource(kStyle),
      "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"));
  AdminAnswer answer;
  answer.status = status;
  answer.content_type = "text/html; charset=utf-8";
  answer.headers = {{"Content-Security-Policy", *policy},
                    {"Referrer-Policy", "no-referrer"},
                    {"X-Frame-Options", "DENY"},
                    {"X-Robots-Tag", "noindex, nofollow"}};
  answer.body = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>",
      EscapeHtml(title), "</title><style>", std::string(kStyle),
      "</style></head><body><main><h1>", EscapeHtml(title), "</h1>\n", body,
      "</main></body></html>\n");
  return answer;
}

// A paragraph whose text cannot change the order of the text around it.
std::string Paragraph(std::string_view text) {
  return absl::StrCat("<p><bdi>", EscapeHtml(text), "</bdi></p>\n");
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : ToUtf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        // HTML has no control characters but the ends of lines.
        const bool is_control = (byte < ' ' && c != '\n') || c == '\x7f';
        escaped += is_control ? ' ' : c;
      }
    }
  }
  return escaped;
}

AdminAnswer AskPage(const YieldLink& link) {
  std::string body;
  if (!link.text.empty()) body += Paragraph(link.text);
  body += "<form method=\"post\">";
  if (link.values.empty()) body += "<button>Confirm</button>";
  for (size_t i = 0; i < link.values.size(); ++i) {
    absl::StrAppend(&body, "<button name=\"value\" value=\"", i, "\"><bdi>",
                    EscapeHtml(link.values[i]), "</bdi></button>");
  }
  const absl::Time expires =
      absl::FromUnixSeconds(static_cast<int64_t>(link.expires_unix_s));
  absl::StrAppend(
      &body, "</form>\n<p><small>This link works once, until ",
      absl::FormatTime("%Y-%m-%d %H:%M UTC", expires, absl::UTCTimeZone()),
      ".</small></p>\n");
  return Page(kHttpOk, link.values.empty() ? "Please confirm" : "Please choose",
              body);
}

AdminAnswer TextPage(unsigned status, std::string_view title,
                     std::string_view text) {
  return Page(status, title, Paragraph(text));
}

AdminAnswer InvalidLinkPage() {
  return TextPage(kHttpNotFound, "This link is not valid",
                  "Nothing was changed. Check that the whole link was copied, "
                  "or ask for a new one.");
}

AdminAnswer ExpiredLinkPage() {
  return TextPage(kHttpGone, "This link has expired",
                  "Nothing was changed. Ask for a new link.");
}

AdminAnswer AnsweredYieldPage() {
  return TextPage(kHttpGone, "This was already answered",
                  "A link works once, and the first answer counts.");
}

AdminAnswer EndedYieldPage() {
  return TextPage(kHttpGone, "This is no longer needed",
                  "It ended before there was an answer. Nothing was changed.");
}

AdminAnswer UnknownYieldPage() {
  return TextPage(kHttpNotFound, "Nothing waits for this answer",
                  "It has ended, or was answered long ago. Nothing was "
                  "changed.");
}

AdminAnswer DonePage(std::string_view value) {
  return TextPage(kHttpOk, "Thank you",
                  value.empty() ? std::string("Your confirmation was taken.")
                                : absl::StrCat("Your answer was taken: ",
                                               std::string(value)));
}

}  // namespace actord::daemon
