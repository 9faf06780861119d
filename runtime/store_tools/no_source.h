// A source without bodies. The applier asks for bodies only at the end of a
// round, and over a closed store no round ends.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/store/record_source.h"

namespace actord::runtime {

class NoSource final : public RecordSource {
 public:
  absl::StatusOr<SourceRecord> At(uint64_t lsn) override {
    return absl::InternalError(
        absl::StrCat("the body at position ", lsn, " was asked for"));
  }
};

}  // namespace actord::runtime
