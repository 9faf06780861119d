// Writes the description of the JSON API: OpenAPI 3.1, from a set of
// descriptors with their comments. A part of the build.
//
//   actord_write_openapi DESCRIPTOR_SET VERSION OUTPUT.cc
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/api/openapi/schemas.h"
#include "daemon/api/openapi/short_paths.h"

namespace actord::daemon {
namespace {

constexpr const char* kService = "actord.v1.ActorService";

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

constexpr EventStream kPublications = {
    "Publications", "Subscribes to publications as server-sent events",
    "Events of the name publications, whose data is a SubscribeResponse. The "
    "data of the last event, end, is an Error."};

// The fields of the request of the method are parameters of the query. A list
// has a parameter in the singular, which may come several times.
Json OperationOfEvents(const MethodDescriptor& method,
                       const EventStream& stream, Schemas& schemas) {
  Json operation{{"operationId", stream.id},
                 {"summary", stream.summary},
                 {"description", CommentOf(method)}};
  const Json request = schemas.Of(*method.input_type());
  for (const auto& [name, schema] : request["properties"].items()) {
    const bool is_list = schema.value("type", "") == "array";
    operation["parameters"].push_back(
        {{"name", is_list ? name.substr(0, name.size() - 1) : name},
         {"in", "query"},
         {"schema", schema}});
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
  paths["/v1/publications"]["get"] = OperationOfEvents(
      *service.FindMethodByName("Subscribe"), kPublications, schemas);
  AddShortPaths(service, schemas, paths);
  schemas.Add("Error", ErrorSchema());
  const std::string description = absl::StrCat(
      "The unary methods of the service ", service.full_name(),
      " in the JSON form of the Connect protocol. Bytes are base64, 64-bit "
      "numbers are texts, and fields that have their default are left out. A "
      "request with a field that is not described here is refused. The paths "
      "under /v1/ are for people and webhooks: their body is the payload.");
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
  out << "#include \"daemon/api/openapi/openapi_text.h\"\n\n"
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
