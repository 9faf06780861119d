#include "daemon/api/json_text.h"

#include <actord/text.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "identity/names/nearest.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

namespace protojson = google::protobuf::util;

constexpr const char* kTypePrefix = "type.googleapis.com";
constexpr size_t kMaxFieldBytes = 256;

protojson::TypeResolver* Resolver() {
  // Never destroyed: calls may be open at the end of the program.
  static protojson::TypeResolver* const resolver =
      protojson::NewTypeResolverForDescriptorPool(
          kTypePrefix, google::protobuf::DescriptorPool::generated_pool());
  return resolver;
}

std::string TypeUrl(std::string_view full_name) {
  return absl::StrCat(kTypePrefix, "/", std::string(full_name));
}

// The names in JSON of the fields of the message at `path`, which is written as
// in "messages[0].payload". Empty: the path leads to no message.
std::vector<std::string> FieldsAt(const google::protobuf::Descriptor* message,
                                  std::string_view path) {
  while (!path.empty() && message != nullptr) {
    const std::string_view part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    const std::string name(part.substr(0, part.find('[')));
    const auto* field = message->FindFieldByCamelcaseName(name);
    if (field == nullptr) field = message->FindFieldByName(name);
    message = field == nullptr ? nullptr : field->message_type();
  }
  std::vector<std::string> names;
  for (int i = 0; message != nullptr && i < message->field_count(); ++i) {
    names.push_back(message->field(i)->json_name());
  }
  return names;
}

// The parser's messages are "(messages[0]) bad: Cannot find field." for a field
// that does not exist, "(priority): invalid value \"x\" for type TYPE_INT32",
// and else a sentence, which may be followed by a part of the text. The path is
// left out at the top of the request.
absl::Status Explain(const std::string& parsed,
                     const google::protobuf::Descriptor& message) {
  const std::string& type = message.full_name();
  constexpr absl::string_view kUnknown = ": Cannot find field.";
  const std::string line = absl::StrReplaceAll(
      parsed.substr(0, parsed.find('\n')), {{"type.googleapis.com/", ""}});
  absl::string_view rest = line;
  std::string path;
  const size_t end = rest.find(')');
  if (absl::StartsWith(rest, "(") && end != absl::string_view::npos) {
    path = std::string(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  }
  absl::ConsumePrefix(&rest, ":");
  absl::ConsumePrefix(&rest, " ");
  if (absl::ConsumeSuffix(&rest, kUnknown)) {
    const std::string field =
        ToUtf8(path.empty() ? std::string(rest) : absl::StrCat(path, ".", rest),
               kMaxFieldBytes);
    return runtime::InvalidField(
        field, runtime::reason::kInvalidField,
        absl::StrCat(field, " is not a field of ", type,
                     identity::DidYouMean({rest.data(), rest.size()},
                                          FieldsAt(&message, path))));
  }
  if (path.empty()) {
    return runtime::InvalidField(
        "", runtime::reason::kInvalidField,
        absl::StrCat("the body is not the JSON of ", type, ": ", rest));
  }
  path = ToUtf8(path, kMaxFieldBytes);
  return runtime::InvalidField(
      path, runtime::reason::kInvalidField,
      absl::StrCat(path, ": ", rest,
                   absl::EndsWith(rest, "for type actord.v1.Payload")
                       ? "; a payload is {\"data\": BASE64, \"contentType\": "
                         "\"text/plain\"}, and the short routes take it as the "
                         "body"
                       : ""));
}

}  // namespace

absl::Status ReadJson(std::string_view text,
                      google::protobuf::Message* message) {
  const google::protobuf::Descriptor& type = *message->GetDescriptor();
  std::string bytes;
  const auto read =
      protojson::JsonToBinaryString(Resolver(), TypeUrl(type.full_name()),
                                    {text.data(), text.size()}, &bytes);
  if (!read.ok()) {
    const auto said = read.message();
    return Explain(std::string(said.data(), said.size()), type);
  }
  if (!message->ParseFromString(bytes)) {
    return Explain("a text field is not UTF-8", type);
  }
  return absl::OkStatus();
}

absl::Status WriteJson(std::string_view full_name, const std::string& bytes,
                       std::string* text) {
  const auto written = protojson::BinaryToJsonString(
      Resolver(), TypeUrl(full_name), bytes, text);
  if (written.ok()) return absl::OkStatus();
  const auto said = written.message();
  return absl::InternalError(
      absl::StrCat("the answer cannot be written as JSON: ",
                   absl::string_view(said.data(), said.size())));
}

}  // namespace actord::daemon
