// The first bytes of a stranger: those of a connection that gRPC has not read,
// in which the guard looks for floods, and the header `authorization` of a
// call.
//
// An input is: mode (1 byte), and the bytes of the connection (even), or two
// texts that are said to be values of `authorization` (odd).
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/access/access_control.h"
#include "daemon/connections/guard_policy.h"
#include "daemon/connections/http2_frames.h"
#include "identity/token_layout.h"
#include "runtime/process/errors.h"
#include "runtime/system/clock.h"
#include "tests/fuzz/input.h"
#include "tests/identity/tokens.h"

namespace actord::fuzz {
namespace {

constexpr size_t kFrameHeaderBytes = 9;
constexpr size_t kMaxCounted = 5;

void ReadBytes(std::string_view bytes) {
  const auto protocol = daemon::ProtocolOf(bytes);
  for (size_t i = 0; i < bytes.size() && i < 24; ++i) {
    const auto before = daemon::ProtocolOf(bytes.substr(0, i));
    Require(before != daemon::Protocol::kHttp1 || before == protocol,
            "more bytes of a text of HTTP/1 change nothing");
  }
  const size_t resets = daemon::CountCallsResetAtOnce(bytes);
  Require(resets * 2 * kFrameHeaderBytes <= bytes.size() + kFrameHeaderBytes,
          "each reset has two frames");
  Require(daemon::CountCallsResetAtOnce(bytes, kMaxCounted) ==
              std::min(resets, kMaxCounted),
          "the count stops at the maximum");
  const size_t pings = daemon::CountPings(bytes);
  Require(pings * kFrameHeaderBytes <= bytes.size(), "each ping has a frame");
  Require(
      daemon::CountPings(bytes, kMaxCounted) == std::min(pings, kMaxCounted),
      "the count stops at the maximum");
  Require(daemon::EstimateResets(bytes, bytes.size()) == resets,
          "an estimate of all bytes is the count");
}

class Gate {
 public:
  Gate() {
    std::string directory = "/tmp/actord-fuzz-XXXXXX";
    Require(mkdtemp(directory.data()) != nullptr, "a directory is made");
    config_.auth_tokens = directory + "/tokens.toml";
    std::ofstream(config_.auth_tokens)
        << identity::FormatTokenTable(identity::ClientToken(1));
    Require(chmod(config_.auth_tokens.c_str(), 0600) == 0, "it is private");
    auto opened =
        daemon::AccessControl::Open(config_, logger_, runtime::Clock::System());
    Require(opened.ok(), opened.status().ToString());
    access_ = *std::move(opened);
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

  void Ask(const daemon::HttpSource& source) {
    static const auto& method =
        *v1::SubmitRequest::descriptor()
             ->file()
             ->pool()
             ->FindServiceByName("actord.v1.ActorService")
             ->FindMethodByName("GetStatus");
    const auto access = access_->Admit(daemon::CallSource(source), method, 0);
    const bool is_right =
        source.authorization.size() == 1 &&
        absl::StartsWithIgnoreCase(source.authorization[0], "Bearer ") &&
        source.authorization[0].substr(7) == identity::TokenText(1);
    Require(access.ok() == is_right,
            "the token, and no other text, is admitted");
    if (access.ok()) return;
    Require(absl::IsUnauthenticated(access.status()) &&
                !runtime::ReasonOf(access.status()).empty(),
            "a refusal has a reason");
    for (const std::string& text : source.authorization) {
      Require(text.size() < 20 ||
                  !absl::StrContains(access.status().message(), text),
              "a refusal shows no token");
    }
  }

 private:
  daemon::Config config_;
  daemon::Logger logger_{daemon::LogFormat::kConsole,
                         runtime::LogLevel::kError};
  std::unique_ptr<daemon::AccessControl> access_;
};

void Authorize(Input input, bool has_two) {
  static Gate gate;
  daemon::HttpSource source;
  source.peer = "ipv4:127.0.0.1:49152";
  source.authorization.push_back(input.Text());
  if (has_two) source.authorization.push_back(input.Text());
  gate.Ask(source);
}

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::fuzz::Input input(data, size);
  const uint8_t mode = input.Byte();
  if (mode % 2 == 0) {
    actord::fuzz::ReadBytes(input.rest());
  } else {
    actord::fuzz::Authorize(input, (mode & 2) != 0);
  }
  return 0;
}
