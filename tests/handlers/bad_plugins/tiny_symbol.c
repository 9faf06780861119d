/* The symbol exists, but it is too small for a table. */
extern const int actord_plugin;
__attribute__((visibility("default"))) const int actord_plugin = 1;
