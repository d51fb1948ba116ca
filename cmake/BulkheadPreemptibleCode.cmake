# tests/preemptible: code that is compiled for preemption, as users' code may be; for tests and
# benchmarks.

include_guard(GLOBAL)

bulkhead_glob(preemptible_sources tests/preemptible "*.cpp")
add_library(preemptible STATIC ${preemptible_sources})
target_include_directories(preemptible PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(preemptible PUBLIC bulkhead::bulkhead)
bulkhead_own_code(preemptible)
bulkhead_preemptible(preemptible)
