# actord_add_plugin(<name> SOURCES <file>... [LIBS <target>...])
#
# Builds the plugin <name>.so from C or C++ sources: hidden visibility, so that
# `actord_plugin` is all that it exports, and no unique symbols, so that two
# plugins with classes of the same name stay apart. The file lands in
# ACTORD_PLUGIN_OUTPUT_DIRECTORY if that is set.
#
# The same file serves actord's own build and the installed package.
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

  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
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
