/* A plugin with one error in its table, selected by the macros below. Some
 * selections leave parts unused. */
#include <actord/abi.h>

#ifndef BAD_MAGIC
#define BAD_MAGIC ACTORD_ABI_MAGIC
#endif
#ifndef BAD_ABI_VERSION
#define BAD_ABI_VERSION ACTORD_ABI_VERSION
#endif
#ifndef BAD_STRUCT_SIZE
#define BAD_STRUCT_SIZE sizeof(actord_plugin_info)
#endif
#ifndef BAD_NAME
#define BAD_NAME "bad_info"
#endif
#ifndef BAD_TYPES
#define BAD_TYPES types
#endif
#ifndef BAD_TYPE_COUNT
#define BAD_TYPE_COUNT 1
#endif
#ifndef BAD_ENTRY
#define BAD_ENTRY &type
#endif
#ifndef BAD_ENTRY_SIZE
#define BAD_ENTRY_SIZE sizeof(actord_process_type)
#endif
#ifndef BAD_TYPE_NAME
#define BAD_TYPE_NAME "bad_info"
#endif
#ifndef BAD_STEP
#define BAD_STEP Step
#endif

static int32_t Init(void* state, const actord_init* init, actord_step* step) {
  (void)state, (void)init, (void)step;
  return ACTORD_OK;
}
#define MAYBE_UNUSED __attribute__((unused))

MAYBE_UNUSED
static int32_t Step(void* state, const actord_event* const* events,
                    size_t count, actord_step* step) {
  (void)state, (void)events, (void)count, (void)step;
  return ACTORD_STEP_DONE;
}
static void Close(void* state) { (void)state; }

static const actord_method methods[] = {{"run", NULL}};
MAYBE_UNUSED
static const actord_process_type type = {
    .struct_size = BAD_ENTRY_SIZE,
    .name = BAD_TYPE_NAME,
    .state_size = 1,
    .state_align = 1,
    .methods = methods,
    .method_count = 1,
    .init = Init,
    .step = BAD_STEP,
    .close = Close,
};
MAYBE_UNUSED
static const actord_process_type* const types[] = {BAD_ENTRY};

const actord_plugin_info actord_plugin = {
    .magic = BAD_MAGIC,
    .abi_version = BAD_ABI_VERSION,
    .struct_size = BAD_STRUCT_SIZE,
    .name = BAD_NAME,
    .version = "1",
    .process_types = BAD_TYPES,
    .process_type_count = BAD_TYPE_COUNT,
};
