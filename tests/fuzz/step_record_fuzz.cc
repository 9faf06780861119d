// The record of a step is refused with a reason, or it is written again, and
// read, as the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/memory/buffer_pool.h"
#include "runtime/step/record_format.h"
#include "tests/fuzz/input.h"

namespace actord::runtime {
namespace {

// False: refused.
bool ReadAndWrite(std::string_view bytes, BufferCache& buffers,
                  std::string& out) {
  DecodedRecord decoded;
  const absl::Status status = DecodeRecord(bytes, buffers, decoded);
  if (!status.ok()) {
    fuzz::Require(absl::IsInvalidArgument(status) && !status.message().empty(),
                  "a refusal has a reason");
    return false;
  }
  EncodeRecord(decoded, out);
  FreeContents(decoded, buffers);
  return true;
}

void Check(std::string_view bytes) {
  BufferPool pool;
  BufferCache buffers(pool);
  std::string once;
  if (!ReadAndWrite(bytes, buffers, once)) return;
  std::string twice;
  fuzz::Require(ReadAndWrite(once, buffers, twice), "a written record is read");
  fuzz::Require(once == twice, "a record is written as it was read");
}

}  // namespace
}  // namespace actord::runtime

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::runtime::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
