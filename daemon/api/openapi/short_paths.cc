#include "daemon/api/openapi/short_paths.h"

namespace actord::daemon {
namespace {

// Writes the operations of one service.
class ShortPaths {
 public:
  ShortPaths(const ServiceDescriptor& service, Schemas& schemas)
      : service_(service), schemas_(schemas) {}

  // An operation that calls `method`.
  [[nodiscard]] Json Operation(const std::string& id, const char* method,
                               const std::string& summary) const {
    Json operation{
        {"operationId", id},
        {"summary", summary},
        {"description",
         absl::StrCat(summary, ". Calls ", method, ": ",
                      CommentOf(*service_.FindMethodByName(method)))}};
    operation["responses"]["default"] = {
        {"$ref", "#/components/responses/Error"}};
    return operation;
  }

  static void AddParameter(Json& operation, const char* name, const char* in,
                           Json schema, const std::string& description) {
    Json parameter{{"name", name},
                   {"in", in},
                   {"description", description},
                   {"schema", std::move(schema)}};
    if (std::string(in) == "path") parameter["required"] = true;
    operation["parameters"].push_back(std::move(parameter));
  }

  // A field of `message` as a parameter of the query.
  void AddField(Json& operation, const char* message, const char* name) {
    const Json schema = schemas_.Of(*Find(message));
    operation["parameters"].push_back({{"name", name},
                                       {"in", "query"},
                                       {"schema", schema["properties"][name]}});
  }

  void AddAnswer(Json& operation, const char* status, const char* message,
                 const std::string& description) {
    operation["responses"][status] = {
        {"description", description},
        {"content", BodyOf(schemas_.RefTo(*Find(message)))}};
  }

  static Json AnyBody() {
    return {{"*/*", {{"schema", {{"description", "Any bytes."}}}}}};
  }
  static void AddPayloadBody(Json& operation) {
    operation["requestBody"] = {
        {"description",
         "The payload. Its content type is the header Content-Type."},
        {"content", AnyBody()}};
  }
  static void AddPayloadAnswer(Json& operation,
                               const std::string& description) {
    operation["responses"]["200"] = {{"description", description},
                                     {"content", AnyBody()}};
  }
  static void AddKey(Json& operation, const char* field) {
    AddParameter(operation, "Idempotency-Key", "header", {{"type", "string"}},
                 absl::StrCat("Makes a repeated request safe: the ", field,
                              " of the call. Quotation marks around it are "
                              "left out."));
  }
  static void AddWait(Json& operation, const std::string& description) {
    AddParameter(operation, "wait", "query",
                 {{"type", "integer"}, {"minimum", 0}}, description);
    AddParameter(operation, "Prefer", "header", {{"type", "string"}},
                 "\"wait=30\" is the same as the parameter wait.");
  }
  void AddOutcome(Json& operation) {
    AddPayloadAnswer(operation,
                     "The result of the process, with its content type.");
    AddAnswer(operation, "424", "actord.v1.Outcome",
              "The process has ended with a failure.");
  }

 private:
  [[nodiscard]] const Descriptor* Find(const char* message) const {
    return service_.file()->pool()->FindMessageTypeByName(message);
  }

