// Reads the payload of a built-in command: one JSON object with known fields.
//
// Read all fields, then look at status() once: the first thing that was wrong
// is kept, and everything read after it is empty.
//
// Thread-safety: none; for one call. Ownership: copies what it reads.
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

  // A field that must be there.
  std::string Text(const char* field);
  double Number(const char* field);
  // Fields that may be left out.
  std::string TextOr(const char* field, std::string_view otherwise);
  bool FlagOr(const char* field, bool otherwise);
  int IntegerOr(const char* field, int otherwise, int min, int max);
  // A payload for somebody else: a JSON string is taken as the text that it
  // stands for, anything else as JSON. Empty without the field.
  std::string Body(const char* field);

  // Reports something else that is wrong with what was read.
  void Refuse(const std::string& what);

  // INVALID_ARGUMENT says what is wrong and what would be right.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  // nullptr when the field is missing, or something was wrong before.
  const nlohmann::json* Find(const char* field) const;
  const nlohmann::json* Require(const char* field);

  const std::string_view wanted_;
  nlohmann::json object_;
  Status status_;
};

}  // namespace actord::handlers
