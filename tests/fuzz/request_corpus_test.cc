// Each method of the contract has a seed for the fuzz target `requests`, which
// bears its name, reaches it and is a request of its type.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "actord/v1/actor_service.pb.h"
#include "tests/fuzz/service/method_choice.h"

namespace actord::fuzz {
namespace {

using google::protobuf::MethodDescriptor;

const google::protobuf::ServiceDescriptor& Contract() {
  return *v1::SubmitRequest::descriptor()->file()->pool()->FindServiceByName(
      "actord.v1.ActorService");
}

bool Parses(const MethodDescriptor& method, std::string_view bytes) {
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(method.input_type())
          ->New());
  return request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// A stream of requests: each comes after its length in 2 bytes.
bool ParsesAsStream(const MethodDescriptor& method, std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes.size() < 2) return false;
    const size_t length = static_cast<uint8_t>(bytes[0]) +
                          256 * (static_cast<uint8_t>(bytes[1]) % 16);
    bytes.remove_prefix(2);
    if (!Parses(method, bytes.substr(0, length))) return false;
    bytes.remove_prefix(std::min(length, bytes.size()));
  }
  return true;
}

// The corpus has two folders: for calls that change something, and for others.
std::string SeedOf(const std::string& method) {
  for (const char* folder : {"/changes/", "/reads/"}) {
    std::ifstream file(ACTORD_FUZZ_CORPUS + (folder + method),
                       std::ios::binary);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
  }
  return "";
}

TEST(RequestCorpus, EachMethodHasASeedThatReachesIt) {
  std::set<uint16_t> hashes;
  for (int i = 0; i < Contract().method_count(); ++i) {
    const MethodDescriptor& method = *Contract().method(i);
    SCOPED_TRACE(method.name());
    EXPECT_TRUE(hashes.insert(HashOfMethod(method.name())).second)
        << "two methods have one hash: change HashOfMethod and the seeds";
    const std::string seed = SeedOf(method.name());
    ASSERT_NE(seed, "") << "tests/fuzz/corpus/requests needs a seed";
    ASSERT_GE(seed.size(), 3u);
    const auto number = static_cast<uint16_t>(
        static_cast<uint8_t>(seed[0]) | static_cast<uint8_t>(seed[1]) << 8);
    EXPECT_EQ(number, HashOfMethod(method.name()));
    EXPECT_EQ(ChooseMethod(Contract(), number).name(), method.name());
    const std::string_view request = std::string_view(seed).substr(3);
    EXPECT_TRUE(method.client_streaming() ? ParsesAsStream(method, request)
                                          : Parses(method, request));
  }
}

TEST(RequestCorpus, EachNumberChoosesAMethod) {
  std::set<std::string> chosen;
  for (int number = 0; number <= UINT16_MAX; ++number) {
    chosen.insert(
        ChooseMethod(Contract(), static_cast<uint16_t>(number)).name());
  }
  EXPECT_EQ(chosen.size(), static_cast<size_t>(Contract().method_count()));
}

}  // namespace
}  // namespace actord::fuzz
