# Functions that the other files use to find sources and to make targets of them.

include_guard(GLOBAL)
include(CheckCXXCompilerFlag)

# Files beside the library's own sources that are not part of the library.
set(BULKHEAD_PART_REGEX "_(test|model|fuzz|bench)\\.cpp$")

# bulkhead_glob(<variable> <folder> <pattern>...): the files below a folder, which may be absent.
# A file whose name carries a processor (switch_x86_64.S, stack_aarch64_test.cpp) is left out on
# the other one.
function(bulkhead_glob variable folder)
  set(found)
  foreach(pattern IN LISTS ARGN)
    file(GLOB_RECURSE some CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${pattern})
    list(APPEND found ${some})
  endforeach()
  foreach(processor IN ITEMS x86_64 aarch64)
    if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL processor)
      list(FILTER found EXCLUDE REGEX "_${processor}(_test|_model|_fuzz|_bench)?\\.[A-Za-z]+$")
    endif()
  endforeach()
  list(SORT found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# bulkhead_layer_of(<variable> <file>): the folder directly below src/ that holds the file.
function(bulkhead_layer_of variable file)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${file})
  if(NOT path MATCHES "^([^/]+)/.+")
    message(FATAL_ERROR "src/${path} lies in no layer: move it to src/<layer>/.")
  endif()
  set(${variable} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

set(BULKHEAD_WARNINGS -Wno-psabi -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef)
if(BULKHEAD_WERROR)
  list(APPEND BULKHEAD_WARNINGS -Werror)
endif()

# Clang before 19 says that it has older concepts than it has, and libstdc++ then hides
# std::expected. Those who include our headers need this too, whatever compiler built the library:
# so it is public, and decided for each compiler that uses it.
set(BULKHEAD_OLD_CLANG_OPTIONS
  -U__cpp_concepts -D__cpp_concepts=202002L -Wno-builtin-macro-redefined)
set(BULKHEAD_CLANG_OPTIONS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  set(BULKHEAD_CLANG_OPTIONS ${BULKHEAD_OLD_CLANG_OPTIONS})
endif()

# Functions with large frames must touch every page on the way down, or they step over the guard
# below a stack. That holds for the code of actors too, so it is public.
check_cxx_compiler_flag("-Werror -fstack-clash-protection" BULKHEAD_HAS_STACK_CLASH)
set(BULKHEAD_STACK_OPTIONS)
if(BULKHEAD_HAS_STACK_CLASH)
  set(BULKHEAD_STACK_OPTIONS -fstack-clash-protection)
endif()

# bulkhead_own_code(<target>): our warnings, for code that is ours.
function(bulkhead_own_code target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${BULKHEAD_WARNINGS}>")
endfunction()

# bulkhead_code_generation(<library>): how the library's code, and that of its users, is compiled.
function(bulkhead_code_generation target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-plt>)
  foreach(option IN LISTS BULKHEAD_STACK_OPTIONS)
    target_compile_options(${target} PUBLIC $<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
  set(old_clang
    "$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,19>>")
  foreach(option IN LISTS BULKHEAD_OLD_CLANG_OPTIONS)
    target_compile_options(${target} PUBLIC $<${old_clang}:${option}>)
  endforeach()
endfunction()

# bulkhead_use_numa(<library>): memory goes to the node of its core, where libnuma is installed.
function(bulkhead_use_numa target)
  find_path(BULKHEAD_NUMA_INCLUDE numa.h)
  find_library(BULKHEAD_NUMA_LIBRARY numa)
  mark_as_advanced(BULKHEAD_NUMA_INCLUDE BULKHEAD_NUMA_LIBRARY)
  if(BULKHEAD_NUMA_INCLUDE AND BULKHEAD_NUMA_LIBRARY)
    target_compile_definitions(${target} PRIVATE BULKHEAD_HAVE_LIBNUMA=1)
    target_link_libraries(${target} PRIVATE numa)
    set(BULKHEAD_NUMA_LINK " -lnuma" PARENT_SCOPE)
  endif()
endfunction()

# bulkhead_use_backtrace(<library>): stack traces with files and lines, where there is
# libbacktrace, as GCC brings it along. Its header lies among those that are for GCC alone; so
# another compiler, which uses the libraries of a GCC, is given the path of this one.
function(bulkhead_use_backtrace target)
  include(CheckCXXSourceCompiles)
  set(header <backtrace.h>)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a
      OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
    cmake_path(REPLACE_FILENAME library include/backtrace.h OUTPUT_VARIABLE path)
    cmake_path(NORMAL_PATH path)
    if(EXISTS ${path})
      set(header "\"${path}\"")
    endif()
  endif()
  set(CMAKE_REQUIRED_LIBRARIES backtrace)
  check_cxx_source_compiles("
    #include ${header}
    int main() { return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr; }"
    BULKHEAD_HAS_LIBBACKTRACE)
  if(BULKHEAD_HAS_LIBBACKTRACE)
    target_compile_definitions(${target} PRIVATE BULKHEAD_BACKTRACE_HEADER=${header})
    target_link_libraries(${target} PRIVATE backtrace)
    set(BULKHEAD_BACKTRACE_LINK " -lbacktrace" PARENT_SCOPE)
  endif()
endfunction()

# bulkhead_program(<target> <folder> SOURCES <file>... [LIBRARIES <library>...] [PRIVATE_SOURCES]):
# an executable of ours in <build>/<folder>. PRIVATE_SOURCES lets it include from src/.
function(bulkhead_program target folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "PRIVATE_SOURCES" "" "SOURCES;LIBRARIES")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE bulkhead::bulkhead ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  if(arg_PRIVATE_SOURCES)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  endif()
  bulkhead_own_code(${target})
endfunction()

# Sanitizers apply to everything that is built here, or their reports are worth little.
if(BULKHEAD_SANITIZE)
  add_compile_options(-fsanitize=${BULKHEAD_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BULKHEAD_SANITIZE})
endif()
if(BULKHEAD_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BULKHEAD_FUZZ needs Clang: configure with -DCMAKE_CXX_COMPILER=clang++.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
