// The payload of a journal's record is refused with a reason, or it is written
// again as the same bytes. The first two bytes of the input are the kind.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/memory/buffer_pool.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/record_codec.h"
#include "runtime/step/record_format.h"
#include "tests/fuzz/input.h"

namespace actord::runtime {
namespace {

// The turn of a STEP has a codec of its own.
void CheckTurn(std::string_view bytes) {
  BufferPool pool;
  BufferCache buffers(pool);
  DecodedRecord decoded;
  const absl::Status status = DecodeTurn(bytes, buffers, decoded);
  if (!status.ok()) {
    fuzz::Require(absl::IsInvalidArgument(status) && !status.message().empty(),
                  "a refusal has a reason");
    return;
  }
  std::string again;
  EncodeTurn(decoded, again);
  FreeContents(decoded, buffers);
  fuzz::Require(again == bytes, "a turn is written as it was read");
}

// The runtime's part of an image is not a record, and has the kind 0.
void CheckImage(std::string_view bytes) {
  records::RuntimeImage image;
  if (!DecodeFields(bytes, image).ok()) return;
  std::string again;
  EncodeFields(image, again);
  fuzz::Require(again == bytes, "an image is written as it was read");
}

void Check(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto kind =
      static_cast<uint16_t>(static_cast<unsigned char>(bytes[0]) |
                            static_cast<unsigned char>(bytes[1]) << 8);
  bytes.remove_prefix(2);
  if (kind == 0) return CheckImage(bytes);
  std::optional<records::Any> record;
  const absl::Status status = records::Decode(kind, 0, bytes, record);
  if (!status.ok()) {
    fuzz::Require(absl::IsInvalidArgument(status) && !status.message().empty(),
                  "a refusal has a reason");
    return;
  }
  std::string again;
  records::Encode(*record, again);
  fuzz::Require(again == bytes, "a record is written as it was read");
  if (const auto* const step = std::get_if<records::Step>(&*record)) {
    CheckTurn(step->record);
  }
}

}  // namespace
}  // namespace actord::runtime

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::runtime::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
