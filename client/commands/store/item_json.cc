#include "client/commands/store/item_json.h"

#include <actord/text.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/commands/store/item_fields.h"
#include "runtime/store/state_keys.h"

namespace actord::client {
namespace {

using runtime::Fingerprint;
using runtime::Pid;

// ---- Names of values

constexpr std::array<const char*, 5> kMailKinds = {
    "message", "call", "completion", "cancel", "terminate"};
constexpr std::array<const char*, 2> kDurabilities = {"image", "replay"};
constexpr std::array<const char*, 2> kYieldKinds = {"command", "call"};
constexpr std::array<const char*, 7> kEndReasons = {
    "result",    "failed",     "threw", "init_refused",
    "cancelled", "terminated", "limit"};
constexpr std::array<const char*, 6> kDropReasons = {
    "unknown_process", "ended",       "mailbox_full",
    "dropped_at_end",  "quarantined", "yield_limit"};
constexpr std::array<const char*, 5> kIdKinds = {"", "submit", "send", "call",
                                                 "yield"};
constexpr std::array<const char*, 7> kItemKinds = {
    "store", "owner", "plugin", "process", "dead_letter", "result", "id"};

std::span<const char* const> NamesOf(runtime::MailKind) { return kMailKinds; }
std::span<const char* const> NamesOf(runtime::records::Durability) {
  return kDurabilities;
}
std::span<const char* const> NamesOf(runtime::records::YieldKind) {
  return kYieldKinds;
}
std::span<const char* const> NamesOf(runtime::records::EndReason) {
  return kEndReasons;
}
std::span<const char* const> NamesOf(runtime::records::DropReason) {
  return kDropReasons;
}

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
concept NamedEnum = std::is_enum_v<T> && !std::same_as<T, runtime::Owner>;

std::string Base64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

// ---- Writing

class Writer {
 public:
  template <typename T>
  static Json Of(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      return value;
    } else if constexpr (std::same_as<T, runtime::Owner>) {
      return static_cast<uint16_t>(value);
    } else if constexpr (NamedEnum<T>) {
      return NamesOf(value)[static_cast<size_t>(value)];
    } else if constexpr (std::integral<T>) {
      if constexpr (sizeof(T) == sizeof(uint64_t)) return std::to_string(value);
      return value;
    } else if constexpr (std::same_as<T, std::string>) {
      if (IsUtf8(value)) return value;
      return {{"base64", Base64(value)}};
    } else if constexpr (std::same_as<T, Pid>) {
      return runtime::FormatPid(value);
    } else if constexpr (kIsVector<T>) {
      Json list = Json::array();
      for (const auto& one : value) list.push_back(Of(one));
      return list;
    } else {
      Writer writer;
      items::Visit(value, writer);
      return std::move(writer.out_);
    }
  }

  template <typename T>
  void operator()(const char* name, const T& value) {
    if constexpr (kIsOptional<T>) {
      if (value.has_value()) out_[name] = Of(*value);
    } else if constexpr (kIsVector<T>) {
      if (!value.empty()) out_[name] = Of(value);
    } else if constexpr (NamedEnum<T>) {
      out_[name] = Of(value);
    } else if constexpr (std::equality_comparable<T>) {
      if (value != T{}) out_[name] = Of(value);
    } else {
      Json object = Of(value);
      if (!object.empty()) out_[name] = std::move(object);
    }
  }
  void Bytes(const char* name, const std::string& value) {
    if (!value.empty()) out_[name] = Base64(value);
  }
  void IdKind(const char* name, uint8_t kind) { out_[name] = kIdKinds[kind]; }
  void Image(const char* name,
             const std::optional<runtime::ImageEntry>& image) {
    if (!image.has_value()) return;
    runtime::StateImage state;
    if (!runtime::DecodeFields(image->image, state).ok()) {
      out_[name] = {{"position", Of(image->lsn)},
                    {"record", Base64(image->image)}};
      return;
    }
    Json json = {{"position", Of(image->lsn)}};
    json.update(Of(state));
    out_[name] = std::move(json);
  }

 private:
  Json out_ = Json::object();
};

// ---- Reading

class Reader {
 public:
  Reader(const Json& in, std::string path) : in_(in), path_(std::move(path)) {
    if (!in.is_object()) Refuse("", "it is not an object");
  }

  template <typename T>
  void operator()(const char* name, T& value) {
    const Json* const field = Find(name);
    if (field == nullptr) return;
    if constexpr (kIsOptional<T>) {
      Read(name, *field, value.emplace());
    } else {
      Read(name, *field, value);
    }
  }
  void Bytes(const char* name, std::string& value) {
    const Json* const field = Find(name);
    if (field != nullptr) ReadBytes(name, *field, value);
  }
  void IdKind(const char* name, uint8_t& kind) {
    const Json* const field = Find(name);
    if (field != nullptr) {
      ReadName(name, *field, kIdKinds,
               [&](size_t index) { kind = static_cast<uint8_t>(index); });
    }
  }
  void Image(const char* name, std::optional<runtime::ImageEntry>& image) {
    const Json* const field = Find(name);
    if (field == nullptr) return;
    image.emplace();
    Reader inner(*field, Path(name));
    inner("position", image->lsn);
    if (inner.in_.is_object() && inner.in_.contains("record")) {
      inner.Bytes("record", image->image);
    } else {
      runtime::StateImage state;
      items::Visit(state, inner);
      runtime::EncodeFields(state, image->image);
    }
    Take(inner);
  }
  // Accepts a field that does not belong to the item.
  void Ignore(const char* name) { used_.insert(name); }

