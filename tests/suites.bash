#!/usr/bin/env bash
# The suites of `./dev test`: the build that runs each test, and the cost of both.
# ./dev reads this file, which uses setup, build_preset, build_product, say, usage
# and as_root of ./dev. A test runs in the one build that checks most:
#
#   suite   build   tests
#   asan    Clang   all but models and stress, with AddressSanitizer, UBSan, leak
#                   check and thread-safety analysis; 500 seeds of the simulator
#   fuzz    asan    libFuzzer targets, each for five seconds
#   tsan    Clang   those of threads, and stress, with ThreadSanitizer; no gRPC
#   sim     GCC     10,000 seeds of the simulator, and its scaling machine
#   model   none    Spin models and their mutants
#   attack  GCC     hostile clients of the release build, each attack in small
#   soak    GCC     mixed load with random faults on the release build, 2 min
#   package GCC     Debian packages of the release build
#
# The suites unit, e2e, sdk and stress run the tests of that label in the GCC build.
# The suite quick runs there the unit tests, and the end-to-end tests of processes
# and of actorctl.
#
# A program of unit tests and a class of end-to-end tests run as one process each;
# the totals count their cases.

total_passed=0
total_failed=0
# Descriptions of the failed tests, for the end of the output.
failures=
# One line for each build and each suite: wall seconds, processor seconds, name.
costs=

count() {
  total_passed=$((total_passed + $1))
  total_failed=$((total_failed + $2))
}

# Sets processor_seconds to the processor time of all children that have ended.
# (A subshell has children of its own, so this cannot be a substitution.)
read_processor_seconds() {
  mkdir -p build
  times >build/times
  processor_seconds=$(awk 'NR == 2 {
    gsub(/s/, ""); gsub(/m/, " "); printf "%d", $1 * 60 + $2 + $3 * 60 + $4
  }' build/times)
}

# measure NAME COMMAND...: runs the command and adds a line to `costs`.
measure() {
  local name=$1 status=0 wall=$SECONDS before
  shift
  read_processor_seconds
  before=$processor_seconds
  "$@" || status=$?
  read_processor_seconds
  printf -v costs '%s%6d %9d  %s\n' "$costs" $((SECONDS - wall)) \
    $((processor_seconds - before)) "$name"
  return "$status"
}

# Prints failures, costs and, as the last line of standard output, the counts.
# Fails if a test failed.
conclude() {
  if [[ -n $failures ]]; then printf '\n%s\n\n' "$failures"; fi
  if [[ -n $costs ]]; then
    printf '\n%6s %9s\n%s' wall processor "$costs"
    awk '{ wall += $1; processor += $2 }
      END { printf "%6d %9d  seconds in all\n\n", wall, processor }' \
      <<<"${costs%$'\n'}"
  fi
  printf '%d passed, %d failed\n' "$total_passed" "$total_failed"
  ((total_failed == 0))
}

# run_ctest SUITE PRESET TARGETS [CTEST OPTION...]: builds the targets (a list of
# words; "all"; "none": configures only), runs the tests, counts. A suite that does
# not build, or in which no test ran, is a failure; a skipped test is not passed.
run_ctest() {
  local suite=$1 preset=$2 targets=$3 report status=0 output counts passed failed
  local ctest=(ctest)
  shift 3
  report=$PWD/build/$preset/$suite.xml
  say "suite $suite: building $preset"
  # shellcheck disable=SC2086 # The targets are words.
  if ! measure "build $preset" build_preset "$preset" $targets; then
    printf 'suite %s: does not build\n' "$suite"
    count 0 1
    return
  fi
  say "suite $suite"
  rm -f "$report"
  # ThreadSanitizer cannot map its memory when addresses are too random.
  if [[ $preset == tsan ]] && setarch --addr-no-randomize true 2>/dev/null; then
    ctest=(setarch --addr-no-randomize ctest)
  fi
  measure "suite $suite" "${ctest[@]}" --preset "$preset" --parallel "$(nproc)" \
    --output-junit "$report" --test-output-truncation middle "$@" >&2 || status=$?
  if [[ ! -s $report ]]; then
    printf 'suite %s: no test was executed\n' "$suite"
    count 0 1
    return
  fi
  output=$(/usr/bin/python3 -B tests/ctest_report.py "$suite" "$report")
  counts=${output##*$'\n'}
  if ! [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ [0-9]+\ skipped$ ]]; then
    printf 'suite %s: its report cannot be read\n' "$suite"
    count 0 1
    return
  fi
  passed=${BASH_REMATCH[1]}
  failed=${BASH_REMATCH[2]}
  if ((passed + failed == 0)); then
    printf 'suite %s: no test was executed\n' "$suite"
    count 0 1
    return
  fi
  if ((status != 0 && failed == 0)); then
    printf 'suite %s: ctest failed with status %d\n' "$suite" "$status"
    failed=1
  fi
  if [[ $output == *$'\n'* ]]; then failures+=${output%$'\n'*}$'\n'; fi
  count "$passed" "$failed"
  printf 'suite %s: %s\n' "$suite" "$counts"
}

