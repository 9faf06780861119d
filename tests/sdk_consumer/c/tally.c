/* Two process types and a command, in plain C over actord/abi.h. Both types can
 * be durable.
 *
 * tally   counts the messages that it gets. Its state is flat.
 * latest  keeps the last message that it gets. Its state has a pointer, so it
 *         has `snapshot` and `restore`.
 *
 * A process ends with its count or its message when a message has the topic
 * "stop". */
#include <actord/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
  unsigned long long messages;
} tally;

static actord_bytes Text(const char* text) {
  actord_bytes bytes = {text, strlen(text)};
  return bytes;
}

static int IsStop(const actord_event* event) {
  return event->topic.size == 4 && memcmp(event->topic.data, "stop", 4) == 0;
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
    if (IsStop(events[i])) {
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

static const actord_method methods[] = {{"run", "Takes messages."}};

static const actord_process_type tally_type = {
    .struct_size = sizeof(actord_process_type),
    .name = "tally",
    .doc = "Counts messages until one says stop.",
    .state_size = sizeof(tally),
    .methods = methods,
    .method_count = 1,
    .init = Init,
    .step = Step,
    .close = Close,
    .durability = ACTORD_DURABILITY_IMAGE,
    .flat_version = 1,
    .flat_size = sizeof(tally),
};

typedef struct latest {
  char* text; /* owned; NULL: no message yet */
  size_t size;
} latest;

static int32_t Keep(latest* self, actord_bytes bytes) {
  char* const text = malloc(bytes.size + 1);
  if (text == NULL) return ACTORD_RESOURCE_EXHAUSTED;
  if (bytes.size != 0) memcpy(text, bytes.data, bytes.size);
  free(self->text);
  self->text = text;
  self->size = bytes.size;
  return ACTORD_OK;
}

static int32_t InitLatest(void* state, const actord_init* init,
                          actord_step* step) {
  (void)step;
  return Keep(state, init->input.bytes);
}

static int32_t StepLatest(void* state, const actord_event* const* events,
                          size_t count, actord_step* step) {
  latest* self = state;
  for (size_t i = 0; i < count; ++i) {
    if (events[i]->type != ACTORD_EVENT_MESSAGE) continue;
    if (IsStop(events[i])) {
      const actord_payload result = {{self->text, self->size}, {NULL, 0}};
      step->api->set_result(step, &result);
      return ACTORD_STEP_DONE;
    }
    if (Keep(self, events[i]->payload.bytes) != ACTORD_OK) {
      step->api->set_failure(step, ACTORD_RESOURCE_EXHAUSTED,
                             Text("there is no memory for the message"));
      return ACTORD_STEP_FAIL;
    }
  }
  return ACTORD_STEP_IDLE;
}

static void CloseLatest(void* state) { free(((latest*)state)->text); }

static int32_t SnapshotLatest(const void* state, actord_step* step) {
  const latest* self = state;
  const actord_payload image = {{self->text, self->size}, {NULL, 0}};
  step->api->set_result(step, &image);
  return ACTORD_OK;
}

static int32_t RestoreLatest(void* state, const actord_restore* restore,
                             actord_step* step) {
  (void)step;
  return Keep(state, restore->snapshot.bytes);
}

static const actord_process_type latest_type = {
    .struct_size = sizeof(actord_process_type),
    .name = "latest",
    .doc = "Keeps the last message until one says stop.",
    .state_size = sizeof(latest),
    .methods = methods,
    .method_count = 1,
    .init = InitLatest,
    .step = StepLatest,
    .close = CloseLatest,
    .snapshot = SnapshotLatest,
    .restore = RestoreLatest,
    .durability = ACTORD_DURABILITY_IMAGE,
};
static const actord_process_type* const types[] = {&tally_type, &latest_type};

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
    .process_type_count = 2,
    .commands = commands,
    .command_count = 1,
};
