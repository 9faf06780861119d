#include "client/output/message_json.h"

#include <actord/text.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "client/output/text.h"
#include "google/protobuf/descriptor.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Base64(const std::string& bytes) {
  return absl::Base64Escape(bytes);
}

bool IsJson(const v1::Payload& payload) {
  return payload.content_type().empty() ||
         payload.content_type() == "application/json";
}

Json PayloadJson(const v1::Payload& payload) {
  Json json;
  json["content_type"] = payload.content_type().empty()
                             ? "application/json"
                             : payload.content_type();
  if (IsJson(payload) && IsFaithfulJson(payload.data())) {
    json["json"] = Json::parse(payload.data());
  } else if (IsUtf8(payload.data())) {
    json["text"] = payload.data();
  } else {
    json["base64"] = Base64(payload.data());
  }
  return json;
}

// "MY_ENUM_" is the prefix of the values of the type "MyEnum".
std::string ValuePrefix(const std::string& type_name) {
  std::string prefix;
  for (const char c : type_name) {
    const auto letter = static_cast<unsigned char>(c);
    if (isupper(letter) != 0 && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(toupper(letter));
  }
  return prefix + "_";
}

Json DurationJson(const google::protobuf::Duration& duration) {
  const bool negative = duration.seconds() < 0 || duration.nanos() < 0;
  char text[48];
  std::snprintf(text, sizeof(text), "%s%lld.%09d", negative ? "-" : "",
                std::abs(static_cast<long long>(duration.seconds())),
                std::abs(duration.nanos()));
  std::string trimmed = text;
  trimmed.erase(trimmed.find_last_not_of('0') + 1);
  if (trimmed.back() == '.') trimmed.pop_back();
  return trimmed + "s";
}

// `index` -1: the field is not repeated.
Json ValueJson(const Message& message, const FieldDescriptor& field,
               int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  const auto get = [&](auto one, auto of_many) {
    return repeated ? (reflection.*of_many)(message, &field, index)
                    : (reflection.*one)(message, &field);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(
          *field.enum_type(),
          get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          get(&Reflection::GetString, &Reflection::GetRepeatedString);
      return field.type() == FieldDescriptor::TYPE_BYTES ? Base64(text) : text;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(repeated
                        ? reflection.GetRepeatedMessage(message, &field, index)
                        : reflection.GetMessage(message, &field));
  }
  return nullptr;
}

// An object, in the order of the keys. All maps of the API have texts as keys.
Json MapJson(const Message& message, const FieldDescriptor& field) {
  Json json = Json::object();
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor& key = *field.message_type()->map_key();
  const FieldDescriptor& value = *field.message_type()->map_value();
  std::map<std::string, Json> sorted;
  for (int at = 0; at < reflection.FieldSize(message, &field); ++at) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, at);
    sorted[entry.GetReflection()->GetString(entry, &key)] =
        ValueJson(entry, value, -1);
  }
  for (auto& [name, one] : sorted) json[name] = std::move(one);
  return json;
}

}  // namespace

std::string EnumName(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return std::to_string(number);
  const std::string prefix = ValuePrefix(type.name());
  const std::string& name = value->name();
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

Json ToJson(const Message& message) {
  using google::protobuf::Duration;
  using google::protobuf::DynamicCastToGenerated;
  using google::protobuf::Timestamp;
  if (const auto* payload = DynamicCastToGenerated<v1::Payload>(&message)) {
    return PayloadJson(*payload);
  }
  if (const auto* time = DynamicCastToGenerated<Timestamp>(&message)) {
    return Rfc3339(ToTime(*time));
  }
  if (const auto* duration = DynamicCastToGenerated<Duration>(&message)) {
    return DurationJson(*duration);
  }
  Json json = Json::object();
  const auto& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_map()) {
      json[field.name()] = MapJson(message, field);
    } else if (field.is_repeated()) {
      Json& list = json[field.name()] = Json::array();
      const int size = reflection.FieldSize(message, &field);
      for (int at = 0; at < size; ++at) {
        list.push_back(ValueJson(message, field, at));
      }
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      json[field.name()] = ValueJson(message, field, -1);
    }
  }
  return json;
}

std::string Preview(const v1::Payload& payload, size_t max_width) {
  if (!IsUtf8(payload.data())) {
    return "<" + ShortBytes(payload.data().size()) + ">";
  }
  return OneLine(payload.data(), max_width);
}

absl::Time ToTime(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) +
         absl::Nanoseconds(timestamp.nanos());
}

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) +
         absl::Nanoseconds(duration.nanos());
}

google::protobuf::Duration FromDuration(absl::Duration duration) {
  google::protobuf::Duration result;
  absl::Duration rest;
  result.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  result.set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
  return result;
}

}  // namespace actord::client
