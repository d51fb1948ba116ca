# examples/<name>.cpp, or all that is in examples/<name>/: a program of that name. With an
# examples/<name>.expected beside it, it is also a test: its standard output must be exactly that.
# With an examples/<name>/<name>_test.py, that script is a test, and gets the program to run.

include_guard(GLOBAL)

add_custom_target(examples)

# Options on command lines, and the client that puts a load on the echo service.
find_package(CLI11 QUIET CONFIG)
if(NOT TARGET CLI11::CLI11)
  set(advice "CLI11 was not found, which the examples read their options with. Install "
    "libcli11-dev, or leave the examples out with -DBULKHEAD_EXAMPLES=OFF.")
  if(BULKHEAD_TESTS)
    message(FATAL_ERROR ${advice})  # they are tests, too
  endif()
  message(WARNING ${advice} " They are left out now.")
  return()
endif()
if(NOT TARGET echo_load)
  add_subdirectory(${PROJECT_SOURCE_DIR}/bench/echo ${PROJECT_BINARY_DIR}/bench/echo)
endif()
add_dependencies(examples echo_load)

function(bulkhead_example_test name)
  if(NOT BULKHEAD_TESTS)
    return()
  endif()
  add_test(NAME example/${name} COMMAND
    ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/expect_output.py ${ARGN}
    -- ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>)
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT 60)
endfunction()

function(bulkhead_example_script name script)
  if(NOT BULKHEAD_TESTS)
    return()
  endif()
  add_test(NAME example/${name} COMMAND
    ${Python3_EXECUTABLE} ${script} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>)
  set_tests_properties(example/${name} PROPERTIES
    LABELS example TIMEOUT ${BULKHEAD_TEST_TIMEOUT})
endfunction()

bulkhead_glob(example_sources examples "*.cpp")
bulkhead_glob(example_outputs examples "*.expected")
bulkhead_glob(example_scripts examples "*_test.py")
set(example_names)
foreach(source IN LISTS example_sources)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/examples ${source})
  string(REGEX REPLACE "[./].*" "" name ${path})
  list(APPEND example_names ${name})
  list(APPEND example_sources_${name} ${source})
endforeach()
list(REMOVE_DUPLICATES example_names)
foreach(name IN LISTS example_names)
  bulkhead_program(${name} examples SOURCES ${example_sources_${name}} LIBRARIES CLI11::CLI11)
  add_dependencies(examples ${name})
  set(expected ${PROJECT_SOURCE_DIR}/examples/${name}.expected)
  if(expected IN_LIST example_outputs)
    # Its heaps have a limit, which sanitizers' have not.
    if(NOT (name STREQUAL "stage" AND BULKHEAD_SANITIZE))
      bulkhead_example_test(${name} --expected ${expected})
    endif()
    list(REMOVE_ITEM example_outputs ${expected})
  endif()
  set(script ${PROJECT_SOURCE_DIR}/examples/${name}/${name}_test.py)
  if(script IN_LIST example_scripts)
    bulkhead_example_script(${name} ${script})
    list(REMOVE_ITEM example_scripts ${script})
  endif()
endforeach()
foreach(test IN LISTS example_outputs example_scripts)
  message(FATAL_ERROR "${test} has no example of the same name beside it.")
endforeach()

# --- the first C++ block of README.md after the marker is a program, and it runs ---

set(readme_marker "<!-- test: readme_example -->")
file(GLOB readme CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
if(readme)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${readme})
  execute_process(
    COMMAND ${CMAKE_COMMAND}
      "-DREADME=${readme}" "-DMARKER=${readme_marker}"
      "-DOUTPUT=${PROJECT_BINARY_DIR}/readme_example.cpp"
      -P ${PROJECT_SOURCE_DIR}/cmake/ExtractReadmeExample.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${PROJECT_BINARY_DIR}/readme_example.cpp)
    bulkhead_program(readme_example examples SOURCES ${PROJECT_BINARY_DIR}/readme_example.cpp)
    add_dependencies(examples readme_example)
    bulkhead_example_test(readme_example)
  endif()
endif()
