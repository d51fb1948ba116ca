# Every test program, by convention: a file in the right place with the right name is enough.

include_guard(GLOBAL)
include(GoogleTest)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# --- GoogleTest: the installed one, or built from its sources for another processor ---

if(CMAKE_CROSSCOMPILING)
  if(NOT EXISTS /usr/src/googletest/CMakeLists.txt)
    message(FATAL_ERROR "Cross-compiled tests need /usr/src/googletest: install googletest.")
  endif()
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
  if(NOT TARGET GTest::gtest_main)
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
else()
  find_package(GTest QUIET CONFIG)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest was not found. Install libgtest-dev, or run ./dev setup, "
      "or leave the tests out with -DBULKHEAD_TESTS=OFF.")
  endif()
endif()

# bulkhead_gtest(<target> <label> [PROCESSORS n]): registers each test of a program with ctest.
# Suites whose name ends in Alone run with nothing beside them: they measure time.
function(bulkhead_gtest target label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PROCESSORS" "")
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  set(common TEST_PREFIX ${target}/ DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  set(properties LABELS ${label} TIMEOUT ${BULKHEAD_TEST_TIMEOUT} PROCESSORS ${arg_PROCESSORS})
  gtest_discover_tests(${target} ${common} TEST_FILTER "-*Alone.*" PROPERTIES ${properties})
  gtest_discover_tests(${target} ${common} TEST_FILTER "*Alone.*"
    PROPERTIES ${properties} RUN_SERIAL TRUE)
endfunction()

# bulkhead_tool_test(<name> <label> <command>...): a check that is a script.
function(bulkhead_tool_test name label)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${BULKHEAD_TEST_TIMEOUT})
endfunction()

# --- tests/support: what several test programs share ---

bulkhead_glob(support_sources tests/support "*.cpp")
if(support_sources)
  add_library(test_support STATIC ${support_sources})
  set(scope PUBLIC)
  bulkhead_own_code(test_support)
else()
  add_library(test_support INTERFACE)
  set(scope INTERFACE)
endif()
target_include_directories(test_support ${scope}
  ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
target_link_libraries(test_support ${scope} bulkhead::bulkhead GTest::gtest)

include(BulkheadPreemptibleCode)
target_link_libraries(test_support ${scope} preemptible)

# --- src/<layer>/*_test.cpp: one program for each layer ---

bulkhead_glob(unit_sources src "*_test.cpp")
set(unit_layers)
foreach(source IN LISTS unit_sources)
  bulkhead_layer_of(layer ${source})
  list(APPEND unit_layers ${layer})
  list(APPEND unit_sources_${layer} ${source})
endforeach()
list(REMOVE_DUPLICATES unit_layers)
foreach(layer IN LISTS unit_layers)
  bulkhead_program(unit_${layer} tests PRIVATE_SOURCES
    SOURCES ${unit_sources_${layer}}
    LIBRARIES test_support GTest::gtest_main)
  bulkhead_gtest(unit_${layer} unit)
endforeach()

# --- tests/<suite>/*.cpp: programs that see the public headers only ---

# Their traps are also those of the standard library's checks, which are off in a release.
foreach(file IN ITEMS conformance/traps conformance/traps_in_places stress/many_traps)
  set_source_files_properties(tests/${file}.cpp
    PROPERTIES COMPILE_DEFINITIONS _GLIBCXX_ASSERTIONS)
endforeach()

foreach(suite IN ITEMS conformance stress regress)
  bulkhead_glob(suite_sources tests/${suite} "*.cpp")
  if(suite_sources)
    bulkhead_program(${suite} tests
      SOURCES ${suite_sources}
      LIBRARIES test_support GTest::gtest_main)
    if(suite STREQUAL "stress")
      bulkhead_gtest(${suite} ${suite} PROCESSORS 2)
    else()
      bulkhead_gtest(${suite} ${suite})
    endif()
  endif()
endforeach()

# --- C9: what must hold with each kind of run queue, by a selection of the tests above ---
# All of them run with BULKHEAD_TEST_RUN_QUEUE=<kind>, too; these take less than a minute.

set(run_queue_suites Order Ask AskWhileWaiting Timers Ticks TicksEnding Requests RequestsEnding
  Watches WatchesEnding ReceiveTimeouts WaitingAtChannels EndedAtChannels WaitingSelects
  SelectActor Mailboxes StopRequests Stopping Joining Lifecycle Shutdown OwnThread Stuck
  StuckCalls StuckHome Mutexes Roaming Links Exits Monitors Registry Priorities ServerCalls
  SupervisorRestart)
bulkhead_glob(conformance_sources tests/conformance "*.cpp")
foreach(suite IN LISTS run_queue_suites)
  set(found FALSE)
  foreach(source IN LISTS conformance_sources)
    file(STRINGS ${source} tests REGEX "^TEST_P\\(${suite}, " LIMIT_COUNT 1)
    if(tests)
      set(found TRUE)
    endif()
  endforeach()
  if(NOT found)
    message(FATAL_ERROR "run_queue_suites names ${suite}, which is no suite of tests/conformance")
  endif()
endforeach()
list(TRANSFORM run_queue_suites PREPEND "*/" OUTPUT_VARIABLE run_queue_filter)
list(TRANSFORM run_queue_filter APPEND ".*")
list(JOIN run_queue_filter ":" run_queue_filter)
set(run_queue_left_out "*/1_core:*/2_cores:*.shutdown_names_who_is_stuck/*")
foreach(kind IN ITEMS mutex ring striped rounds)
  add_test(NAME run_queue/${kind}/conformance
    COMMAND conformance --gtest_brief=1 --gtest_filter=${run_queue_filter}:-${run_queue_left_out})
  add_test(NAME run_queue/${kind}/stress
    COMMAND stress --gtest_brief=1
      --gtest_filter=*/RandomPrograms.*:*/BondStorm.*:*/SupervisionTree.*/5_cores)
  set_tests_properties(run_queue/${kind}/conformance run_queue/${kind}/stress PROPERTIES
    ENVIRONMENT "BULKHEAD_TEST_RUN_QUEUE=${kind};BULKHEAD_STRESS_SECONDS=1"
    LABELS run_queue PROCESSORS 2 TIMEOUT ${BULKHEAD_TEST_TIMEOUT})
endforeach()

# --- src/**/*_model.cpp: the production templates over the explorer of tests/model ---

bulkhead_glob(explorer_sources tests/model "*.cpp")
list(FILTER explorer_sources EXCLUDE REGEX "${BULKHEAD_PART_REGEX}")
bulkhead_glob(model_sources src "*_model.cpp")
bulkhead_glob(model_own_sources tests/model "*_test.cpp" "*_model.cpp")
list(APPEND model_sources ${model_own_sources})
if(model_sources)
  set(model_libraries)
  if(explorer_sources)
    add_library(model_explorer STATIC ${explorer_sources})
    target_include_directories(model_explorer
      PUBLIC ${PROJECT_SOURCE_DIR}/tests/model
      PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(model_explorer PUBLIC bulkhead::bulkhead)
    target_compile_options(model_explorer PRIVATE -O2)
    bulkhead_own_code(model_explorer)
    set(model_libraries model_explorer)
  endif()
  bulkhead_program(models tests PRIVATE_SOURCES
    SOURCES ${model_sources}
    LIBRARIES ${model_libraries} GTest::gtest_main)
  target_include_directories(models PRIVATE ${PROJECT_SOURCE_DIR}/tests/model)
  target_compile_options(models PRIVATE -O2)
  bulkhead_gtest(models model)
else()
  add_custom_target(models)
endif()

# --- src/**/*_fuzz.cpp: one program each, with libFuzzer or with a small driver of ours ---

add_custom_target(fuzzers)
bulkhead_glob(fuzz_sources src "*_fuzz.cpp")
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  if(BULKHEAD_FUZZ)
    bulkhead_program(fuzz_${name} fuzz PRIVATE_SOURCES SOURCES ${source})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    bulkhead_program(fuzz_${name} fuzz PRIVATE_SOURCES
      SOURCES ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cpp)
  endif()
  add_dependencies(fuzzers fuzz_${name})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(NOT IS_DIRECTORY ${corpus})
    set(corpus)
  endif()
  add_test(NAME fuzz/${name} COMMAND fuzz_${name} -seed=1 -runs=5000 ${corpus})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT ${BULKHEAD_TEST_TIMEOUT})
endforeach()

# --- tests/compile_fail/*.cpp: wrong use, and what the compiler says about it ---

set(compile_command ${CMAKE_CXX_COMPILER})
if(CMAKE_CXX_COMPILER_TARGET)
  list(APPEND compile_command --target=${CMAKE_CXX_COMPILER_TARGET})
endif()
list(APPEND compile_command ${CMAKE_CXX23_STANDARD_COMPILE_OPTION}
  ${BULKHEAD_CLANG_OPTIONS} -I${PROJECT_SOURCE_DIR}/include)

bulkhead_glob(compile_fail_sources tests/compile_fail "*.cpp")
foreach(source IN LISTS compile_fail_sources)
  cmake_path(GET source STEM name)
  bulkhead_tool_test(compile_fail/${name} compile_fail
    ${Python3_EXECUTABLE} tools/compile_fail.py ${source} -- ${compile_command})
endforeach()

# --- tests/gdb: the debugger's commands, on a program with actors in every state ---

if(NOT CMAKE_CROSSCOMPILING AND NOT BULKHEAD_SANITIZE)
  foreach(level IN ITEMS O1 O2)
    bulkhead_program(actors_to_debug_${level} tests
      SOURCES ${PROJECT_SOURCE_DIR}/tests/gdb/actors_to_debug.cpp)
    target_compile_options(actors_to_debug_${level} PRIVATE -g -${level})
  endforeach()
  # As many distributions compile: read() is an inline function then.
  target_compile_options(actors_to_debug_O2 PRIVATE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  bulkhead_tool_test(gdb gdb
    ${Python3_EXECUTABLE} tests/gdb/check_gdb.py
    $<TARGET_FILE:actors_to_debug_O1> $<TARGET_FILE:actors_to_debug_O2>)
  set_tests_properties(gdb PROPERTIES TIMEOUT 600)
endif()

# --- the rules of this project, and the checks of the checkers ---

bulkhead_tool_test(tidy tidy ${Python3_EXECUTABLE} tools/tidy)
bulkhead_tool_test(tidy_headers tidy
  ${Python3_EXECUTABLE} tools/check_headers.py include -- ${compile_command})
set_tests_properties(tidy_headers PROPERTIES TIMEOUT 600)
bulkhead_glob(tool_tests tools "*_test.py")
foreach(script IN LISTS tool_tests)
  cmake_path(GET script STEM name)
  bulkhead_tool_test(${name} tidy ${Python3_EXECUTABLE} ${script})
endforeach()

# --- what is installed can be found and used ---

bulkhead_glob(public_headers include "*.hpp")
if(public_headers AND BULKHEAD_INSTALL AND NOT CMAKE_CROSSCOMPILING AND NOT BULKHEAD_SANITIZE)
  bulkhead_tool_test(package package
    ${Python3_EXECUTABLE} tools/check_package.py ${PROJECT_BINARY_DIR}
    --cmake ${CMAKE_COMMAND} --compiler ${CMAKE_CXX_COMPILER})
endif()
