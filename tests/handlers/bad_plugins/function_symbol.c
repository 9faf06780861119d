/* The symbol exists, but it is a function. */
extern void actord_plugin(void);
__attribute__((visibility("default"))) void actord_plugin(void) {}
