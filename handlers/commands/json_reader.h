// Reads the payload of a built-in command, or an object within one: known
// fields, each of its type.
//
// Read all fields, then look at status() once: the first thing that was wrong
// is kept, and everything read after it is empty.
//
// Thread-safety: none; for one call. Ownership: copies what it reads of a
// payload; borrows an object.
#pragma once

#include <actord/values.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace actord::handlers {

class JsonReader {
 public:
  // `wanted` shows the right form, for the error texts. A field that is not in
  // `fields` is an error: it is a typing error more often than a wish.
  JsonReader(const Payload& payload, std::string_view wanted,
             std::initializer_list<std::string_view> fields);
  // An object at `path` ("children[2]") of a larger one, which outlives the
  // reader; errors name its fields behind it.
  JsonReader(const nlohmann::json& value, std::string path,
             std::string_view wanted,
             std::initializer_list<std::string_view> fields);
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  // A field that must be there.
  std::string Text(const char* field);
  double Number(const char* field);
  // Fields that may be left out.
  std::string TextOr(const char* field, std::string_view otherwise);
  bool FlagOr(const char* field, bool otherwise);
  int IntegerOr(const char* field, int otherwise, int min, int max);
  double NumberOr(const char* field, double otherwise, double min, double max);
  // The index of one of `choices`.
  size_t ChoiceOr(const char* field, size_t otherwise,
                  std::initializer_list<std::string_view> choices);
  // A payload for somebody else: a JSON string is taken as the text that it
  // stands for, anything else as JSON. Empty without the field.
  std::string Body(const char* field);

  // Any JSON; nullptr when the field is missing, or something was wrong before.
  // Valid as long as the reader.
  const nlohmann::json* Find(const char* field) const;
  // Where the field stands: "children[2].input".
  [[nodiscard]] std::string PathOf(std::string_view field) const;

  // Reports something else that is wrong with what was read.
  void Refuse(const std::string& what);
  // The same of an error that says all.
  void RefuseWith(const Status& status);

  // INVALID_ARGUMENT says what is wrong and what would be right.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const nlohmann::json* Require(const char* field);
  void CheckFields(std::initializer_list<std::string_view> fields);
  [[nodiscard]] std::string Quoted(std::string_view field) const;

  const std::string path_;  // empty: the payload itself
  const std::string_view wanted_;
  nlohmann::json parsed_;               // of a payload
  const nlohmann::json* const object_;  // that, or borrowed
  Status status_;
};

}  // namespace actord::handlers
