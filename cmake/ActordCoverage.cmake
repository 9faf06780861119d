# actord_cover(<target>...): libFuzzer sees which edges of these targets an input
# reaches. Without ACTORD_BUILD_FUZZERS nothing changes.
#
# Comparisons are not traced: the calls would slow down all other tests of the
# build, and the corpora hold the texts that matter.
function(actord_cover)
  if(ACTORD_BUILD_FUZZERS)
    foreach(target IN LISTS ARGN)
      target_compile_options(
        ${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table)
    endforeach()
  endif()
endfunction()