# run_counting NAME COMMAND...: runs a command whose last line of standard output
# is `N passed, N failed`, and adds its counts. Without such a line, or with a
# status that contradicts it, it counts as one more failure.
run_counting() {
  local name=$1 output status=0 line
  shift
  say "$name"
  output=$(mktemp)
  measure "suite $name" "$@" > >(tee "$output" >&2) || status=$?
  wait $!
  line=$(tail -n 1 "$output")
  rm -f "$output"
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    if ((status != 0 && BASH_REMATCH[2] == 0)); then count 0 1; fi
  else
    count 0 1
  fi
  printf 'suite %s: %s\n' "$name" "$line"
}

# run_on_release SUITE TARGETS: the tests of that label, whose daemon is the release
# build. The targets are what they need besides.
run_on_release() {
  if measure "build release" build_product; then
    run_ctest "$1" dev "$2" --label-regex "^$1\$" --verbose
  else
    printf 'suite %s: the release does not build\n' "$1"
    count 0 1
  fi
}

run_suite() {
  case $1 in
    # A fifth of its time is waiting.
    asan)
      run_ctest asan asan all --parallel $(($(nproc) + 1)) \
        --label-exclude '^(model|stress|attack|fuzz|soak|package|case)$'
      ;;
    fuzz) run_ctest fuzz asan fuzzers --label-regex '^fuzz$' ;;
    tsan) run_ctest tsan tsan tests_of_threads --label-regex '^tsan$' ;;
    sim) run_ctest sim dev tests_of_simulator --label-regex '^sim$' ;;
    model) run_ctest model dev none --label-regex '^model$' ;;
    # Its tests wait more than they compute.
    quick) run_ctest quick dev all --label-regex '^(unit|quick)$' --parallel $(($(nproc) * 2)) ;;
    unit | e2e | sdk) run_ctest "$1" dev all --label-regex "^$1\$" ;;
    stress) run_ctest stress dev tests_of_threads --label-regex '^stress$' ;;
    attack) run_on_release attack 'e2e_stubs probe' ;;
    soak) run_on_release soak 'e2e_stubs soak_plugins' ;;
    package) run_on_release package none ;;
    container)
      setup container
      run_counting container as_root tests/container/run
      ;;
    *) usage "no suite $1" ;;
  esac
}

# The attacks in their full size; prints what they measured.
run_attacks() {
  local log=build/attack.log
  setup build test
  mkdir -p build
  export ACTORD_ATTACK=full
  run_suite attack 2>"$log"
  sed -n 's/^[0-9]*: attack //p' "$log"
  printf '\nThe whole output is in %s.\n' "$log"
  conclude
}

# Runs the soak with these options, on the release build or on that of ACTORD_BUILD.
run_soak() {
  local release tests=$PWD/tests
  release=$(realpath "${ACTORD_BUILD:-build/release}")
  setup build test
  if [[ -z ${ACTORD_BUILD-} ]]; then build_product; fi
  build_preset dev e2e_stubs soak_plugins
  export ACTORD_E2E_BIN_DIR=$release/bin
  export ACTORD_E2E_PLUGIN_DIR=$release/lib/actord/plugins
  export ACTORD_E2E_TEST_PLUGIN_DIR=$PWD/build/dev/lib/actord/test_plugins
  export ACTORD_E2E_SOURCE_DIR=$PWD
  export PYTHONPATH=$tests/soak:$tests/e2e:$PWD/build/dev/tests/e2e/stubs
  exec /usr/bin/python3 -B tests/soak/soak.py "$@"
}

# Fuzzes each target, or the named ones, one after the other.
run_fuzzers() {
  local seconds=60 programs=build/asan/tests/fuzz target targets=()
  if [[ ${1-} == --seconds ]]; then
    [[ ${2-} =~ ^[1-9][0-9]*$ ]] || usage "fuzz --seconds takes a number above 0"
    seconds=$2
    shift 2
  fi
  setup build test
  build_preset asan fuzzers
  if (($# == 0)); then
    mapfile -t targets < <(find "$programs" -maxdepth 1 -name '*_fuzz' -printf '%f\n' | sort)
    set -- "${targets[@]%_fuzz}"
  fi
  for target in "$@"; do
    [[ -x $programs/${target}_fuzz ]] || usage "fuzz: there is no target $target"
  done
  # As the preset of the tests.
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=print_stacktrace=1
  for target in "$@"; do
    say "fuzzing $target for $seconds seconds; output in $programs/$target.log"
    if tests/fuzz/run_fuzzer "$programs/${target}_fuzz" "$seconds" \
      >"$programs/$target.log" 2>&1; then
      count 1 0
    else
      count 0 1
      grep -E -A 20 'ERROR: |REQUIRED: |runtime error: ' "$programs/$target.log" >&2 || true
    fi
    awk -v target="$target" '
      /^stat::number_of_executed_units:/ { executions = $2 }
      /^stat::new_units_added:/ { added = $2 }
      / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
      END { printf "%-14s %9d executions, %6d edges, %5d new inputs\n",
            target, executions, edges, added }' "$programs/$target.log"
  done
  conclude
}

run_tests() {
  local suite
  case ${1-} in
    '') set -- asan fuzz tsan sim model attack soak package ;;
    --quick) set -- quick ;;
  esac
  setup build test
  for suite in "$@"; do run_suite "$suite"; done
  conclude
}
