# Installs component sdk of BUILD_DIR below WORK_DIR and checks the installed files.
# Builds the plugins of SOURCE_DIR and of the text of GUIDE from there alone, once
# with the compilers and flags of BUILD_DIR and once with plain g++ and gcc, as most
# authors do. Checks their build type and their symbols. Runs TEST_PROGRAM and the plugins' own tests on them. With ACTORD,
# ACTORCTL and PYTHON it also runs the plugins in a daemon.
cmake_minimum_required(VERSION 3.25)

foreach(variable IN ITEMS BUILD_DIR SOURCE_DIR GUIDE WORK_DIR TEST_PROGRAM
                          CXX_COMPILER C_COMPILER CXX_FLAGS C_FLAGS)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "${variable} is not set")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --component sdk --prefix
    "${prefix}")

# Nothing but headers, CMake files, the test harness and new_plugin, and no path of
# this machine in them (but for what a debugger is told).
file(GLOB_RECURSE installed RELATIVE "${prefix}" "${prefix}/*")
foreach(file IN LISTS installed)
  if(file MATCHES "/libactord_testing\\.a$")
    continue()
  endif()
  if(NOT file MATCHES "^include/actord/[a-z_]+\\.h$"
     AND NOT file MATCHES "/cmake/actord/[A-Za-z-]+\\.cmake$"
     AND NOT file MATCHES "^share/actord/new_plugin/[A-Za-z_.]+$")
    message(FATAL_ERROR "component sdk installs ${file}")
  endif()
  file(READ "${prefix}/${file}" text)
  string(FIND "${text}" "${SOURCE_DIR}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} names the source tree")
  endif()
endforeach()
if(NOT "include/actord/abi.h" IN_LIST installed)
  message(FATAL_ERROR "component sdk installs no abi.h: ${installed}")
endif()

# Writes the first block of the guide that begins with `opening` to a file.
function(write_block opening file)
  file(READ "${GUIDE}" text)
  string(FIND "${text}" "${opening}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${GUIDE} has no block that begins with ${opening}")
  endif()
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\n" begin)
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE "${file}" "${text}")
endfunction()

