#include "client/top/layout.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "client/output/process_fields.h"
#include "client/output/text.h"

namespace actord::client::top {
namespace {

constexpr size_t kColumnGap = 2;
// Minimum width of a column without a fixed width, unless its content is
// narrower.
constexpr size_t kMinNameWidth = 24;
constexpr size_t kMinTextWidth = 8;
constexpr int kHighestImportance = 100;
// If fewer lines are left for the table, the header is cut.
constexpr size_t kMinTableLines = 4;

// The visible rows alone are formatted, because there may be a million others.
template <typename Row>
using Seen = std::span<const Row* const>;

template <typename Row>
size_t Wanted(const Column<Row>& column, Seen<Row> rows, bool sorted,
              const Cells& cells) {
  size_t width = cells.Width(column.heading) + (sorted ? 1 : 0);
  width = std::max(width, column.width);
  if (column.width > 0) return width;
  for (const Row* row : rows) {
    width = std::max(width, cells.Width(column.text(*row)));
  }
  return width;
}

struct Place {
  size_t column;
  size_t width;
};

// The columns that fit, and their widths. At least one column. `rows`: the
// visible rows of `all`.
template <typename Row>
std::vector<Place> Arrange(const std::vector<Column<Row>>& columns,
                           Seen<Row> all, Seen<Row> rows, size_t sorted,
                           size_t width, const Cells& cells) {
  std::vector<size_t> wanted(columns.size());
  std::vector<Place> places;
  size_t total = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto has = columns[i].has;
    if (has != nullptr && i != sorted &&
        std::none_of(all.begin(), all.end(),
                     [has](const Row* row) { return has(*row); })) {
      continue;
    }
    wanted[i] = Wanted(columns[i], rows, i == sorted, cells);
    const size_t least = i == 0 ? kMinNameWidth : kMinTextWidth;
    const size_t min =
        columns[i].width > 0 ? wanted[i] : std::min(wanted[i], least);
    places.push_back({.column = i, .width = min});
    total += min + (i == 0 ? 0 : kColumnGap);
  }
  // The sort column is left out last, except for the name.
  const auto importance = [&](const Place& place) {
    if (place.column == 0) return kHighestImportance;
    return place.column == sorted ? kHighestImportance - 1
                                  : columns[place.column].importance;
  };
  while (total > width && places.size() > 1) {
    const auto least = std::min_element(places.begin(), places.end(),
                                        [&](const Place& a, const Place& b) {
                                          return importance(a) < importance(b);
                                        });
    total -= least->width + kColumnGap;
    places.erase(least);
  }
  for (Place& place : places) {
    const size_t left = width > total ? width - total : 0;
    const size_t more = std::min(left, wanted[place.column] - place.width);
    place.width += more;
    total += more;
  }
  places.front().width = std::min(places.front().width, width);
  return places;
}

template <typename Row>
Frame DrawRows(const std::vector<Column<Row>>& columns,
               const std::vector<const Row*>& rows, const View& view,
               const Cells& cells, size_t width, size_t first, size_t count,
               bool marked) {
  Seen<Row> seen(rows);
  seen = seen.subspan(std::min(first, seen.size()));
  seen = seen.first(std::min(count, seen.size()));
  const std::vector<Place> places =
      Arrange(columns, Seen<Row>(rows), seen, view.sorted_by(), width, cells);
  Frame frame;
  // The cells of one column are fitted to its width.
  const auto joined = [&](const auto& text_of) {
    std::string line;
    for (const Place& place : places) {
      if (!line.empty()) line.append(kColumnGap, ' ');
      const Align align =
          columns[place.column].number ? Align::kRight : Align::kLeft;
      line += cells.Fit(text_of(place.column), place.width, align);
    }
    return line;
  };
  frame.push_back({{.text = joined([&](size_t i) {
                      std::string heading = columns[i].heading;
                      if (i != view.sorted_by()) return heading;
                      // Names are sorted from A to Z, numbers from the largest
                      // down.
                      const bool down = columns[i].number != view.reversed();
                      return heading +
                             (down ? cells.descending() : cells.ascending());
                    }),
                    .style = Style::kBold}});
  for (size_t i = 0; i < seen.size(); ++i) {
    std::string text =
        joined([&](size_t column) { return columns[column].text(*seen[i]); });
    const bool selected = marked && first + i == view.selected();
    if (selected) text = cells.Fit(text, width);
    frame.push_back({{.text = std::move(text),
                      .style = selected ? Style::kReverse : Style::kPlain}});
  }
  return frame;
}

struct HelpLine {
  std::string_view keys, what;
};

constexpr HelpLine kHelp[] = {
    {"q", "quit"},
    {"t", "process types, or processes"},
    {"up down PgUp PgDn", "move; Home and End too"},
    {"s", "sort by the next column"},
    {"S", "reverse the order"},
    {"/", "show a type, or the types that contain a text; Escape shows all"},
    {"Enter", "show the process, or the processes of the type"},
    {"k", "cancel the process: ask it to end"},
    {"K", "terminate the process: force it to end"},
    {"p", "pause, and resume"},
    {"+ -", "longer or shorter interval between samples"},
    {"Ctrl-L", "redraw"},
    {"?", "this help"},
    {"", ""},
    {"STEPS/S", "between the last two samples; - without an earlier sample"},
    {"MAILBOX BYTES", "backlog of events, and their memory"},
    {"YIELDS", "commands that have not completed"},
    {"STATE!", "cancel was requested"},
};

// A term in `first_width` cells, and its explanation.
Line PairLine(const std::string& first, size_t first_width,
              std::string_view second, const Cells& cells, size_t width) {
  std::string line = cells.Fit(first, first_width);
  line += second;
  return {{.text = cells.Clip(line, width)}};
}

Frame DrawHelp(const Cells& cells, size_t width) {
  constexpr size_t kKeysWidth = 20;
  Frame frame;
  for (const HelpLine& line : kHelp) {
    frame.push_back(
        PairLine(std::string(line.keys), kKeysWidth, line.what, cells, width));
  }
  return frame;
}

Frame DrawDetails(const Model& model, const View& view, const Cells& cells,
                  size_t width) {
  if (!view.details()) return {{{.text = cells.Clip("...", width)}}};
  if (!view.details()->ok()) {
    return {{{.text = cells.Clip(
                  std::string(view.details()->status().message()), width),
              .style = Style::kWarning}}};
  }
  constexpr size_t kNameWidth = 18;
  Frame frame;
  for (const auto& [name, value] :
       ProcessFields(**view.details(), model.now())) {
    frame.push_back(PairLine(name + ":", kNameWidth, value, cells, width));
  }
  return frame;
}

Line DrawFooter(const Model& model, const View& view, const Cells& cells,
                size_t width) {
  const auto line = [&](const std::string& text, Style style) {
    return Line{{.text = cells.Clip(text, width), .style = style}};
  };
  switch (view.prompt()) {
    case View::Prompt::kFilter:
      return line("type: " + view.typed() + "_   Enter, or Escape",
                  Style::kBold);
    case View::Prompt::kCancel:
      return line("cancel " + view.pid() + " (" + view.pid_type() + ")? y/n",
                  Style::kWarning);
    case View::Prompt::kTerminate:
      return line("terminate " + view.pid() + " (" + view.pid_type() +
                      ") by force? y/n",
                  Style::kWarning);
    case View::Prompt::kNone:
      break;
  }
  if (!view.message().empty()) return line(view.message(), Style::kBold);
  if (view.page() == View::Page::kHelp) {
    return line("any key: back   q: quit", Style::kFaint);
  }
  if (view.page() == View::Page::kDetails) {
    return line("Escape: back   k: cancel   K: terminate   q: quit",
                Style::kFaint);
  }
  if (!model.known()) return line("q: quit", Style::kFaint);
  std::string text;
  // For the whole name of a type, the daemon has listed that type alone.
  if (!view.filter().empty() && view.filter() != model.request().process_type) {
    text = WithThousands(view.rows()) +
           (view.types() ? " types with \"" : " with \"") + view.filter() +
           "\" in ";
  }
  return line(text + LookedAt(model) + "   ?: help   q: quit", Style::kFaint);
}

}  // namespace

