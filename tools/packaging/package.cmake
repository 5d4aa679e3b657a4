# The installed package, for find_package(sluice) and pkg-config. Each library has its own files for both, so a
# project that links the reader needs nothing of the writer.
include(CMakePackageConfigHelpers)

set(SLUICE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
set(SLUICE_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
get_target_property(SLUICE_LIBRARY_TYPE sluice_format TYPE)

# The dependencies that a project must find when it links a static library. For a target PkgConfig::PREFIX:
# modules of pkg-config (PREFIX:module...); else a CMake package (NAME). SLUICE_PC_LIBS_*: libraries without a
# pkg-config module.
foreach(layer format remote reader writer)
  set(SLUICE_NEEDS_${layer} "")
  set(SLUICE_PC_LIBS_${layer} "")
endforeach()
if(NOT SLUICE_LIBRARY_TYPE STREQUAL "SHARED_LIBRARY")
  set(SLUICE_NEEDS_format JPEG ZSTD:libzstd XXHASH:libxxhash EXPAT:expat)
  set(SLUICE_NEEDS_reader Threads)
  set(SLUICE_NEEDS_writer Threads JPEG Snappy LIBSPNG:${LIBSPNG_MODULE_NAME} EXIF:libexif TURBOJPEG:libturbojpeg
    UTF8PROC:libutf8proc)
  set(SLUICE_PC_LIBS_reader " -pthread")
  set(SLUICE_PC_LIBS_writer " -pthread -lsnappy")
  if(SLUICE_HAS_REMOTE)
    set(SLUICE_NEEDS_remote Threads REMOTE:libcurl:libcrypto)
    set(SLUICE_PC_LIBS_remote " -pthread")
  endif()
  foreach(library WEBP:libwebp:libwebpdemux TIFF:libtiff-4 AVIF:libavif HEIF:libheif JXL:libjxl
      JP2:libopenjp2 LCMS:lcms2)
    string(REGEX MATCH "^[A-Z0-9]+" name ${library})
    if(SLUICE_HAS_${name})
      list(APPEND SLUICE_NEEDS_writer ${library})
    endif()
  endforeach()
  if(SLUICE_HAS_GIF)
    list(APPEND SLUICE_NEEDS_writer GIF)
    string(APPEND SLUICE_PC_LIBS_writer " -lgif")
  endif()
  # reader/ looks for CUDA, whose runtime is linked statically, too.
  get_directory_property(cuda DIRECTORY reader DEFINITION SLUICE_NVCC)
  if(cuda)
    list(APPEND SLUICE_NEEDS_reader CUDAToolkit)
    get_directory_property(cuda_libraries DIRECTORY reader DEFINITION CUDAToolkit_LIBRARY_DIR)
    string(APPEND SLUICE_PC_LIBS_reader " -L${cuda_libraries} -lcudart_static -ldl -lrt")
  endif()
endif()

# Paths in the pkg-config files are relative to those files, so that the prefix can be chosen at install time and
# moved afterwards. An absolute install path stays absolute.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(SLUICE_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH SLUICE_PC_PREFIX /prefix/${SLUICE_PC_DIR} /prefix)
  string(REGEX REPLACE "/$" "" SLUICE_PC_PREFIX "\${pcfiledir}/${SLUICE_PC_PREFIX}")
endif()
foreach(directory LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${directory}})
    set(SLUICE_PC_${directory} ${CMAKE_INSTALL_${directory}})
  else()
    set(SLUICE_PC_${directory} "\${prefix}/${CMAKE_INSTALL_${directory}}")
  endif()
endforeach()

foreach(layer format remote reader writer)
  # These are in Requires, not in Requires.private: if only static libraries are installed, every link needs them.
  set(modules ${SLUICE_NEEDS_${layer}})
  list(TRANSFORM modules REPLACE "^JPEG$" ":libjpeg")
  list(FILTER modules INCLUDE REGEX ":")
  list(TRANSFORM modules REPLACE "^[A-Z0-9]*:" "")
  if(layer MATCHES "reader|writer")
    list(PREPEND modules "sluice-remote = ${PROJECT_VERSION}")
  elseif(layer STREQUAL "remote")
    list(PREPEND modules "sluice-format = ${PROJECT_VERSION}")
  endif()
  string(REGEX REPLACE "[;:]" " " SLUICE_PC_REQUIRES "${modules}")
  set(SLUICE_PC_NAME "Sluice's ${layer}")
  set(SLUICE_PC_LIBS "-L\${libdir} -lsluice_${layer}${SLUICE_PC_LIBS_${layer}}")
  configure_file(tools/packaging/sluice.pc.in sluice-${layer}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/sluice-${layer}.pc DESTINATION ${SLUICE_PC_DIR})
  install(EXPORT sluice-${layer} FILE sluice-${layer}-targets.cmake NAMESPACE sluice::
    DESTINATION ${SLUICE_PACKAGE_DIR})
  # A library that was not built is not installed, and no package file mentions it.
  cmake_path(ABSOLUTE_PATH SLUICE_PACKAGE_DIR BASE_DIRECTORY "\${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE package)
  cmake_path(ABSOLUTE_PATH SLUICE_PC_DIR BASE_DIRECTORY "\${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE pc)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:sluice_${layer}>\")
      file(REMOVE \"\$ENV{DESTDIR}${package}/sluice-${layer}-targets.cmake\"
        \"\$ENV{DESTDIR}${pc}/sluice-${layer}.pc\")
    endif()")
endforeach()
set(SLUICE_PC_NAME "Sluice")
set(SLUICE_PC_REQUIRES "sluice-reader = ${PROJECT_VERSION} sluice-writer = ${PROJECT_VERSION}")
set(SLUICE_PC_LIBS "")
configure_file(tools/packaging/sluice.pc.in sluice.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sluice.pc DESTINATION ${SLUICE_PC_DIR})

configure_package_config_file(tools/packaging/sluice-config.cmake.in
  ${PROJECT_BINARY_DIR}/sluice-config.cmake
  INSTALL_DESTINATION ${SLUICE_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the public headers.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluice-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sluice-config.cmake
  ${PROJECT_BINARY_DIR}/sluice-config-version.cmake
  DESTINATION ${SLUICE_PACKAGE_DIR})
