# Headers, library, CMake package and pkg-config file.

include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/bulkhead)

install(TARGETS bulkhead
  EXPORT bulkhead-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/bulkhead.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bulkhead/gdb)
install(EXPORT bulkhead-targets
  NAMESPACE bulkhead::
  DESTINATION ${package_folder})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/bulkhead-config.cmake.in
  ${PROJECT_BINARY_DIR}/bulkhead-config.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_DATADIR
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/bulkhead-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_SOURCE_DIR}/cmake/BulkheadPreemptible.cmake
  ${PROJECT_BINARY_DIR}/bulkhead-config.cmake
  ${PROJECT_BINARY_DIR}/bulkhead-config-version.cmake
  DESTINATION ${package_folder})

cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR lib_is_absolute)
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_INCLUDEDIR include_is_absolute)
if(lib_is_absolute OR include_is_absolute)
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  # Relative to the file itself, so that the whole tree can be moved.
  set(pc_folder /${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  cmake_path(RELATIVE_PATH pc_folder BASE_DIRECTORY / OUTPUT_VARIABLE pc_below)
  string(REGEX REPLACE "[^/]+" ".." pc_up "${pc_below}")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(JOIN BULKHEAD_STACK_OPTIONS " " pc_options)
# A pkg-config file cannot ask which compiler will use it.
list(JOIN BULKHEAD_OLD_CLANG_OPTIONS " " pc_clang_options)
configure_file(${PROJECT_SOURCE_DIR}/cmake/bulkhead.pc.in ${PROJECT_BINARY_DIR}/bulkhead.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bulkhead.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
