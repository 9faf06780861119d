#include <gtest/gtest.h>

#include <array>
#include <string>

#include "runtime/delivery/traced_events.h"
#include "runtime/process/envelope.h"

namespace actord::runtime {
namespace {

class ContentTypes : public ::testing::Test {
 protected:
  Envelope* New(const std::string& bytes, std::string_view type) {
    return Envelope::Create(buffers_, ACTORD_EVENT_MESSAGE, "topic",
                            {ToAbi(bytes), ToAbi(type)});
  }
  void Free(Envelope* envelope) { Envelope::Destroy(buffers_, envelope); }

  BufferPool pool_;
  BufferCache buffers_{pool_};
};

TEST_F(ContentTypes, AreReadAsTheyWereGiven) {
  // The last have the sizes of the types that are held as numbers.
  for (const std::string type :
       {"", "text/plain", "application/octet-stream", "application/json",
        "image/png", "text/plaid", "application/jsom",
        "application/octet-streal"}) {
    for (const std::string& bytes : {std::string(), std::string(200, 'b')}) {
      Envelope* const envelope = New(bytes, type);
      EXPECT_EQ(View(envelope->payload().content_type), type);
      EXPECT_EQ(View(envelope->payload().bytes), bytes);
      EXPECT_EQ(envelope->topic(), "topic");
      EXPECT_EQ(envelope->bytes(),
                Envelope::BytesFor("topic", envelope->payload()));
      actord_event event{};
      envelope->WriteMessage(event);
      EXPECT_EQ(View(event.payload.content_type), type);
      EXPECT_EQ(View(event.topic), "topic");
      Free(envelope);
    }
  }
}

TEST_F(ContentTypes, OfTheLongestTypeAreReadAsTheyWereGiven) {
  const std::string type(kMaxLabelBytes, 't');
  Envelope* const envelope = New("bytes", type);
  EXPECT_EQ(View(envelope->payload().content_type), type);
  Free(envelope);
}

TEST_F(ContentTypes, OfMostPayloadsTakeNoRoom) {
  for (const char* type :
       {"text/plain", "application/octet-stream", "application/json"}) {
    Envelope* const envelope = New(std::string(19, 'b'), type);
    EXPECT_TRUE(envelope->IsOfOneLine()) << type;
    Free(envelope);
  }
  Envelope* const other = New(std::string(19, 'b'), "image/png");
  EXPECT_FALSE(other->IsOfOneLine());
  Free(other);
}

TEST_F(ContentTypes, ComeWithAReplacedText) {
  Envelope* const envelope = New("before", "image/png");
  envelope->ReplaceText("after",
                        HeldType(ToAbi(std::string_view("text/plain"))));
  EXPECT_EQ(View(envelope->payload().bytes), "after");
  EXPECT_EQ(View(envelope->payload().content_type), "text/plain");
  envelope->ReplaceText("json", HeldType());
  EXPECT_EQ(View(envelope->payload().content_type), "");
  Free(envelope);
}

TEST_F(ContentTypes, StayInACopyWithATrace) {
  for (const std::string type : {"", "text/plain", "image/png"}) {
    Envelope* const envelope = New("bytes", type);
    TraceContext trace;
    trace.state = "vendor=1";
    Envelope* const traced = NewTraced(buffers_, *envelope, trace);
    EXPECT_EQ(View(traced->payload().content_type), type);
    EXPECT_EQ(View(traced->payload().bytes), "bytes");
    EXPECT_EQ(traced->bytes(),
              TracedBytesFor("topic", envelope->payload(), false, &trace));
    Free(traced);
    Free(envelope);
  }
}

}  // namespace
}  // namespace actord::runtime