  const ServiceDescriptor& service_;
  Schemas& schemas_;
};

Json TextSchema() { return {{"type", "string"}}; }

void AddPid(Json& operation, bool takes_names) {
  ShortPaths::AddParameter(
      operation, "process", "path", TextSchema(),
      takes_names ? "A PID, or @ and a name, percent-encoded: @orders%2F17."
                  : "A PID.");
}

void AddLabel(Json& operation, const std::string& description) {
  ShortPaths::AddParameter(operation, "label", "query",
                           {{"type", "array"}, {"items", TextSchema()}},
                           description);
}

Json ListPath(ShortPaths& of) {
  Json operation = of.Operation("ListProcessesByQuery", "ListProcesses",
                                "Lists processes, page by page");
  for (const char* const name : {"pageSize", "pageToken", "processType",
                                 "state", "parentPid", "owner", "end"}) {
    of.AddField(operation, "actord.v1.ListProcessesRequest", name);
  }
  AddLabel(operation,
           "Only processes with this label, KEY=VALUE or KEY; may "
           "come several times.");
  of.AddAnswer(operation, "200", "actord.v1.ListProcessesResponse", "A page.");
  return operation;
}

Json SubmitPath(ShortPaths& of) {
  Json operation =
      of.Operation("StartProcess", "Submit", "Starts a process of the type");
  ShortPaths::AddParameter(operation, "process", "path", TextSchema(),
                           "The process type.");
  for (const char* const name :
       {"method", "name", "onNameConflict", "priority", "durability"}) {
    of.AddField(operation, "actord.v1.SubmitRequest", name);
  }
  AddLabel(operation,
           "A label of the process, as KEY=VALUE; may come several "
           "times.");
  ShortPaths::AddKey(operation, "requestId");
  ShortPaths::AddWait(operation,
                      "Seconds to wait for the end of the process. If it ends "
                      "meanwhile, its outcome is the answer.");
  ShortPaths::AddPayloadBody(operation);
  of.AddOutcome(operation);
  constexpr const char* kResponse = "actord.v1.SubmitResponse";
  operation["responses"]["200"]["description"] =
      "With wait: the result of the process. Without: a SubmitResponse; the "
      "request has started no process, because it was repeated or because its "
      "name was taken.";
  of.AddAnswer(operation, "201", kResponse,
               "The process has started. Location is its path.");
  of.AddAnswer(operation, "202", kResponse,
               "The process has started, and has not ended while the client "
               "waited. Location is its path.");
  return operation;
}

Json OutcomePath(ShortPaths& of) {
  Json operation = of.Operation("ProcessOutcome", "Await",
                                "Returns how the process has ended");
  AddPid(operation, false);
  ShortPaths::AddWait(operation, "Seconds to wait for the end. Default: 0.");
  of.AddOutcome(operation);
  Json& ended = operation["responses"]["200"];
  ended["description"] =
      "The result of the process, with its content type. With Accept: "
      "text/event-stream: one event, outcome, at the end of the process, whose "
      "data is an AwaitResponse; or end, whose data is an Error.";
  ended["content"]["text/event-stream"] = {{"schema", TextSchema()}};
  operation["responses"]["202"] = {
      {"description", "The process has not ended."},
      {"content",
       BodyOf({{"type", "object"}, {"properties", {{"pid", TextSchema()}}}})}};
  return operation;
}

Json SendPath(ShortPaths& of) {
  Json operation =
      of.Operation("SendMessage", "Send", "Sends the process a message");
  AddPid(operation, true);
  ShortPaths::AddParameter(operation, "topic", "path", TextSchema(),
                           "The topic of the message.");
  ShortPaths::AddKey(operation, "messageId");
  ShortPaths::AddPayloadBody(operation);
  of.AddAnswer(operation, "202", "actord.v1.SendResponse",
               "The message is in the mailbox.");
  return operation;
}

// The process that a call starts if no process holds the name.
void AddStart(ShortPaths& of, Json& operation) {
  for (const char* const name :
       {"processType", "method", "priority", "durability"}) {
    of.AddField(operation, "actord.v1.SubmitRequest", name);
  }
  Json& parameters = operation["parameters"];
  for (Json& parameter : parameters) {
    if (parameter["name"] != "processType") continue;
    parameter["description"] =
        "Starts a process of this type if no process holds the name. The other "
        "parameters are about this process.";
  }
  ShortPaths::AddParameter(operation, "input", "query", TextSchema(),
                           "The input of the process.");
  ShortPaths::AddParameter(operation, "inputType", "query", TextSchema(),
                           "The content type of the input.");
  AddLabel(operation,
           "A label of the process, as KEY=VALUE; may come several times.");
}

Json CallPath(ShortPaths& of) {
  Json operation = of.Operation("CallProcess", "Call",
                                "Calls the process, and waits for its answer");
  AddPid(operation, true);
  ShortPaths::AddParameter(operation, "topic", "path", TextSchema(),
                           "The topic of the message.");
  ShortPaths::AddKey(operation, "messageId");
  ShortPaths::AddWait(operation,
                      "Seconds after which the call is answered with "
                      "deadline_exceeded; at most, and by default, one hour.");
  ShortPaths::AddPayloadBody(operation);
  ShortPaths::AddPayloadAnswer(operation,
                               "The answer of the process, with its content "
                               "type. The header Actord-Started is true if the "
                               "request has started the process.");
  AddStart(of, operation);
  return operation;
}

Json CancelPath(ShortPaths& of) {
  Json operation =
      of.Operation("CancelProcess", "Cancel", "Asks the process to end");
  AddPid(operation, false);
  of.AddField(operation, "actord.v1.CancelRequest", "reason");
  of.AddField(operation, "actord.v1.CancelRequest", "deadline");
  of.AddAnswer(operation, "202", "actord.v1.CancelResponse",
               "The process is asked to end.");
  return operation;
}

Json CompletePath(ShortPaths& of, bool is_error) {
  Json operation = of.Operation(
      is_error ? "FailYield" : "CompleteYieldWithResult", "CompleteYield",
      is_error ? "Completes an external command with an error"
               : "Completes an external command with a result");
  ShortPaths::AddParameter(operation, "token", "path", TextSchema(),
                           "The token of the yield, or of a task.");
  if (is_error) {
    ShortPaths::AddParameter(operation, "code", "query", TextSchema(),
                             "The name or the number of a google.rpc.Code. "
                             "Default: unknown.");
    operation["requestBody"] = {
        {"description", "The message of the error."},
        {"content", {{"text/plain", {{"schema", TextSchema()}}}}}};
  } else {
    ShortPaths::AddPayloadBody(operation);
  }
  constexpr const char* kResponse = "actord.v1.CompleteYieldResponse";
  of.AddAnswer(operation, "200", kResponse,
               "ACCEPTED, or DUPLICATE if the same completion was accepted "
               "before.");
  of.AddAnswer(operation, "404", kResponse, "UNKNOWN, or an Error.");
  of.AddAnswer(operation, "409", kResponse, "CONFLICT or SUPERSEDED.");
  of.AddAnswer(operation, "410", kResponse, "EXPIRED: the yield has ended.");
  return operation;
}

Json ListPath(ShortPaths& of, const char* id, const std::string& method,
              const char* summary, std::initializer_list<const char*> fields) {
  Json operation = of.Operation(id, method.c_str(), summary);
  const std::string request = "actord.v1." + method + "Request";
  for (const char* const field : fields) {
    of.AddField(operation, request.c_str(), field);
  }
  const std::string response = "actord.v1." + method + "Response";
  of.AddAnswer(operation, "200", response.c_str(), "One page of the list.");
  return operation;
}

Json PageAnswer(const char* description) {
  return {{"description", description},
          {"content", {{"text/html", {{"schema", TextSchema()}}}}}};
}

// Parts of both operations of a link, which take no token.
Json LinkPath(const char* id, const char* description) {
  Json operation{{"operationId", id},
                 {"summary", description},
                 {"security", Json::array()}};
  ShortPaths::AddParameter(operation, "link", "path", TextSchema(),
                           "The last part of the URL that CreateYieldLink "
                           "returns.");
  Json& responses = operation["responses"];
  responses["404"] =
      PageAnswer("The link is not valid, or its yield is not known.");
  responses["410"] = PageAnswer(
      "The link has expired, or its yield was completed or has ended.");
  return operation;
}

Json ShowLinkPath() {
  Json operation = LinkPath(
      "ShowYieldLink", "Shows a person the page of a link. Changes nothing");
  operation["responses"]["200"] = PageAnswer(
      "The question, with a button for each value that the link offers.");
  return operation;
}

Json UseLinkPath() {
  Json operation =
      LinkPath("UseYieldLink", "Completes the yield of a link, once");
  operation["requestBody"] = {
      {"description",
       "The number of the chosen value, from 0; without values "
       "the body is empty."},
      {"content",
       {{"application/x-www-form-urlencoded",
         {{"schema",
           {{"type", "object"},
            {"properties",
             {{"value", {{"type", "integer"}, {"minimum", 0}}}}}}}}}}}};
  Json& responses = operation["responses"];
  responses["200"] = PageAnswer("The yield is completed.");
  responses["400"] =
      PageAnswer("The body has no value, or one that the link does not offer.");
  responses["503"] = PageAnswer(
      "The process has no room for the answer, or the disk is full. The link "
      "still works.");
  return operation;
}

}  // namespace

void AddShortPaths(const ServiceDescriptor& service, Schemas& schemas,
                   Json& paths) {
  ShortPaths of(service, schemas);
  paths["/v1/processes"]["get"] = ListPath(of);
  paths["/v1/processes/{process}"]["post"] = SubmitPath(of);
  Json describe =
      of.Operation("DescribeProcess", "GetProcess", "Describes a live process");
  AddPid(describe, true);
  of.AddAnswer(describe, "200", "actord.v1.Process", "The process.");
  paths["/v1/processes/{process}"]["get"] = std::move(describe);
  paths["/v1/processes/{process}"]["delete"] = CancelPath(of);
  paths["/v1/processes/{process}/outcome"]["get"] = OutcomePath(of);
  paths["/v1/processes/{process}/messages/{topic}"]["post"] = SendPath(of);
  paths["/v1/processes/{process}/call/{topic}"]["post"] = CallPath(of);
  paths["/v1/yields/{token}/result"]["post"] = CompletePath(of, false);
  paths["/v1/yields/{token}/error"]["post"] = CompletePath(of, true);
  paths["/v1/yields"]["get"] =
      ListPath(of, "WaitingYields", "ListYields",
               "Lists the external commands that wait",
               {"pid", "command", "pageSize", "pageToken"});
  paths["/v1/calls"]["get"] =
      ListPath(of, "PendingCalls", "ListCalls",
               "Lists the calls that have no answer yet",
               {"pid", "calleePid", "olderThan", "pageSize", "pageToken"});
  paths["/v1/links/{link}"]["get"] = ShowLinkPath();
  paths["/v1/links/{link}"]["post"] = UseLinkPath();
}

}  // namespace actord::daemon