  absl::Status Finish() {
    if (!in_.is_object()) return status_;
    for (const auto& [key, value] : in_.items()) {
      if (!used_.contains(key)) Refuse(key, "there is no such field");
    }
    return status_;
  }

 private:
  const Json* Find(const char* name) {
    used_.insert(name);
    if (!in_.is_object()) return nullptr;
    const auto found = in_.find(name);
    return found == in_.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::string Path(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }
  void Refuse(const std::string& name, const std::string& why) {
    status_.Update(
        absl::InvalidArgumentError(absl::StrCat(Path(name), ": ", why)));
  }
  void Take(Reader& inner) { status_.Update(inner.Finish()); }

  void ReadBytes(const std::string& name, const Json& in, std::string& value) {
    if (!in.is_string() ||
        !absl::Base64Unescape(in.get_ref<const std::string&>(), &value)) {
      Refuse(name, "it is not base64");
    }
  }
  void ReadName(const std::string& name, const Json& in,
                std::span<const char* const> names, auto set) {
    for (size_t i = 0; in.is_string() && i < names.size(); ++i) {
      if (in.get_ref<const std::string&>() == names[i]) return set(i);
    }
    Refuse(name, "there is no such value");
  }

  template <typename T>
  void Read(const std::string& name, const Json& in, T& value) {
    if constexpr (std::same_as<T, bool>) {
      if (!in.is_boolean()) return Refuse(name, "it is neither true nor false");
      value = in.get<bool>();
    } else if constexpr (std::same_as<T, runtime::Owner>) {
      uint16_t number = 0;
      Read(name, in, number);
      value = runtime::Owner{number};
    } else if constexpr (NamedEnum<T>) {
      ReadName(name, in, NamesOf(value),
               [&](size_t index) { value = static_cast<T>(index); });
    } else if constexpr (std::integral<T>) {
      ReadNumber(name, in, value);
    } else if constexpr (std::same_as<T, std::string>) {
      if (in.is_object() && in.size() == 1 && in.contains("base64")) {
        return ReadBytes(name, in["base64"], value);
      }
      if (!in.is_string()) return Refuse(name, "it is not a string");
      value = in.get<std::string>();
    } else if constexpr (std::same_as<T, Pid>) {
      if (!in.is_string()) return Refuse(name, "it is not a PID");
      const auto pid = runtime::ParsePid(in.get<std::string>());
      if (!pid.ok()) return Refuse(name, "it is not a PID");
      value = *pid;
    } else if constexpr (kIsVector<T>) {
      if (!in.is_array()) return Refuse(name, "it is not a list");
      for (const Json& one : in) Read(name, one, value.emplace_back());
    } else {
      Reader inner(in, Path(name));
      items::Visit(value, inner);
      Take(inner);
    }
  }
  template <std::integral T>
  void ReadNumber(const std::string& name, const Json& in, T& value) {
    std::string digits;
    if constexpr (sizeof(T) == sizeof(uint64_t)) {
      if (in.is_string()) digits = in.get<std::string>();
    } else {
      if (in.is_number_integer()) digits = in.dump();
    }
    const char* const end = digits.data() + digits.size();
    const auto [last, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || last != end) {
      Refuse(name, sizeof(T) == sizeof(uint64_t)
                       ? "it is not a string of decimal digits"
                       : "it is not a number of its range");
    }
  }

  const Json& in_;
  const std::string path_;
  std::set<std::string> used_;
  absl::Status status_;
};

// The body of an item is in the item.
void Place(uint64_t position, runtime::Mail& mail) { mail.lsn = position; }
void PlaceBodies(runtime::AnyItem& item) {
  if (auto* const letter = std::get_if<runtime::LetterItem>(&item)) {
    Place(letter->position, letter->letter.mail);
  }
  auto* const process = std::get_if<runtime::ProcessItem>(&item);
  if (process == nullptr) return;
  for (auto& event : process->mailbox) Place(event.position, event.mail);
  for (auto& step : process->history) {
    for (auto& one : step.entry.consumed) Place(one.position, one.mail);
  }
}

template <size_t Index = 0>
absl::StatusOr<runtime::AnyItem> ReadAs(const std::string& kind,
                                        const Json& json) {
  if constexpr (Index < std::variant_size_v<runtime::AnyItem>) {
    if (kind != kItemKinds[Index]) return ReadAs<Index + 1>(kind, json);
    runtime::AnyItem item(std::in_place_index<Index>);
    Reader reader(json, "");
    reader.Ignore("kind");
    if constexpr (Index == 0) reader.Ignore("version");
    items::Visit(std::get<Index>(item), reader);
    absl::Status status = reader.Finish();
    if (!status.ok()) return status;
    PlaceBodies(item);
    return item;
  } else {
    return absl::InvalidArgumentError("kind: there is no such value");
  }
}

}  // namespace

Json ToJson(const runtime::AnyItem& item) {
  Json json = {{"kind", kItemKinds[item.index()]}};
  if (item.index() == 0) json["version"] = kExportVersion;
  json.update(
      std::visit([](const auto& one) { return Writer::Of(one); }, item));
  return json;
}

absl::StatusOr<runtime::AnyItem> ItemFromJson(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("it is not a JSON object");
  }
  const auto kind = json.find("kind");
  if (kind == json.end() || !kind->is_string()) {
    return absl::InvalidArgumentError("kind: it is missing");
  }
  if (*kind == kItemKinds[0] && json.value("version", 0) != kExportVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("version: this actorctl reads exports of version ",
                     kExportVersion, "; use the one that wrote the file"));
  }
  return ReadAs(kind->get<std::string>(), json);
}

}  // namespace actord::client
