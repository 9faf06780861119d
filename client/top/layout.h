// What "actorctl top" writes on a terminal of some size.
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

// How it stands with the connection.
struct Link {
  std::string address;
  absl::Status state = absl::OkStatus();  // else what the last sample failed of
  absl::Duration retry_in = absl::ZeroDuration();  // if it did
  absl::Duration seen = absl::ZeroDuration();      // how old the figures are
};

// At most `size.height` lines of at most `size.width` cells. Tells `view` how
// many rows are seen. Any size will do, though a small one shows little.
Frame Draw(const Model& model, View& view, const Link& link, const Cells& cells,
           Size size);

// The lines above the table, of whatever width is needed up to `width`.
Frame DrawHeader(const Model& model, const View& view, const Link& link,
                 const Cells& cells, size_t width);

// The headings and `count` rows from `first` on, `width` cells at most.
// `marked`: the selected row is shown as such.
Frame DrawTable(const View& view, const Cells& cells, size_t width,
                size_t first, size_t count, bool marked);

// Which processes were looked at: "all 318 processes", "the first 10,000 of
// 1,204,331 processes".
std::string LookedAt(const Model& model);

}  // namespace actord::client::top
