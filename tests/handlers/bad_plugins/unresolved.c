/* Needs a symbol that no library defines. */
extern const int actord_nobody_defines_this;
extern const int* const actord_plugin;
__attribute__((visibility("default"))) const int* const actord_plugin =
    &actord_nobody_defines_this;
