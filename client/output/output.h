// Writes the result of a command in the format of -o.
//
// Thread-safety: not thread-safe. Ownership: borrows the stream.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "actord/v1/payload.pb.h"
#include "client/output/json.h"
#include "google/protobuf/message.h"

namespace actord::client {

enum class Format { kTable, kWide, kJson, kJsonl, kYaml, kName };

// The destination and style of the output.
struct OutputStyle {
  Format format = Format::kTable;
  // Standard output is a terminal.
  bool terminal = false;
  // Headings may be emphasised.
  bool colour = false;
};

struct Column {
  std::string heading;
  bool wide_only = false;
  // Aligned to the right.
  bool number = false;
  // Shown only if a row of the first page has a text in it.
  bool if_filled = false;
};

// One item of a list. Add calls each function at most once.
struct Item {
  std::function<Json()> json;
  std::function<std::string()> name;
  // One for each column.
  std::function<std::vector<std::string>()> cells;
};

// Writes a list as its items come, so a list may be of any length. Rows of a
// table are held back until EndPage, to know the widths of the columns.
class ListWriter {
 public:
  ListWriter(std::ostream& out, const OutputStyle& style,
             std::vector<Column> columns);

  void Add(const Item& item);
  void EndPage();
  void Finish();
  // Nothing was added.
  [[nodiscard]] bool empty() const { return empty_; }

 private:
  void AddRow(std::vector<std::string> cells);
  void HideEmptyColumns();
  void WriteHeadings();
  void WriteRow(const std::vector<std::string>& cells, bool bold);

  std::ostream& out_;
  const OutputStyle style_;
  const std::vector<Column> columns_;
  std::vector<bool> hidden_;
  bool first_ = true;
  bool empty_ = true;
  bool headings_written_ = false;
  std::vector<std::vector<std::string>> page_;
  std::vector<size_t> widths_;
};

// Writes one item and its name, which may be "" or several lines; `table`
// writes the item in the formats for people.
void WriteOne(std::ostream& out, const OutputStyle& style, const Json& json,
              const std::string& name, const std::function<void()>& table);

// Writes "Name:   value" lines, with the values in one column.
void WriteFields(
    std::ostream& out,
    const std::vector<std::pair<std::string, std::string>>& fields);

// Writes the exact bytes, but on a terminal the result of SeveralLines. On a
// terminal, or if `separate`, adds a line end if they have none.
void WriteRaw(std::ostream& out, const OutputStyle& style,
              const v1::Payload& payload, bool separate = false);

std::string Bold(const std::string& text, bool colour);
std::string Red(const std::string& text, bool colour);

}  // namespace actord::client
