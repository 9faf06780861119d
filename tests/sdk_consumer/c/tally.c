/* A process type and a command of it, in plain C over actord/abi.h. The process
 * counts the messages that it gets, and ends when one has the topic "stop". */
#include <actord/abi.h>
#include <stdio.h>
#include <string.h>

typedef struct tally {
  unsigned long long messages;
} tally;

static actord_bytes Text(const char* text) {
  actord_bytes bytes = {text, strlen(text)};
  return bytes;
}

static int32_t Init(void* state, const actord_init* init, actord_step* step) {
  tally* self = state; /* zeroed */
  if (init->input.bytes.size != 0) {
    step->api->set_failure(step, ACTORD_INVALID_ARGUMENT,
                           Text("a tally takes no input"));
    return ACTORD_INVALID_ARGUMENT;
  }
  self->messages = 0;
  return ACTORD_OK;
}

static int32_t Step(void* state, const actord_event* const* events,
                    size_t count, actord_step* step) {
  tally* self = state;
  for (size_t i = 0; i < count; ++i) {
    if (events[i]->type != ACTORD_EVENT_MESSAGE) continue;
    if (events[i]->topic.size == 4 &&
        memcmp(events[i]->topic.data, "stop", 4) == 0) {
      char text[32];
      actord_payload result = {{text, 0}, {NULL, 0}};
      result.bytes.size =
          (size_t)snprintf(text, sizeof(text), "%llu", self->messages);
      step->api->set_result(step, &result);
      return ACTORD_STEP_DONE;
    }
    ++self->messages;
  }
  return ACTORD_STEP_IDLE;
}

static void Close(void* state) { (void)state; }

static const actord_method methods[] = {{"run", "Counts messages."}};

static const actord_process_type type = {
    .struct_size = sizeof(actord_process_type),
    .name = "tally",
    .doc = "Counts messages until one says stop.",
    .state_size = sizeof(tally),
    .methods = methods,
    .method_count = 1,
    .init = Init,
    .step = Step,
    .close = Close,
};
static const actord_process_type* const types[] = {&type};

static int32_t Handle(void* self, actord_call* call) {
  (void)self;
  char text[32];
  actord_payload result = {{text, 0}, {NULL, 0}};
  result.bytes.size =
      (size_t)snprintf(text, sizeof(text), "%zu", call->payload.bytes.size);
  call->api->reply(call, ACTORD_OK, &result);
  return ACTORD_HANDLED;
}

static const actord_command_handler length = {
    .struct_size = sizeof(actord_command_handler),
    .mode = ACTORD_HANDLER_INLINE,
    .command = "tally.length",
    .doc = "The length of its payload in bytes.",
    .handle = Handle,
};
static const actord_command_handler* const commands[] = {&length};

const actord_plugin_info actord_plugin = {
    .magic = ACTORD_ABI_MAGIC,
    .abi_version = ACTORD_ABI_VERSION,
    .struct_size = sizeof(actord_plugin_info),
    .name = "tally",
    .version = "1.0",
    .process_types = types,
    .process_type_count = 1,
    .commands = commands,
    .command_count = 1,
};
