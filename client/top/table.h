// The columns of the two tables of "actorctl top", and the order of their rows.
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
  const char* name;     // as --sort takes it
  const char* heading;  // in ASCII
  // Unit: cells. 0: as its content wants, within what is left.
  size_t width;
  bool number;  // aligned to the right
  // When the terminal is narrow, columns with less of it go first. At most 98,
  // but for the first column.
  int importance;
  std::string (*text)(const Row&);
  // Whether the first stands above the second: numbers from the largest down,
  // names from A to Z.
  bool (*above)(const Row&, const Row&);
};

// The first column is the name of a row, and is of the highest importance.
const std::vector<Column<ProcessRow>>& ProcessColumns();
const std::vector<Column<TypeRow>>& TypeColumns();

// By one column; rows that are alike in it keep their order, so that nothing
// jumps from sample to sample. Borrows the rows.
template <typename Row>
void SortRows(std::vector<const Row*>& rows, const Column<Row>& by,
              bool reversed) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) {
    return reversed ? by.above(*b, *a) : by.above(*a, *b);
  });
}

// Which column has that name.
template <typename Row>
std::optional<size_t> ColumnNamed(const std::vector<Column<Row>>& columns,
                                  std::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

// "1,234", or "1.23M" when that takes more than `width` characters.
std::string ShortCount(uint64_t count, size_t width);
// "0", "0.3", "27", "1,234", "12.3k", "4.60M"; "-" if there is none.
std::string ShortRate(Rate rate);

}  // namespace actord::client::top
