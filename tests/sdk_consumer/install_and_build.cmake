# Installs component sdk of BUILD_DIR below WORK_DIR, builds the plugins of
# SOURCE_DIR from there alone, checks what was installed, and runs TEST_PROGRAM
# on the plugins.
cmake_minimum_required(VERSION 3.25)

foreach(variable IN ITEMS BUILD_DIR SOURCE_DIR WORK_DIR TEST_PROGRAM CXX_FLAGS
                          C_FLAGS)
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

# Nothing but headers and CMake files, and no path of this machine in them.
file(GLOB_RECURSE installed RELATIVE "${prefix}" "${prefix}/*")
foreach(file IN LISTS installed)
  if(NOT file MATCHES "^include/actord/[a-z_]+\\.h$"
     AND NOT file MATCHES "/cmake/actord/[A-Za-z]+\\.cmake$")
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

foreach(language IN ITEMS cpp c)
  run("${CMAKE_COMMAND}"
      -S "${SOURCE_DIR}/${language}"
      -B "${WORK_DIR}/${language}"
      "-DCMAKE_PREFIX_PATH=${prefix}"
      "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
      "-DCMAKE_C_FLAGS=${C_FLAGS}")
  run("${CMAKE_COMMAND}" --build "${WORK_DIR}/${language}")
endforeach()

run("${CMAKE_COMMAND}" -E env
    "ACTORD_TEST_CPP_PLUGIN=${WORK_DIR}/cpp/greeter.so"
    "ACTORD_TEST_C_PLUGIN=${WORK_DIR}/c/tally.so" "${TEST_PROGRAM}")
