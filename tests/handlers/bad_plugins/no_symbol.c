/* A shared object that is not a plugin. */
extern const int something_else;
const int something_else = 1;
