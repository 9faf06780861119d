#include "client/output/output.h"

#include <algorithm>
#include <utility>

#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Spaces between columns.
constexpr size_t kGap = 2;

std::string Emphasise(const char* code, const std::string& text, bool colour) {
  return colour ? std::string(code) + text + "\x1b[0m" : text;
}

// Names come from the daemon, or are typed text that the daemon received.
std::string NameFor(const OutputStyle& style, const std::string& name) {
  return style.terminal ? SeveralLines(name) : name;
}

}  // namespace

ListWriter::ListWriter(std::ostream& out, const OutputStyle& style,
                       std::vector<Column> columns)
    : out_(out), style_(style), columns_(std::move(columns)) {
  for (const Column& column : columns_) {
    widths_.push_back(Width(column.heading));
    hidden_.push_back(column.wide_only && style_.format != Format::kWide);
  }
}

void ListWriter::Add(const Item& item) {
  empty_ = false;
  switch (style_.format) {
    case Format::kTable:
    case Format::kWide:
      AddRow(item.cells());
      break;
    case Format::kJson:
      out_ << (first_ ? "[\n" : ",\n") << Write(item.json(), true);
      break;
    case Format::kJsonl:
      out_ << Write(item.json()) << '\n';
      break;
    case Format::kYaml:
      out_ << WriteYaml(Json::array({item.json()}));
      break;
    case Format::kName:
      out_ << NameFor(style_, item.name()) << '\n';
      break;
  }
  first_ = false;
}

void ListWriter::AddRow(std::vector<std::string> cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = OneLine(cells[i]);
    widths_[i] = std::max(widths_[i], Width(cells[i]));
  }
  page_.push_back(std::move(cells));
}

void ListWriter::EndPage() {
  if (!page_.empty() && !headings_written_) {
    HideEmptyColumns();
    WriteHeadings();
  }
  for (const auto& cells : page_) WriteRow(cells, false);
  page_.clear();
}

void ListWriter::Finish() {
  EndPage();
  if (style_.format == Format::kJson) out_ << (first_ ? "[]\n" : "\n]\n");
  if (style_.format == Format::kYaml && first_) out_ << "[]\n";
}

void ListWriter::HideEmptyColumns() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].if_filled) continue;
    hidden_[i] =
        std::all_of(page_.begin(), page_.end(),
                    [i](const auto& cells) { return cells[i].empty(); });
  }
}

void ListWriter::WriteHeadings() {
  headings_written_ = true;
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  WriteRow(headings, style_.colour);
}

void ListWriter::WriteRow(const std::vector<std::string>& cells, bool bold) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (hidden_[i]) continue;
    const std::string padding(widths_[i] - Width(cells[i]), ' ');
    line += columns_[i].number ? padding + cells[i] : cells[i] + padding;
    line.append(kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out_ << Bold(line, bold) << '\n';
}

void WriteOne(std::ostream& out, const OutputStyle& style, const Json& json,
              const std::string& name, const std::function<void()>& table) {
  switch (style.format) {
    case Format::kTable:
    case Format::kWide:
      table();
      break;
    case Format::kJson:
      out << Write(json, true) << '\n';
      break;
    case Format::kJsonl:
      out << Write(json) << '\n';
      break;
    case Format::kYaml:
      out << WriteYaml(json);
      break;
    case Format::kName:
      if (!name.empty()) out << NameFor(style, name) << '\n';
      break;
  }
}

void WriteFields(
    std::ostream& out,
    const std::vector<std::pair<std::string, std::string>>& fields) {
  size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, Width(name));
  for (const auto& [name, value] : fields) {
    out << name << ':' << std::string(width - Width(name) + kGap, ' ')
        << OneLine(value) << '\n';
  }
}

void WriteRaw(std::ostream& out, const OutputStyle& style,
              const v1::Payload& payload, bool separate) {
  const std::string& data = payload.data();
  if (style.terminal) {
    out << SeveralLines(data);
  } else {
    out.write(data.data(), static_cast<std::streamsize>(data.size()));
  }
  const bool open_line = data.empty() ? separate : data.back() != '\n';
  if (open_line && (style.terminal || separate)) out << '\n';
}

std::string Bold(const std::string& text, bool colour) {
  return Emphasise("\x1b[1m", text, colour);
}

std::string Red(const std::string& text, bool colour) {
  return Emphasise("\x1b[31m", text, colour);
}

}  // namespace actord::client
