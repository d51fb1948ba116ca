# Benchmarks: src/**/*_bench.cpp measure parts; bench/ holds whole programs and their peers.

include_guard(GLOBAL)

find_package(benchmark QUIET CONFIG)
if(NOT benchmark_FOUND)
  message(FATAL_ERROR "Google Benchmark was not found. Install libbenchmark-dev, or run "
    "./dev bench, or leave the benchmarks out with -DBULKHEAD_BENCH=OFF.")
endif()

include(BulkheadPreemptibleCode)
bulkhead_glob(bench_sources src "*_bench.cpp")
if(bench_sources)
  bulkhead_program(parts_bench bench PRIVATE_SOURCES
    SOURCES ${bench_sources}
    LIBRARIES preemptible benchmark::benchmark_main)
endif()

file(GLOB bench_lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/CMakeLists.txt)
if(bench_lists)
  add_subdirectory(${PROJECT_SOURCE_DIR}/bench)
else()
  bulkhead_glob(program_sources bench "*.cpp")
  foreach(source IN LISTS program_sources)
    cmake_path(GET source PARENT_PATH folder)
    if(folder STREQUAL "${PROJECT_SOURCE_DIR}/bench")
      cmake_path(GET source STEM name)
      bulkhead_program(${name} bench SOURCES ${source})
    endif()
  endforeach()
endif()
