#include "handlers/commands/json_reader.h"

#include <actord/excerpt.h>

#include <algorithm>
#include <utility>

namespace actord::handlers {
namespace {

// Serialising recurses, so the depth of untrusted input is limited.
constexpr int kMaxDepth = 64;

// Maximum length of the library's texts, which repeat the malformed input.
constexpr size_t kMaxParseErrorBytes = 256;

bool IsTooDeep(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

JsonReader::JsonReader(const Payload& payload, std::string_view wanted,
                       std::initializer_list<std::string_view> fields)
    : wanted_(wanted), object_(&parsed_) {
  if (IsTooDeep(payload.bytes)) {
    Refuse("the payload is nested deeper than " + std::to_string(kMaxDepth));
    return;
  }
  try {
    parsed_ = nlohmann::json::parse(payload.bytes);
  } catch (const nlohmann::json::exception& error) {
    // The library's texts begin with its own name in brackets.
    const std::string_view what = error.what();
    const size_t end = what.find("] ");
    Refuse("the payload is not JSON: " +
           Excerpt(end == what.npos ? what : what.substr(end + 2),
                   kMaxParseErrorBytes));
    return;
  }
  CheckFields(fields);
}

JsonReader::JsonReader(const nlohmann::json& value, std::string path,
                       std::string_view wanted,
                       std::initializer_list<std::string_view> fields)
    : path_(std::move(path)), wanted_(wanted), object_(&value) {
  CheckFields(fields);
}

void JsonReader::CheckFields(std::initializer_list<std::string_view> fields) {
  if (!object_->is_object()) {
    Refuse((path_.empty() ? "the payload" : "field \"" + path_ + "\"") +
           " is a JSON " + object_->type_name());
    return;
  }
  for (const auto& [name, value] : object_->items()) {
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) {
      Refuse(Quoted(Excerpt(name)) + " is not known");
      return;
    }
  }
}

std::string JsonReader::Text(const char* field) {
  const nlohmann::json* value = Require(field);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    Refuse(Quoted(field) + " is a JSON " + value->type_name());
    return {};
  }
  return value->get<std::string>();
}

double JsonReader::Number(const char* field) {
  const nlohmann::json* value = Require(field);
  if (value == nullptr) return 0;
  if (!value->is_number()) {
    Refuse(Quoted(field) + " is a JSON " + value->type_name());
    return 0;
  }
  return value->get<double>();
}

std::string JsonReader::TextOr(const char* field, std::string_view otherwise) {
  return Find(field) == nullptr ? std::string(otherwise) : Text(field);
}

bool JsonReader::FlagOr(const char* field, bool otherwise) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) {
    Refuse(Quoted(field) + " is a JSON " + value->type_name());
    return otherwise;
  }
  return value->get<bool>();
}

int JsonReader::IntegerOr(const char* field, int otherwise, int min, int max) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return otherwise;
  if (!value->is_number()) {
    Refuse(Quoted(field) + " is a JSON " + value->type_name());
    return otherwise;
  }
  if (!value->is_number_integer() || *value < min || *value > max) {
    Refuse(Quoted(field) + " is " + value->dump());
    return otherwise;
  }
  return value->get<int>();
}

double JsonReader::NumberOr(const char* field, double otherwise, double min,
                            double max) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return otherwise;
  const double number = Number(field);
  if (!status_.ok()) return otherwise;
  // Also refuses NaN.
  if (!(number >= min && number <= max)) {
    Refuse(Quoted(field) + " is " + value->dump());
    return otherwise;
  }
  return number;
}

size_t JsonReader::ChoiceOr(const char* field, size_t otherwise,
                            std::initializer_list<std::string_view> choices) {
  if (Find(field) == nullptr) return otherwise;
  const std::string text = Text(field);
  if (!status_.ok()) return otherwise;
  const auto* const found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) {
    return static_cast<size_t>(found - choices.begin());
  }
  Refuse(Quoted(field) + " is \"" + Excerpt(text) + "\"");
  return otherwise;
}

OwnedPayload JsonReader::Body(const char* field) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  return OwnedPayload::Json(value->dump());
}

void JsonReader::Refuse(const std::string& what) {
  if (!status_.ok()) return;
  status_ = Status(Code::kInvalidArgument,
                   what + "; wanted is " + std::string(wanted_));
}

void JsonReader::RefuseValue(const char* field, std::string_view value) {
  Refuse(Quoted(field) + " is \"" + Excerpt(value) + "\"");
}

void JsonReader::RefuseWith(const Status& status) {
  if (status_.ok()) status_ = status;
}

std::string JsonReader::PathOf(std::string_view field) const {
  return path_.empty() ? std::string(field) : path_ + "." + std::string(field);
}

std::string JsonReader::Quoted(std::string_view field) const {
  return "field \"" + PathOf(field) + "\"";
}

const nlohmann::json* JsonReader::Find(const char* field) const {
  if (!status_.ok()) return nullptr;
  const auto found = object_->find(field);
  return found == object_->end() ? nullptr : &*found;
}

const nlohmann::json* JsonReader::Require(const char* field) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) Refuse(Quoted(field) + " is missing");
  return value;
}

}  // namespace actord::handlers
