# Two functions that register tests. Every test carries at least one label; the
# suites of `./dev test` select by label. The label "case" marks a part of another
# test, for people who run that part alone: no suite selects it.

find_package(GTest CONFIG REQUIRED)
include(GoogleTest)

# Seconds after which a case, or a test without cases, is taken to hang.
set(ACTORD_TEST_TIMEOUT_SECONDS 300)
# The same of a program with all of its cases.
set(ACTORD_PROGRAM_TIMEOUT_SECONDS 1200)

# actord_add_test(<name> SOURCES <file>... [LIBS <target>...] [LABELS <label>...]
#                 [DEPENDS <target>...] [USES_BINARIES])
#
# Builds a GoogleTest program and registers it as the test <name> with these
# labels; LABELS defaults to "unit". All of its cases run in one process, because
# most cases take less time than the start of a program with sanitizers. Each case
# is also registered alone, as "<name>.<Suite>.<Case>" with the label "case".
# DEPENDS names targets that must be built before, because the test runs or loads
# them. USES_BINARIES defines ACTORD_TEST_BIN_DIR and ACTORD_TEST_PLUGIN_DIR (string
# literals).
function(actord_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "USES_BINARIES" ""
                        "SOURCES;LIBS;LABELS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()

  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           "${CMAKE_CURRENT_BINARY_DIR}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock
                                        GTest::gtest_main actord::warnings)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  if("tsan" IN_LIST arg_LABELS OR "stress" IN_LIST arg_LABELS)
    add_dependencies(tests_of_threads ${name})
  endif()
  if(arg_USES_BINARIES)
    target_compile_definitions(
      ${name}
      PRIVATE
        "ACTORD_TEST_BIN_DIR=\"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}\""
        "ACTORD_TEST_PLUGIN_DIR=\"${ACTORD_PLUGIN_OUTPUT_DIRECTORY}\"")
  endif()

  gtest_discover_tests(
    ${name}
    TEST_PREFIX "${name}."
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS case TIMEOUT ${ACTORD_TEST_TIMEOUT_SECONDS})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(
    ${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT
                       ${ACTORD_PROGRAM_TIMEOUT_SECONDS})
endfunction()

# actord_add_command_test(<name> COMMAND <command>... [LABELS <label>...]
#                         [ENVIRONMENT <NAME=value>...])
#
# Registers a command as one test; it passes when the command exits with 0.
function(actord_add_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;LABELS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit quick)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(
    ${name}
    PROPERTIES LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}" TIMEOUT
               ${ACTORD_TEST_TIMEOUT_SECONDS})
endfunction()
