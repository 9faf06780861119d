#include "client/top/view.h"

#include <actord/text.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"

namespace actord::client::top {
namespace {

constexpr std::string_view kBetweenTold = "; ";
// As long as the name of a type.
constexpr size_t kMaxFilterBytes = 128;

// The intervals that + and - choose from.
constexpr std::array kIntervals = {
    absl::Milliseconds(100), absl::Milliseconds(200), absl::Milliseconds(500),
    absl::Seconds(1),        absl::Seconds(2),        absl::Seconds(5),
    absl::Seconds(10),       absl::Seconds(30),       absl::Minutes(1)};

bool IsText(const Key& key, char c) {
  return key.kind == KeyKind::kText && key.text.size() == 1 &&
         key.text.front() == c;
}

}  // namespace

void View::Refresh(const Model& model) {
  const std::string whole = WantedType(model.status());
  const auto wanted = [&](const std::string& type) {
    return whole.empty() ? absl::StrContains(type, filter()) : type == whole;
  };
  processes_.clear();
  types_.clear();
  sorted_types_.clear();
  if (options_.types) {
    types_ = TypesOf(model.processes());
    for (const TypeRow& row : types_) {
      if (wanted(row.type)) sorted_types_.push_back(&row);
    }
    SortRows(sorted_types_, TypeColumns()[options_.type_column], reversed());
  } else {
    for (const ProcessRow& row : model.processes()) {
      if (wanted(row.process.process_type())) processes_.push_back(&row);
    }
    SortRows(processes_, ProcessColumns()[options_.process_column], reversed());
  }
  for (size_t i = 0; i < rows() && !selected_name_.empty(); ++i) {
    if ((options_.types ? sorted_types_[i]->type
                        : processes_[i]->process.pid()) == selected_name_) {
      selected_ = i;
      break;
    }
  }
  MoveTo(selected_);
}

std::string View::SelectedName() const {
  if (selected_ >= rows()) return "";
  return options_.types ? sorted_types_[selected_]->type
                        : processes_[selected_]->process.pid();
}

void View::MoveTo(size_t row) {
  selected_ = rows() == 0 ? 0 : std::min(row, rows() - 1);
  // The first row is a place, not a process: while the selection has not moved,
  // it stays at the top.
  selected_name_ = selected_ == 0 ? "" : SelectedName();
  KeepInSight();
}

void View::KeepInSight() {
  if (selected_ < first_visible_) first_visible_ = selected_;
  if (selected_ >= first_visible_ + visible_) {
    first_visible_ = selected_ + 1 - visible_;
  }
  // Scroll back: no empty lines below while there are rows above.
  const size_t last_first = rows() > visible_ ? rows() - visible_ : 0;
  first_visible_ = std::min(first_visible_, last_first);
}

void View::SetVisibleRows(size_t rows) {
  visible_ = std::max<size_t>(rows, 1);
  KeepInSight();
}

std::string View::WantedType(const v1::GetStatusResponse& status) const {
  for (const v1::ProcessType& type : status.process_types()) {
    if (type.name() == filter()) return filter();
  }
  return "";
}

void View::ShowDetails(absl::StatusOr<v1::Process> process) {
  if (page_ == Page::kDetails) details_ = std::move(process);
}

void View::Say(std::string what) {
  message_ = std::move(what);
  told_ = 0;
}

void View::Tell(std::string what) {
  if (told_ == kMostTold) {
    message_.resize(message_.rfind(kBetweenTold));
    --told_;
  }
  if (told_ > 0) what.append(kBetweenTold).append(message_);
  message_ = std::move(what);
  ++told_;
}

Wish View::Press(const Key& key, const Model& model) {
  // Text for a filter; elsewhere a paste was not meant for this program.
  if (key.pasted && prompt_ != Prompt::kFilter) return {};
  Say("");
  switch (key.kind) {
    case KeyKind::kInterrupt:
      return {.kind = Wish::Kind::kInterrupt};
    case KeyKind::kSuspend:
      return {.kind = Wish::Kind::kSuspend};
    case KeyKind::kRedraw:
      return {.kind = Wish::Kind::kRedraw};
    default:
      break;
  }
  if (prompt_ == Prompt::kFilter) return PressInFilter(key, model);
  if (prompt_ != Prompt::kNone) return PressInQuestion(key);
  if (IsText(key, 'q')) return {.kind = Wish::Kind::kQuit};
  if (page_ == Page::kHelp) {
    // Any key.
    page_ = Page::kTable;
    return {};
  }
  return page_ == Page::kDetails ? PressInDetails(key)
                                 : PressInTable(key, model);
}

Wish View::PressInTable(const Key& key, const Model& model) {
  switch (key.kind) {
    case KeyKind::kUp:
      MoveTo(selected_ == 0 ? 0 : selected_ - 1);
      return {};
    case KeyKind::kDown:
      MoveTo(selected_ + 1);
      return {};
    case KeyKind::kPageUp:
      MoveTo(selected_ > visible_ ? selected_ - visible_ : 0);
      return {};
    case KeyKind::kPageDown:
      MoveTo(selected_ + visible_);
      return {};
    case KeyKind::kHome:
      MoveTo(0);
      return {};
    case KeyKind::kEnd:
      MoveTo(rows());
      return {};
    case KeyKind::kEnter:
      return OpenSelected(model);
    case KeyKind::kEscape:
      return filter().empty() ? Wish{} : SetFilter("", model);
    case KeyKind::kText:
      return key.text.size() == 1 ? PressText(key.text.front(), model) : Wish{};
    default:
      return {};
  }
}

Wish View::PressText(char c, const Model& model) {
  size_t& column =
      options_.types ? options_.type_column : options_.process_column;
  const size_t columns =
      options_.types ? TypeColumns().size() : ProcessColumns().size();
  switch (c) {
    case '?':
    case 'h':
      page_ = Page::kHelp;
      return {};
    case 's':
      column = (column + 1) % columns;
      break;
    case 'S':
      options_.reversed = !options_.reversed;
      break;
    case 't':
      options_.types = !options_.types;
      selected_ = 0;
      selected_name_.clear();
      break;
    case 'p':
    case ' ':
      paused_ = !paused_;
      return {.kind = paused_ ? Wish::Kind::kNone : Wish::Kind::kSample};
    case '+':
      ChangeInterval(1);
      return {};
    case '-':
      ChangeInterval(-1);
      return {};
    case '/':
      prompt_ = Prompt::kFilter;
      typed_ = filter();
      return {};
    case 'k':
      AskAboutSelected(Prompt::kCancel);
      return {};
    case 'K':
      AskAboutSelected(Prompt::kTerminate);
      return {};
    default:
      return {};
  }
  Refresh(model);
  return {};
}

void View::ChangeInterval(int steps) {
  if (steps > 0) {
    const auto* longer = std::upper_bound(kIntervals.begin(), kIntervals.end(),
                                          options_.interval);
    if (longer != kIntervals.end()) options_.interval = *longer;
    return;
  }
  const auto* place =
      std::lower_bound(kIntervals.begin(), kIntervals.end(), options_.interval);
  if (place != kIntervals.begin()) options_.interval = *(place - 1);
}

Wish View::OpenSelected(const Model& model) {
  const std::string name = SelectedName();
  if (name.empty()) return {};
  if (options_.types) {
    options_.types = false;
    selected_ = 0;
    selected_name_.clear();
    return SetFilter(name, model);
  }
  page_ = Page::kDetails;
  ChooseSelected();
  details_.reset();
  return {.kind = Wish::Kind::kLook, .pid = pid_};
}

void View::ChooseSelected() {
  pid_ = SelectedName();
  pid_type_ = pid_.empty() ? "" : processes_[selected_]->process.process_type();
}

void View::AskAboutSelected(Prompt question) {
  if (page_ != Page::kDetails) {
    if (options_.types) {
      Say("choose a process: Enter shows those of this type");
      return;
    }
    ChooseSelected();
  }
  if (!pid_.empty()) prompt_ = question;
}

Wish View::SetFilter(std::string filter, const Model& model) {
  options_.filter = std::move(filter);
  Refresh(model);
  // The daemon may have processes of that type outside the sample.
  return {.kind = Wish::Kind::kSample};
}

Wish View::PressInFilter(const Key& key, const Model& model) {
  switch (key.kind) {
    case KeyKind::kText:
      if (typed_.size() + key.text.size() <= kMaxFilterBytes)
        typed_ += key.text;
      return {};
    case KeyKind::kBackspace:
      // Back to the beginning of the last character.
      while (!typed_.empty()) {
        const char last = typed_.back();
        typed_.pop_back();
        if (!ContinuesUtf8(last)) break;
      }
      return {};
    case KeyKind::kEnter:
      prompt_ = Prompt::kNone;
      return SetFilter(typed_, model);
    case KeyKind::kEscape:
      prompt_ = Prompt::kNone;
      return {};
    default:
      return {};
  }
}

Wish View::PressInQuestion(const Key& key) {
  const Prompt asked = prompt_;
  prompt_ = Prompt::kNone;
  if (!IsText(key, 'y')) {
    Say("nothing was done");
    return {};
  }
  return {.kind = asked == Prompt::kCancel ? Wish::Kind::kCancel
                                           : Wish::Kind::kTerminate,
          .pid = pid_};
}

Wish View::PressInDetails(const Key& key) {
  if (IsText(key, 'k')) {
    AskAboutSelected(Prompt::kCancel);
  } else if (IsText(key, 'K')) {
    AskAboutSelected(Prompt::kTerminate);
  } else if (key.kind == KeyKind::kEscape || key.kind == KeyKind::kEnter) {
    page_ = Page::kTable;
  }
  return {};
}

}  // namespace actord::client::top
