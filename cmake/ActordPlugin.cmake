# actord_add_plugin(<name> SOURCES <file>... [LIBS <target>...])
#
# Builds the plugin <name>.so from C or C++ sources. `actord_plugin` is all that it
# exports, and it has no unique symbols, so two plugins with classes of the same
# name stay apart. The file lands in ACTORD_PLUGIN_OUTPUT_DIRECTORY if that is set.
#
# A project without a build type gets Release if it is the outermost one and its
# generator takes one build type: without any, CMake compiles without optimisation.
#
# The same file serves actord's own build and the installed package.

function(_actord_choose_build_type)
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(CMAKE_BUILD_TYPE OR is_multi_config OR NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  message(
    STATUS
      "actord_add_plugin: no CMAKE_BUILD_TYPE is set, so it is Release now; "
      "-DCMAKE_BUILD_TYPE=Debug builds for a debugger")
  # In the cache it holds for all targets of the project, and for later runs.
  set(CMAKE_BUILD_TYPE Release
      CACHE STRING "Kind of the build, such as Release or Debug" FORCE)
endfunction()

function(actord_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(
      FATAL_ERROR
        "actord_add_plugin(${name} ...): unknown argument "
        "${arg_UNPARSED_ARGUMENTS}; the sources come after SOURCES, as in "
        "actord_add_plugin(${name} SOURCES ${name}.cc)")
  endif()
  if(NOT arg_SOURCES)
    message(
      FATAL_ERROR
        "actord_add_plugin(${name} ...): no sources; they come after SOURCES, "
        "as in actord_add_plugin(${name} SOURCES ${name}.cc)")
  endif()

  _actord_choose_build_type()
  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
  # Hidden visibility leaves the templates and the inline functions of the standard
  # library exported, and a plugin would then use those of another plugin.
  set(symbols "${CMAKE_CURRENT_BINARY_DIR}/${name}.symbols")
  file(CONFIGURE OUTPUT "${symbols}" CONTENT
       "{ global: actord_plugin; local: *; };\n" @ONLY)
  target_link_options(${name} PRIVATE "LINKER:--version-script=${symbols}")
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${symbols}")
  if(ACTORD_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(
      ${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY
                         "${ACTORD_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  target_compile_options(
    ${name}
    PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  target_link_libraries(${name} PRIVATE actord::sdk ${arg_LIBS})
endfunction()
