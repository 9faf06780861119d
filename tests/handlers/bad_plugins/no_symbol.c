/* A shared object that is no plugin. */
extern const int something_else;
const int something_else = 1;
