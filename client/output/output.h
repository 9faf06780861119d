// Writes what a command found, in the format that -o asks for.
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

// Where output goes and how it may look.
struct OutputStyle {
  Format format = Format::kTable;
  bool terminal = false;  // standard output is one
  bool colour = false;    // headings may be emphasised
};

struct Column {
  std::string heading;
  bool wide_only = false;
  bool number = false;  // aligned to the right
};

// One thing in a list. The functions are called at most once, within Add.
struct Item {
  std::function<Json()> json;
  std::function<std::string()> name;
  std::function<std::vector<std::string>()> cells;  // one for each column
};

// Writes a list as its items come, so that it may be of any length. Rows of a
// table are held back until EndPage, for the columns' widths.
class ListWriter {
 public:
  ListWriter(std::ostream& out, const OutputStyle& style,
             std::vector<Column> columns);

  void Add(const Item& item);
  void EndPage();
  void Finish();

 private:
  void AddRow(std::vector<std::string> cells);
  void WriteHeadings();
  void WriteRow(const std::vector<std::string>& cells, bool bold);

  std::ostream& out_;
  const OutputStyle style_;
  const std::vector<Column> columns_;
  bool first_ = true;
  bool headings_written_ = false;
  std::vector<std::vector<std::string>> page_;
  std::vector<size_t> widths_;
};

// One thing with its name, which may be "" or several lines; `table` writes it
// in the formats for people.
void WriteOne(std::ostream& out, const OutputStyle& style, const Json& json,
              const std::string& name, const std::function<void()>& table);

// "Name:   value" lines, the values in one column.
void WriteFields(
    std::ostream& out,
    const std::vector<std::pair<std::string, std::string>>& fields);

// The very bytes, but on a terminal what SeveralLines leaves of them. On a
// terminal, or when `separate`, with a line end if they have none.
void WriteRaw(std::ostream& out, const OutputStyle& style,
              const v1::Payload& payload, bool separate = false);

std::string Bold(const std::string& text, bool colour);
std::string Red(const std::string& text, bool colour);

}  // namespace actord::client
