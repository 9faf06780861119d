// The state of the view of "actorctl top", and the effects of the keys.
//
// Thread-safety: not thread-safe. Pure: a key's request to the daemon or the
// terminal is returned as a wish. Ownership: borrows the model's rows from one
// Refresh to the next.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/top/keys.h"
#include "client/top/model.h"
#include "client/top/table.h"
#include "client/top/wish.h"

namespace actord::client::top {

struct ViewOptions {
  // Show types; otherwise processes.
  bool types = false;
  // Sort column; steps/s.
  size_t process_column = 7;
  // Sort column; processes.
  size_t type_column = 1;
  bool reversed = false;
  std::string filter = {};
  absl::Duration interval = absl::Seconds(2);
};

class View {
 public:
  enum class Page { kTable, kHelp, kDetails };
  enum class Prompt { kNone, kFilter, kCancel, kTerminate };

  explicit View(ViewOptions options) : options_(std::move(options)) {}

  // Call it whenever the model has changed. The selected row stays selected
  // wherever it moves. If that row is gone, the row in its place is selected.
  void Refresh(const Model& model);
  Wish Press(const Key& key, const Model& model);

  // Number of visible rows; at least 1.
  void SetVisibleRows(size_t rows);

  // Shows the outcome of a wish.
  void ShowDetails(absl::StatusOr<v1::Process> process);
  void Say(std::string what);
  // Shows an outcome beside the earlier outcomes, the newest first, until a key
  // is pressed. At most kMostTold of them.
  void Tell(std::string what);
  static constexpr size_t kMostTold = 16;

  [[nodiscard]] Page page() const { return page_; }
  [[nodiscard]] Prompt prompt() const { return prompt_; }
  // The prompt asks whether to end a process: only a key that was pressed while
  // the prompt was visible may answer it.
  [[nodiscard]] bool asks() const {
    return prompt_ == Prompt::kCancel || prompt_ == Prompt::kTerminate;
  }
  [[nodiscard]] bool types() const { return options_.types; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] absl::Duration interval() const { return options_.interval; }
  [[nodiscard]] bool reversed() const { return options_.reversed; }
  // Index of the sort column of the visible table.
  [[nodiscard]] size_t sorted_by() const {
    return options_.types ? options_.type_column : options_.process_column;
  }
  // Filter of types: the type with this name or, if there is none, the types
  // whose names contain this text.
  [[nodiscard]] const std::string& filter() const { return options_.filter; }
  // The text that is being typed at the prompt.
  [[nodiscard]] const std::string& typed() const { return typed_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  // The PID of the prompt or of the details.
  [[nodiscard]] const std::string& pid() const { return pid_; }
  [[nodiscard]] const std::string& pid_type() const { return pid_type_; }
  [[nodiscard]] const std::optional<absl::StatusOr<v1::Process>>& details()
      const {
    return details_;
  }

  // The visible rows, filtered and sorted. The vector that types() names holds
  // them; the other is empty.
  [[nodiscard]] const std::vector<const ProcessRow*>& processes() const {
    return processes_;
  }
  [[nodiscard]] const std::vector<const TypeRow*>& type_rows() const {
    return sorted_types_;
  }
  [[nodiscard]] size_t rows() const {
    return options_.types ? sorted_types_.size() : processes_.size();
  }
  [[nodiscard]] size_t selected() const { return selected_; }
  [[nodiscard]] size_t first_visible() const { return first_visible_; }

  // The type to request from the daemon: the filter, if it is the whole name of
  // a type; otherwise "", all types.
  [[nodiscard]] std::string WantedType(
      const v1::GetStatusResponse& status) const;

 private:
  Wish PressInTable(const Key& key, const Model& model);
  Wish PressText(char c, const Model& model);
  Wish PressInFilter(const Key& key, const Model& model);
  Wish PressInQuestion(const Key& key);
  Wish PressInDetails(const Key& key);
  Wish OpenSelected(const Model& model);
  void ChooseSelected();
  void AskAboutSelected(Prompt question);
  Wish SetFilter(std::string filter, const Model& model);
  void MoveTo(size_t row);
  void ChangeInterval(int steps);
  void KeepInSight();
  // The name of the selected row, or "".
  [[nodiscard]] std::string SelectedName() const;

  ViewOptions options_;
  Page page_ = Page::kTable;
  Prompt prompt_ = Prompt::kNone;
  bool paused_ = false;
  std::string typed_;
  std::string message_;
  // Number of outcomes in message_.
  size_t told_ = 0;
  std::string pid_;
  std::string pid_type_;
  // Unset: not yet known.
  std::optional<absl::StatusOr<v1::Process>> details_;
  std::vector<const ProcessRow*> processes_;
  std::vector<TypeRow> types_;
  std::vector<const TypeRow*> sorted_types_;
  std::string selected_name_;
  size_t selected_ = 0;
  size_t first_visible_ = 0;
  size_t visible_ = 1;
};

}  // namespace actord::client::top