Frame DrawTable(const View& view, const Cells& cells, size_t width,
                size_t first, size_t count, bool marked) {
  return view.types() ? DrawRows(TypeColumns(), view.type_rows(), view, cells,
                                 width, first, count, marked)
                      : DrawRows(ProcessColumns(), view.processes(), view,
                                 cells, width, first, count, marked);
}

Frame Draw(const Model& model, View& view, const Link& link, const Cells& cells,
           Size size) {
  if (size.width == 0 || size.height == 0) return {};
  Frame frame = DrawHeader(model, view, link, cells, size.width);
  const size_t for_header = size.height > kMinTableLines + 1
                                ? size.height - kMinTableLines - 1
                                : std::min<size_t>(size.height - 1, 1);
  if (frame.size() > for_header) frame.resize(for_header);
  // An empty line, if the rest leaves room for it.
  if (frame.size() < for_header) frame.emplace_back();
  const size_t body_lines = size.height - frame.size() - 1;
  view.SetVisibleRows(body_lines > 1 ? body_lines - 1 : 1);
  Frame body;
  if (view.page() == View::Page::kHelp) {
    body = DrawHelp(cells, size.width);
  } else if (view.page() == View::Page::kDetails) {
    body = DrawDetails(model, view, cells, size.width);
  } else if (model.known()) {
    body = DrawTable(view, cells, size.width, view.first_visible(), body_lines,
                     /*marked=*/true);
  }
  body.resize(body_lines);
  frame.insert(frame.end(), body.begin(), body.end());
  frame.push_back(DrawFooter(model, view, cells, size.width));
  return frame;
}

}  // namespace actord::client::top
