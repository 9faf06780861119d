# actord::warnings: the warnings every target of this project is built with, as
# errors. Link it PRIVATE: consumers of a target choose their own.
add_library(actord_warnings INTERFACE)
add_library(actord::warnings ALIAS actord_warnings)

target_compile_options(
  actord_warnings
  INTERFACE
    -Wall
    -Wextra
    -Wpedantic
    -Werror
    -Wshadow
    -Wconversion
    -Wno-sign-conversion
    -Wcast-align
    -Wformat=2
    -Wundef
    -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
    # GCC 12 reports -Wrestrict for plain std::string concatenation (GCC bug
    # 105329), and guesses wrongly about initialisation when it instruments.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    # Clang warns of lists without names alone. GCC warns also of initializers
    # that name their members, and of an `if` before a macro of GoogleTest.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-else>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety-beta>)
