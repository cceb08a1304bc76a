# What `cmake --install` puts where, and the package that find_package(refrain) finds: the libraries as
# refrain::graphs and so on, their headers under include/refrain (so that an include is spelt as in this tree and meets
# no other project's), and the program. The root includes it last.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(folders graphs traces kernels audit runtime)
set(libraries refrain_graphs refrain_traces refrain_kernels refrain_audit refrain_scales refrain_runtime)
set(left_out "/(cuda|cupti|device|samples)$")
if(REFRAIN_HAS_CUDA)
  list(APPEND libraries refrain_graphs_cuda refrain_runtime_cuda)
  set(left_out "/(cupti|device|samples)$")
endif()

foreach(library ${libraries})
  string(REGEX REPLACE "^refrain_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/refrain>)
  # In this tree refrain_options says it. For CUDA by hand: see there.
  target_compile_features(${library} INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
  target_compile_options(${library} INTERFACE $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>>)
  if(REFRAIN_SANITIZE)
    target_compile_options(${library} INTERFACE
      $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined>>)
    target_link_options(${library} INTERFACE $<INSTALL_INTERFACE:-fsanitize=address,undefined>)
  endif()
endforeach()

# The path of the build tree, written as it is: CMake 3.25 cannot change one that names $ORIGIN.
set_target_properties(refrain PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${CMAKE_BUILD_RPATH}")
install(TARGETS refrain RUNTIME)
install(TARGETS ${libraries} EXPORT refrain ARCHIVE)
foreach(folder ${folders})
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain
    FILES_MATCHING PATTERN "*.hpp" REGEX ${left_out} EXCLUDE)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/refrain)
install(EXPORT refrain NAMESPACE refrain:: FILE refrainTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/refrainConfig.cmake.in ${CMAKE_BINARY_DIR}/refrainConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/refrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/refrainConfig.cmake ${CMAKE_BINARY_DIR}/refrainConfigVersion.cmake
  DESTINATION ${package})
install(DIRECTORY audit/contracts/ DESTINATION ${CMAKE_INSTALL_DATADIR}/refrain/contracts FILES_MATCHING PATTERN "*.json")

# The auditor of live processes, found from the program by its place; its C header, and its Python module.
if(TARGET refrain_inject)
  install(TARGETS refrain_inject LIBRARY NAMELINK_SKIP)
  install(FILES audit/cupti/refrain_audit.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/refrain)
  install(DIRECTORY python/refrain DESTINATION ${CMAKE_INSTALL_LIBDIR}/refrain/python FILES_MATCHING PATTERN "*.py")
endif()
