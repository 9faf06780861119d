/* What the two files of the plugin have in common. */
#ifndef ACTORD_OLD_H_
#define ACTORD_OLD_H_

#include <actord/abi.h>
#include <string.h>

static inline actord_bytes OldText(const char* text) {
  actord_bytes bytes = {text, strlen(text)};
  return bytes;
}

static inline actord_payload OldPayload(const char* text) {
  actord_payload payload = {OldText(text), OldText("text/plain")};
  return payload;
}

static inline int OldIs(actord_bytes bytes, const char* text) {
  return bytes.size == strlen(text) &&
         (bytes.size == 0 || memcmp(bytes.data, text, bytes.size) == 0);
}

static inline int OldSamePid(const actord_pid* a, const actord_pid* b) {
  return memcmp(a, b, sizeof(*a)) == 0;
}

/* The command handlers, in commands.c. */
extern const actord_command_handler* const old_commands[3];

#endif /* ACTORD_OLD_H_ */
