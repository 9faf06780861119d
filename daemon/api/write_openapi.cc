// Writes the description of the JSON API: OpenAPI 3.1, from a set of
// descriptors with their comments. A part of the build.
//
//   actord_write_openapi DESCRIPTOR_SET VERSION OUTPUT.cc
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace actord::daemon {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;
// Keeps the order of the descriptors.
using Json = nlohmann::ordered_json;

constexpr const char* kService = "actord.v1.ActorService";
constexpr const char* kSchemas = "#/components/schemas/";

// The lines without the blank that follows each "//".
std::string Unindented(const std::string& comment) {
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

Json ErrorSchema() {
  return {
      {"type", "object"},
      {"description",
       "An error of the Connect protocol. The first detail is a "
       "google.rpc.ErrorInfo with the domain actord and a stable reason."},
      {"required", Json::array({"code"})},
      {"properties",
       {{"code", {{"type", "string"}}},
        {"message", {{"type", "string"}}},
        {"details",
         {{"type", "array"},
          {"items",
           {{"type", "object"},
            {"required", {"type", "value"}},
            {"properties",
             {{"type", {{"type", "string"}}},
              {"value", {{"type", "string"}, {"contentEncoding", "base64"}}},
              {"debug", {{"type", "object"}}}}}}}}}}}};
}

Json BodyOf(Json schema) {
  return {{"application/json", {{"schema", std::move(schema)}}}};
}

Json OperationOf(const MethodDescriptor& method, Schemas& schemas) {
  Json operation{{"operationId", method.name()}};
  const std::string comment = CommentOf(method);
  operation["summary"] = comment.substr(0, comment.find(". "));
  operation["description"] = comment;
  operation["parameters"] = {
      {{"$ref", "#/components/parameters/ConnectTimeoutMs"}}};
  operation["requestBody"] = {
      {"required", true},
      {"content", BodyOf(schemas.RefTo(*method.input_type()))}};
  operation["responses"]["200"] = {
      {"description", "The answer."},
      {"content", BodyOf(schemas.RefTo(*method.output_type()))}};
  operation["responses"]["default"] = {
      {"$ref", "#/components/responses/Error"}};
  return operation;
}

struct EventStream {
  const char* id;
  const char* summary;
  const char* events;
};
constexpr EventStream kWatch = {
    "Events", "Watches processes as server-sent events",
    "Events whose data is a WatchProcessesResponse and whose id is its "
    "resume token, by name: snapshot, events, missed, resume. The data of "
    "the last event, end, is an Error."};
constexpr EventStream kHistory = {
    "History", "Reads the history of a process as server-sent events",
    "Events of the name entries, whose data is a ReadHistoryResponse. The data "
    "of the last event, end, is an Error, or empty after the last entry."};

// The fields of the request of the method are parameters of the query.
Json OperationOfEvents(const MethodDescriptor& method,
                       const EventStream& stream, Schemas& schemas) {
  Json operation{{"operationId", stream.id},
                 {"summary", stream.summary},
                 {"description", CommentOf(method)}};
  const Json request = schemas.Of(*method.input_type());
  for (const auto& [name, schema] : request["properties"].items()) {
    operation["parameters"].push_back(
        {{"name", name}, {"in", "query"}, {"schema", schema}});
  }
  operation["responses"]["200"] = {
      {"description", stream.events},
      {"content", {{"text/event-stream", {{"schema", {{"type", "string"}}}}}}}};
  schemas.RefTo(*method.output_type());
  operation["responses"]["default"] = {
      {"$ref", "#/components/responses/Error"}};
  return operation;
}

Json ParameterOfTimeout() {
  return {{"name", "Connect-Timeout-Ms"},
          {"in", "header"},
          {"description",
           "Milliseconds after which the call is answered with "
           "deadline_exceeded; at most, and by default, one hour."},
          {"schema",
           {{"type", "integer"}, {"minimum", 0}, {"maximum", 9'999'999'999}}}};
}

Json OpenApiOf(const ServiceDescriptor& service, const std::string& version) {
  Schemas schemas;
  Json paths = Json::object();
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    if (method.client_streaming() || method.server_streaming()) continue;
    paths[absl::StrCat("/", service.full_name(), "/", method.name())]["post"] =
        OperationOf(method, schemas);
  }
  paths["/v1/events"]["get"] = OperationOfEvents(
      *service.FindMethodByName("WatchProcesses"), kWatch, schemas);
  paths["/v1/history"]["get"] = OperationOfEvents(
      *service.FindMethodByName("ReadHistory"), kHistory, schemas);
  schemas.Add("Error", ErrorSchema());
  const std::string description = absl::StrCat(
      "The unary methods of the service ", service.full_name(),
      " in the JSON form of the Connect protocol. Bytes are base64, 64-bit "
      "numbers are texts, and fields that have their default are left out. A "
      "request with a field that is not described here is refused.");
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "actord"},
            {"version", version},
            {"description", description}}},
          {"security", {Json::object(), {{"token", Json::array()}}}},
          {"paths", paths},
          {"components",
           {{"schemas", schemas.All()},
            {"parameters", {{"ConnectTimeoutMs", ParameterOfTimeout()}}},
            {"responses",
             {{"Error",
               {{"description", "The call has failed."},
                {"content",
                 BodyOf({{"$ref", absl::StrCat(kSchemas, "Error")}})}}}}},
            {"securitySchemes",
             {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

int Run(const std::string& set_path, const std::string& version,
        const std::string& output) {
  std::ifstream in(set_path, std::ios::binary);
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromIstream(&in)) {
    std::cerr << set_path << " is not a set of descriptors\n";
    return 1;
  }
  google::protobuf::DescriptorPool pool;
  for (const auto& file : set.file()) {
    if (pool.BuildFile(file) == nullptr) {
      std::cerr << file.name() << " cannot be built\n";
      return 1;
    }
  }
  const ServiceDescriptor* const service = pool.FindServiceByName(kService);
  if (service == nullptr) {
    std::cerr << set_path << " has no " << kService << "\n";
    return 1;
  }
  std::ofstream out(output);
  out << "#include \"daemon/api/openapi_text.h\"\n\n"
         "namespace actord::daemon {\n\n"
         "std::string_view OpenApiText() {\n  return R\"openapi("
      << OpenApiOf(*service, version).dump() << "\n)openapi\";\n}\n\n"
      << "}  // namespace actord::daemon\n";
  out.close();
  return out ? 0 : 1;
}

}  // namespace
}  // namespace actord::daemon

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: actord_write_openapi SET VERSION OUTPUT.cc\n";
    return 1;
  }
  return actord::daemon::Run(argv[1], argv[2], argv[3]);
}
