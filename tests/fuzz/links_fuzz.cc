// Links to yields. A text that the daemon has not signed is no link, a link
// reads as it was signed, and no other text is the same link. The page of a
// link shows its texts, and runs none of them. Forms and paths are read without
// harm.
//
// An input is: mode (1 byte), and
//   0, 1  a text that is said to be a link, a form, or a path
//   2, 3  a link: expiry, text, number of values and values; then a place and a
//         bit that is turned; then the body of the form
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "actord/text.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/routes/link_routes.h"
#include "daemon/links/yield_links.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"
#include "tests/fuzz/input.h"

namespace actord::fuzz {
namespace {

using daemon::LinkKey;
using daemon::YieldLink;

constexpr LinkKey kKey{1, 2, 3};

const google::protobuf::ServiceDescriptor& Contract() {
  return *v1::SubmitRequest::descriptor()->file()->pool()->FindServiceByName(
      "actord.v1.ActorService");
}

void ReadText(Input input) {
  const std::string text(input.rest());
  Require(!daemon::ReadLink(kKey, text).has_value(),
          "nobody makes a link without the key");
  const auto parameters = daemon::ReadParameters(text);
  Require(parameters.ok() || absl::IsInvalidArgument(parameters.status()),
          "a form is read or refused");
  for (const auto plus : {daemon::Plus::kIsBlank, daemon::Plus::kIsPlus}) {
    Require(daemon::PercentDecoded(text, plus).size() <= text.size(),
            "decoding makes a text no longer");
  }
}

YieldLink MakeLink(Input& input) {
  YieldLink link;
  link.yield = {.pid = *runtime::ParsePid("1.5.2.1"), .tag = 3};
  link.expires_unix_s = input.Word();
  link.maker = "billing";
  link.text = ToUtf8(input.Text());
  link.text.resize(std::min(link.text.size(), daemon::kMaxLinkTextBytes));
  const size_t values = input.Below(daemon::kMaxLinkValues + 1);
  for (size_t i = 0; i < values; ++i) {
    std::string value = ToUtf8(input.Text());
    value.resize(std::min(value.size(), daemon::kMaxLinkValueBytes));
    link.values.push_back(value);
  }
  return link;
}

std::string PageOf(const daemon::YieldLinks& links, const YieldLink& link,
                   const char* verb, std::string_view body) {
  static daemon::Logger logger(daemon::LogFormat::kConsole,
                               runtime::LogLevel::kError);
  daemon::AdminRequest request;
  request.method = verb;
  request.path = std::string(daemon::kLinkPath) + daemon::SignLink(kKey, link);
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.body = std::string(body);
  request.peer = "ipv4:127.0.0.1:49152";
  daemon::AdminAnswer answer;
  if (daemon::FindLinkRoute(Contract(), links, logger, request, answer)) {
    return "";
  }
  Require(answer.status != 500, "an error blames the daemon: " + answer.body);
  return answer.body;
}

void ShowLink(Input input) {
  static const daemon::YieldLinks links(
      kKey,
      [](const runtime::YieldToken&) { return runtime::YieldFate::kWaiting; },
      runtime::Clock::System());
  const YieldLink link = MakeLink(input);
  const std::string text = daemon::SignLink(kKey, link);
  const std::optional<YieldLink> read = daemon::ReadLink(kKey, text);
  Require(read.has_value() && read->text == link.text &&
              read->values == link.values &&
              read->expires_unix_s == link.expires_unix_s,
          "a link reads as it was signed");
  std::string other = text;
  const size_t place = input.Below(other.size());
  other[place] = static_cast<char>(other[place] ^ (1 << input.Below(8)));
  Require(!daemon::ReadLink(kKey, other).has_value() ||
              daemon::SignLink(kKey, *daemon::ReadLink(kKey, other)) == text,
          "a changed text is no other link");
  // The same page, with texts that are certainly harmless.
  YieldLink plain = link;
  plain.text = "x";
  for (std::string& value : plain.values) value = "x";
  const auto tags = [&](const YieldLink& one) {
    const std::string page = PageOf(links, one, "GET", "");
    return std::count(page.begin(), page.end(), '<');
  };
  if (!link.text.empty()) {
    Require(tags(link) == tags(plain), "texts of a link make no tag");
  }
  PageOf(links, link, "POST", input.rest());
}

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::fuzz::Input input(data, size);
  if (input.Byte() % 4 < 2) {
    actord::fuzz::ReadText(input);
  } else {
    actord::fuzz::ShowLink(input);
  }
  return 0;
}
