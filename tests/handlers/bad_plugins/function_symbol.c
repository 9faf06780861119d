/* The symbol is there, but it is a function. */
extern void actord_plugin(void);
__attribute__((visibility("default"))) void actord_plugin(void) {}