function(build source build)
  run("${CMAKE_COMMAND}"
      -S "${source}"
      -B "${build}"
      "-DCMAKE_PREFIX_PATH=${prefix}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
      "-DCMAKE_C_COMPILER=${C_COMPILER}"
      "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
      "-DCMAKE_C_FLAGS=${C_FLAGS}"
      -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
  run("${CMAKE_COMMAND}" --build "${build}")
endfunction()

# `actord_plugin` is the only symbol that the plugin exports.
function(expect_one_symbol plugin)
  execute_process(COMMAND nm -D --defined-only --format=posix "${plugin}"
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  if(NOT symbols MATCHES "^actord_plugin [A-Z] [0-9a-f ]+\n$")
    message(FATAL_ERROR "${plugin} exports not actord_plugin alone:\n${symbols}")
  endif()
endfunction()

# The build type in the cache of `build` is `type`.
function(expect_build_type build type)
  file(STRINGS "${build}/CMakeCache.txt" line REGEX "^CMAKE_BUILD_TYPE:")
  if(NOT line STREQUAL "CMAKE_BUILD_TYPE:STRING=${type}")
    message(FATAL_ERROR "${build} has ${line}, not the type '${type}'")
  endif()
endfunction()

# A plugin from one source, in the way of the README.
function(build_plainly source plugin)
  run(${ARGN} -O2 -shared -fPIC -fvisibility=hidden "-I${prefix}/include"
      "${source}" -o "${plugin}")
endfunction()

set(guide "${WORK_DIR}/guide")
write_block("```cmake\n# CMakeLists.txt" "${guide}/cpp/CMakeLists.txt")
write_block("```cpp\n// door.cc" "${guide}/cpp/door.cc")
write_block("```cpp\n// door_test.cc" "${guide}/cpp/door_test.cc")
write_block("```cpp\n// parcel.cc" "${guide}/coroutine/parcel.cc")
write_block("```cpp\n// subscription.cc" "${guide}/coroutine/subscription.cc")
write_block("```cpp\n// meter.cc" "${guide}/durable/meter.cc")
write_block("```c\n#include <actord/abi.h>" "${guide}/c/hello.c")
file(WRITE "${guide}/coroutine/CMakeLists.txt"
     "cmake_minimum_required(VERSION 3.25)\n" "project(parcel LANGUAGES CXX)\n"
     "find_package(actord 0.1 REQUIRED)\n"
     "actord_add_plugin(parcel SOURCES parcel.cc)\n")
file(WRITE "${guide}/c/CMakeLists.txt"
     "cmake_minimum_required(VERSION 3.25)\n" "project(hello LANGUAGES C)\n"
     "find_package(actord 0.1 REQUIRED)\n"
     "actord_add_plugin(hello SOURCES hello.c)\n")

build("${SOURCE_DIR}/cpp" "${WORK_DIR}/cpp")
build("${SOURCE_DIR}/c" "${WORK_DIR}/c")
build("${guide}/cpp" "${guide}/cpp/build")
build("${guide}/coroutine" "${guide}/coroutine/build")
build("${guide}/c" "${guide}/c/build")

# A project that says no build type is built with optimisation.
foreach(project IN ITEMS "${WORK_DIR}/cpp" "${WORK_DIR}/c" "${guide}/cpp/build"
                         "${guide}/coroutine/build" "${guide}/c/build")
  expect_build_type("${project}" Release)
  file(READ "${project}/compile_commands.json" commands)
  string(REGEX MATCHALL "\"command\":[^\n]*" commands "${commands}")
  foreach(command IN LISTS commands)
    if(NOT command MATCHES " -O3 -DNDEBUG ")
      message(FATAL_ERROR "not built as Release: ${command}")
    endif()
  endforeach()
endforeach()
# A build type of the author's stays, and so does that of an outer project.
run("${CMAKE_COMMAND}" -S "${guide}/c" -B "${WORK_DIR}/debug"
    "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_BUILD_TYPE=Debug)
expect_build_type("${WORK_DIR}/debug" Debug)
file(WRITE "${WORK_DIR}/outer/CMakeLists.txt"
     "cmake_minimum_required(VERSION 3.25)\n" "project(outer LANGUAGES C)\n"
     "add_subdirectory(\"${guide}/c\" hello)\n")
run("${CMAKE_COMMAND}" -S "${WORK_DIR}/outer" -B "${WORK_DIR}/outer/build"
    "-DCMAKE_PREFIX_PATH=${prefix}")
expect_build_type("${WORK_DIR}/outer/build" "")

file(GLOB examples "${BUILD_DIR}/lib/actord/plugins/*.so")
if(NOT examples)
  message(FATAL_ERROR "${BUILD_DIR} has no example plugins")
endif()
foreach(plugin IN LISTS examples
        ITEMS "${WORK_DIR}/cpp/greeter.so" "${WORK_DIR}/c/tally.so"
              "${guide}/cpp/build/door.so" "${guide}/coroutine/build/parcel.so"
              "${guide}/c/build/hello.so")
  expect_one_symbol("${plugin}")
endforeach()

# A project as `./dev new` makes it. The name has each kind of character.
set(dev "${SOURCE_DIR}/../../dev")
set(new "${WORK_DIR}/new/my_2nd_till")
run("${dev}" new "${new}")
# The installed program makes the same.
set(installed_new "${WORK_DIR}/new/installed/my_2nd_till")
run("${prefix}/share/actord/new_plugin/new_plugin" "${installed_new}")
foreach(file IN ITEMS CMakeLists.txt my_2nd_till.cc my_2nd_till_test.cc)
  run("${CMAKE_COMMAND}" -E compare_files "${new}/${file}"
      "${installed_new}/${file}")
endforeach()
build("${new}" "${new}/build")
expect_build_type("${new}/build" Release)
expect_one_symbol("${new}/build/my_2nd_till.so")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${new}/build" --no-tests=error
    --output-on-failure)
file(COPY_FILE "${new}/build/my_2nd_till.so" "${new}/old.so")
file(READ "${new}/my_2nd_till.cc" text)
string(REPLACE "\"0.1.0\"" "\"0.2.0\"" raised "${text}")
if(raised STREQUAL text)
  message(FATAL_ERROR "the plugin of ./dev new has not the version 0.1.0")
endif()
file(WRITE "${new}/my_2nd_till.cc" "${raised}")
run("${CMAKE_COMMAND}" --build "${new}/build" --target my_2nd_till)
foreach(path IN ITEMS "${new}" "${WORK_DIR}/new/Till" "${WORK_DIR}/new/2nd"
                      "${WORK_DIR}/new/test"
                      "${SOURCE_DIR}/../till" till)
  execute_process(COMMAND "${dev}" new "${path}"
                  WORKING_DIRECTORY "${SOURCE_DIR}"
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(NOT status EQUAL 2)
    message(FATAL_ERROR "./dev new ${path} ended with ${status}, not 2")
  endif()
endforeach()

set(plain "${WORK_DIR}/plain")
file(MAKE_DIRECTORY "${plain}")
set(gxx g++ -std=c++20 -fno-gnu-unique)
build_plainly("${SOURCE_DIR}/cpp/greeter.cc" "${plain}/greeter.so" ${gxx})
build_plainly("${guide}/cpp/door.cc" "${plain}/door.so" ${gxx})
build_plainly("${guide}/coroutine/parcel.cc" "${plain}/parcel.so" ${gxx})
build_plainly("${guide}/coroutine/subscription.cc" "${plain}/subscription.so" ${gxx})
build_plainly("${guide}/durable/meter.cc" "${plain}/meter.so" ${gxx})
build_plainly("${SOURCE_DIR}/c/tally.c" "${plain}/tally.so" gcc)
build_plainly("${guide}/c/hello.c" "${plain}/hello.so" gcc)

# Runs TEST_PROGRAM on the plugins at these paths.
function(test_plugins greeter tally door parcel hello)
  run("${CMAKE_COMMAND}" -E env
      "ACTORD_TEST_CPP_PLUGIN=${greeter}"
      "ACTORD_TEST_C_PLUGIN=${tally}"
      "ACTORD_TEST_GUIDE_CPP_PLUGIN=${door}"
      "ACTORD_TEST_GUIDE_COROUTINE_PLUGIN=${parcel}"
      "ACTORD_TEST_GUIDE_C_PLUGIN=${hello}" "${TEST_PROGRAM}")
endfunction()
test_plugins("${WORK_DIR}/cpp/greeter.so" "${WORK_DIR}/c/tally.so"
             "${guide}/cpp/build/door.so" "${guide}/coroutine/build/parcel.so"
             "${guide}/c/build/hello.so")
test_plugins("${plain}/greeter.so" "${plain}/tally.so" "${plain}/door.so"
             "${plain}/parcel.so" "${plain}/hello.so")

# The tests of plugins, in the harness.
run("${WORK_DIR}/cpp/greeter_test" "${WORK_DIR}/cpp/greeter.so")
run("${WORK_DIR}/cpp/subscription_test" "${plain}/subscription.so")
run("${guide}/cpp/build/door_test")

if(ACTORD)
  run("${PYTHON}" "${SOURCE_DIR}/run_in_daemon.py" "${ACTORD}" "${ACTORCTL}"
      "${WORK_DIR}/cpp/greeter.so" "${WORK_DIR}/c/tally.so")
  run("${PYTHON}" "${SOURCE_DIR}/run_in_daemon.py" "${ACTORD}" "${ACTORCTL}"
      "${plain}/greeter.so" "${plain}/tally.so")
  run("${PYTHON}" -B "${SOURCE_DIR}/upgrade_new_plugin.py" "${ACTORD}" "${ACTORCTL}"
      my_2nd_till "${new}/old.so" "${new}/build/my_2nd_till.so")
endif()
