#include <actord/owned.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace actord {
namespace {

// Sizes at the limits of each way to copy, and around the size of a message's
// inline buffer.
const std::vector<size_t> kSizes = {0,  1,  2,  3,  4,  5,  7,  8,  9,  15,
                                    16, 17, 31, 32, 33, 47, 48, 49, 200};

std::string Text(char first, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>(first + i % 23);
  return text;
}

TEST(CopyBytes, CopiesAllAndNothingElse) {
  for (const size_t size : kSizes) {
    const std::string from = Text('A', size);
    std::string to(size + 2, '-');
    detail::CopyBytes(to.data() + 1, from.data(), size);
    EXPECT_EQ(to, "-" + from + "-");
  }
  detail::CopyBytes(nullptr, nullptr, 0);
}

TEST(Message, ShowsWhatTheEventShowed) {
  for (const size_t topic_size : kSizes) {
    for (const size_t type_size : kSizes) {
      for (const size_t payload_size : kSizes) {
        std::string topic = Text('a', topic_size);
        std::string type = Text('E', type_size);
        std::string payload = Text('0', payload_size);
        actord_event event{};
        event.type = ACTORD_EVENT_MESSAGE;
        event.from = {1, 2, 3, 5};
        event.call = 7;
        event.topic = detail::ToAbi(topic);
        event.payload = {detail::ToAbi(payload), detail::ToAbi(type)};
        Message first((Event(&event)));
        const Message message = std::move(first);
        const auto expected = std::tuple(topic, type, payload);
        for (std::string* gone : {&topic, &type, &payload})
          gone->assign(9, '?');

        EXPECT_EQ(message.from(), Pid(event.from));
        EXPECT_EQ(message.call(), 7U);
        EXPECT_EQ(std::tuple(std::string(message.topic()),
                             std::string(message.payload().content_type),
                             std::string(message.payload().bytes)),
                  expected);
        EXPECT_EQ(first.bytes(), 0U);  // NOLINT(bugprone-use-after-move)
      }
    }
  }
}

TEST(ContentType, OfATextIsTextPlain) {
  const std::string text = "text";
  const char* const literal = "text";
  for (const Payload& payload :
       {Payload("text"), Payload(text), Payload(std::string_view(text)),
        Payload(literal)}) {
    EXPECT_EQ(payload.content_type, "text/plain");
    EXPECT_FALSE(payload.is_json());
  }
  for (const OwnedPayload& payload :
       {OwnedPayload("text"), OwnedPayload(text),
        OwnedPayload(std::string_view(text)), OwnedPayload(literal)}) {
    EXPECT_EQ(payload.content_type, "text/plain");
  }
  OwnedPayload moved(std::string(100, 't'));
  EXPECT_EQ(moved.content_type, "text/plain");
  EXPECT_EQ(moved.bytes.size(), 100);
}

TEST(ContentType, OfAnEmptyTextIsEmpty) {
  EXPECT_EQ(Payload("").content_type, "");
  EXPECT_EQ(Payload(std::string()).content_type, "");
  EXPECT_EQ(OwnedPayload(std::string()).content_type, "");
}

TEST(ContentType, OfJsonIsJson) {
  EXPECT_TRUE(Payload::Json("{}").is_json());
  EXPECT_TRUE(OwnedPayload::Json("{}").is_json());
  EXPECT_EQ(OwnedPayload::Json("{}").content_type, "application/json");
  // The type that is given is kept, even an empty one.
  EXPECT_EQ(OwnedPayload("{}", "").content_type, "");
  EXPECT_EQ(OwnedPayload(Payload("x", "image/png")).content_type, "image/png");
}

}  // namespace
}  // namespace actord
