// Lays out the frame of "actorctl top" for a terminal of any size.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/top/cells.h"
#include "client/top/frame.h"
#include "client/top/model.h"
#include "client/top/view.h"

namespace actord::client::top {

// The state of the connection.
struct Link {
  std::string address;
  // OK, or the error of the last sample.
  absl::Status state = absl::OkStatus();
  // Time until the retry, after an error.
  absl::Duration retry_in = absl::ZeroDuration();
  // Age of the figures.
  absl::Duration seen = absl::ZeroDuration();
};

// At most `size.height` lines of at most `size.width` cells. Tells `view` how
// many rows are visible. Every size works, though a small frame shows little.
Frame Draw(const Model& model, View& view, const Link& link, const Cells& cells,
           Size size);

// The lines above the table, as wide as they need to be, up to `width`.
Frame DrawHeader(const Model& model, const View& view, const Link& link,
                 const Cells& cells, size_t width);

// The headings and `count` rows from `first` on, at most `width` cells.
// `marked`: the selected row is highlighted.
Frame DrawTable(const View& view, const Cells& cells, size_t width,
                size_t first, size_t count, bool marked);

// The processes of the sample: "all 318 processes", "the first 10,000 of
// 1,204,331 processes".
std::string LookedAt(const Model& model);

}  // namespace actord::client::top
