// Reads the fields of a built-in command's payload, or of an object in it, and
// checks their types.
//
// Read all fields, then check status() once. The reader keeps the first error;
// every field read after an error is empty.
//
// Thread-safety: none; for one call. Ownership: copies the payload's fields;
// borrows an object.
#pragma once

#include <actord/owned.h>
#include <actord/values.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace actord::handlers {

class JsonReader {
 public:
  // `wanted` shows the right form, for the error texts. A field that is not in
  // `fields` is an error, because it is most often a typing error.
  JsonReader(const Payload& payload, std::string_view wanted,
             std::initializer_list<std::string_view> fields);
  // Reads an object at `path` ("children[2]") of a larger object, which must
  // outlive the reader; errors give the field's name after `path`.
  JsonReader(const nlohmann::json& value, std::string path,
             std::string_view wanted,
             std::initializer_list<std::string_view> fields);
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  // Reads a required field.
  std::string Text(const char* field);
  double Number(const char* field);
  // Read optional fields.
  std::string TextOr(const char* field, std::string_view otherwise);
  bool FlagOr(const char* field, bool otherwise);
  int IntegerOr(const char* field, int otherwise, int min, int max);
  double NumberOr(const char* field, double otherwise, double min, double max);
  // Reads the index of one of `choices`.
  size_t ChoiceOr(const char* field, size_t otherwise,
                  std::initializer_list<std::string_view> choices);
  // Reads a payload for another process: a JSON string is taken as its text
  // (text/plain), any other value as JSON. Empty if the field is missing.
  OwnedPayload Body(const char* field);

  // Reads any JSON; nullptr when the field is missing, or after an error. Valid
  // as long as the reader.
  const nlohmann::json* Find(const char* field) const;
  // The path of a field: "children[2].input".
  [[nodiscard]] std::string PathOf(std::string_view field) const;

  // Reports another error in a field.
  void Refuse(const std::string& what);
  // Reports that a field has the wrong text.
  void RefuseValue(const char* field, std::string_view value);
  // Reports an error whose text is complete.
  void RefuseWith(const Status& status);

  // INVALID_ARGUMENT says what is wrong and what would be right.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const nlohmann::json* Require(const char* field);
  void CheckFields(std::initializer_list<std::string_view> fields);
  [[nodiscard]] std::string Quoted(std::string_view field) const;

  // Empty: the payload itself.
  const std::string path_;
  const std::string_view wanted_;
  // Of a payload.
  nlohmann::json parsed_;
  // `parsed_`, or a borrowed object.
  const nlohmann::json* const object_;
  Status status_;
};

}  // namespace actord::handlers
