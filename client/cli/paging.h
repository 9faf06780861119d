// Walks over the pages of a List RPC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace actord::client {

// The daemon's limit.
inline constexpr int kMaxPageSize = 1000;

// Calls `list(request)` for page after page, `show(element)` for each element
// until `limit` (0: all) were shown, and `end_page()` after each page.
// `elements` returns the repeated field of a response.
template <typename Request, typename List, typename Elements, typename Show,
          typename EndPage>
absl::Status ForEachElement(Request request, uint64_t limit, const List& list,
                            const Elements& elements, const Show& show,
                            const EndPage& end_page) {
  uint64_t left = limit;
  do {
    const uint64_t page =
        limit == 0 ? kMaxPageSize : std::min<uint64_t>(left, kMaxPageSize);
    request.set_page_size(static_cast<int32_t>(page));
    const auto response = list(request);
    if (!response.ok()) return response.status();
    for (const auto& element : elements(*response)) {
      if (limit != 0 && left == 0) break;
      show(element);
      if (limit != 0) --left;
    }
    end_page();
    request.set_page_token(response->next_page_token());
  } while (!request.page_token().empty() && (limit == 0 || left > 0));
  return absl::OkStatus();
}

}  // namespace actord::client
