// The columns of the two tables of "actorctl top", and the sorting of their
// rows.
//
// Thread-safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/top/model.h"

namespace actord::client::top {

template <typename Row>
struct Column {
  // Same as in --sort.
  const char* name;
  // In ASCII.
  const char* heading;
  // Unit: cells. 0: as wide as the content, within the remaining width.
  size_t width;
  // Aligned to the right.
  bool number;
  // When the terminal is narrow, the column with the lowest importance is left
  // out first. At most 98, except for the first column.
  int importance;
  std::string (*text)(const Row&);
  // Whether the first row is shown above the second: the largest numbers come
  // first, and names go from A to Z.
  bool (*above)(const Row&, const Row&);
  // The column is left out if no row has it, and it does not sort the rows.
  // Null: every row has it.
  bool (*has)(const Row&) = nullptr;
};

// The first column is the name of a row, and has the highest importance.
const std::vector<Column<ProcessRow>>& ProcessColumns();
const std::vector<Column<TypeRow>>& TypeColumns();

// Sorts by one column. Equal rows keep their order, so that no row jumps from
// sample to sample. Borrows the rows.
template <typename Row>
void SortRows(std::vector<const Row*>& rows, const Column<Row>& by,
              bool reversed) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) {
    return reversed ? by.above(*b, *a) : by.above(*a, *b);
  });
}

// Index of the column with this name.
template <typename Row>
std::optional<size_t> ColumnNamed(const std::vector<Column<Row>>& columns,
                                  std::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

// "1,234", or "1.23M" if that needs more than `width` characters.
std::string ShortCount(uint64_t count, size_t width);
// "0", "0.3", "27", "1,234", "12.3k", "4.60M"; "-" if there is no rate.
std::string ShortRate(Rate rate);

}  // namespace actord::client::top
