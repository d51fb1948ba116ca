# examples/*.cpp: one program each, named as its file. With an examples/<name>.expected beside it,
# the program is also a test: its standard output must be exactly that.

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

bulkhead_glob(example_sources examples "*.cpp")
bulkhead_glob(example_outputs examples "*.expected")
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  bulkhead_program(${name} examples SOURCES ${source} LIBRARIES CLI11::CLI11)
  add_dependencies(examples ${name})
  cmake_path(REPLACE_EXTENSION source expected OUTPUT_VARIABLE expected)
  if(expected IN_LIST example_outputs)
    bulkhead_example_test(${name} --expected ${expected})
    list(REMOVE_ITEM example_outputs ${expected})
  endif()
endforeach()
foreach(output IN LISTS example_outputs)
  message(FATAL_ERROR "${output} has no example of the same name beside it.")
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
