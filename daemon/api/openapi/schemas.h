// The schemas of messages and enumerations for the description of the JSON API,
// with the comments of their descriptors. A part of the build.
//
// Thread-safety: one thread.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace actord::daemon {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;
// Keeps the order of the descriptors.
using Json = nlohmann::ordered_json;

inline constexpr const char* kSchemas = "#/components/schemas/";

// The lines without the blank that follows each "//".
inline std::string Unindented(const std::string& comment) {
  std::vector<std::string> lines = absl::StrSplit(comment, '\n');
  for (std::string& line : lines) {
    if (line.starts_with(' ')) line.erase(0, 1);
  }
  return std::string(absl::StripAsciiWhitespace(absl::StrJoin(lines, "\n")));
}

template <typename Any>
std::string CommentOf(const Any& descriptor) {
  SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  return Unindented(location.leading_comments);
}

template <typename Any>
void Describe(const Any& descriptor, Json& schema) {
  const std::string text = CommentOf(descriptor);
  if (!text.empty()) schema["description"] = text;
}

// The schemas of all messages and enumerations that are referred to.
class Schemas {
 public:
  Json RefTo(const Descriptor& type) {
    const std::string& name = type.full_name();
    if (!schemas_.contains(name)) {
      schemas_[name] = Json::object();  // first: a message may contain itself
      schemas_[name] = OfMessage(type);
    }
    return {{"$ref", absl::StrCat(kSchemas, name)}};
  }
  // The schema of a message, without a reference.
  Json Of(const Descriptor& type) { return OfMessage(type); }
  [[nodiscard]] Json All() const {
    Json all = Json::object();
    for (const auto& [name, schema] : schemas_) all[name] = schema;
    return all;
  }
  void Add(const std::string& name, Json schema) {
    schemas_[name] = std::move(schema);
  }

 private:
  Json RefTo(const EnumDescriptor& type) {
    const std::string& name = type.full_name();
    if (!schemas_.contains(name)) {
      Json schema{{"type", "string"}};
      Describe(type, schema);
      std::vector<std::string> values;
      for (int i = 0; i < type.value_count(); ++i) {
        schema["enum"].push_back(type.value(i)->name());
        const std::string comment = CommentOf(*type.value(i));
        if (comment.empty()) continue;
        values.push_back(absl::StrCat(type.value(i)->name(), ": ", comment));
      }
      if (!values.empty()) {
        const std::string before =
            schema.contains("description")
                ? absl::StrCat(schema["description"].get<std::string>(), "\n\n")
                : "";
        schema["description"] =
            absl::StrCat(before, absl::StrJoin(values, "\n\n"));
      }
      schemas_[name] = std::move(schema);
    }
    return {{"$ref", absl::StrCat(kSchemas, name)}};
  }

  Json OfMessage(const Descriptor& type) {
    const std::string& name = type.full_name();
    if (name == "google.protobuf.Timestamp") {
      return {{"type", "string"},
              {"format", "date-time"},
              {"description", "A time of RFC 3339: 2026-11-27T09:00:00.5Z."}};
    }
    if (name == "google.protobuf.Duration") {
      return {{"type", "string"},
              {"pattern", R"(^-?[0-9]+(\.[0-9]{1,9})?s$)"},
              {"description", "Seconds: 1.5s."}};
    }
    Json schema{{"type", "object"}};
    Describe(type, schema);
    schema["properties"] = Json::object();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      schema["properties"][field.json_name()] = OfField(field);
    }
    for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
      AddOneof(*type.oneof_decl(i), schema);
    }
    return schema;
  }

  static void AddOneof(const google::protobuf::OneofDescriptor& oneof,
                       Json& schema) {
    for (int i = 0; i < oneof.field_count(); ++i) {
      Json others = Json::array();
      for (int k = 0; k < oneof.field_count(); ++k) {
        if (k != i) others.push_back(oneof.field(k)->json_name());
      }
      for (const Json& other : others) {
        schema["dependentSchemas"][oneof.field(i)->json_name()]["properties"]
              [other.get<std::string>()] = false;
      }
    }
  }

  Json OfField(const FieldDescriptor& field) {
    Json value;
    if (field.is_map()) {
      value = {{"type", "object"},
               {"additionalProperties",
                OfValue(*field.message_type()->map_value())}};
    } else if (field.is_repeated()) {
      value = {{"type", "array"}, {"items", OfValue(field)}};
    } else {
      value = OfValue(field);
    }
    Describe(field, value);
    return value;
  }

  Json OfValue(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return {{"type", "integer"}, {"format", "int32"}};
      case FieldDescriptor::CPPTYPE_UINT32:
        return {{"type", "integer"}, {"minimum", 0}, {"maximum", UINT32_MAX}};
      // Answers have them as text, because a number of JavaScript is too
      // small; requests may have either.
      case FieldDescriptor::CPPTYPE_INT64:
        return {{"type", {"string", "integer"}}, {"format", "int64"}};
      case FieldDescriptor::CPPTYPE_UINT64:
        return {{"type", {"string", "integer"}}, {"format", "uint64"}};
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return {{"type", {"number", "string"}}};
      case FieldDescriptor::CPPTYPE_BOOL:
        return {{"type", "boolean"}};
      case FieldDescriptor::CPPTYPE_ENUM:
        return RefTo(*field.enum_type());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return RefTo(*field.message_type());
      case FieldDescriptor::CPPTYPE_STRING:
        break;
    }
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      return {{"type", "string"}, {"contentEncoding", "base64"}};
    }
    return {{"type", "string"}};
  }

  std::map<std::string, Json> schemas_;
};

// The content of a body in JSON.
inline Json BodyOf(Json schema) {
  return {{"application/json", {{"schema", std::move(schema)}}}};
}

}  // namespace actord::daemon
