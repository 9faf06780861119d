// What the streams of the client that write batches have in common.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace actord::client {

// The daemon's limit of items in one batch.
inline constexpr int kMaxBatchItems = 1000;
// A batch has at most this many bytes. A larger item is a batch of its own.
inline constexpr size_t kMaxBatchBytes = size_t{256} << 10;
// Each daemon reads a batch of one item of this size. The batch of a larger one
// could end the stream; as a call of its own it fails alone.
inline constexpr size_t kMaxStreamedItemBytes = size_t{3} << 20;
// How long a stream that has nothing left to answer may take to end.
inline constexpr absl::Duration kStreamEndPatience = absl::Seconds(1);

}  // namespace actord::client
