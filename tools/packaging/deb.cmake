# A package for Debian and Ubuntu, with libraries, headers, commands, manual pages and completion; also with the
# Python package, if the build has it. Run, after tools/setup.sh package and a release build:
#   cpack -G DEB --config build/release/CPackConfig.cmake
# DEBFULLNAME and DEBEMAIL, when the build is configured, name the package's maintainer.
if(CPACK_TEMPORARY_DIRECTORY)  # cpack includes this file, too, before it packs that folder
  file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/usr/share/man/man1/*.1)
  file(GLOB libraries ${CPACK_TEMPORARY_DIRECTORY}/usr/lib/*.a)
  foreach(command "gzip;-9n;${pages};${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/sluice/changelog.Debian"
      "strip;--strip-debug;--enable-deterministic-archives;${libraries}")
    execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  return()
endif()

cmake_host_system_information(RESULT system QUERY DISTRIB_INFO)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if("$ENV{DEBEMAIL}" STREQUAL "")
  set(CPACK_PACKAGE_CONTACT "Unnamed builder <nobody@localhost>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Loads pictures for training from sharded datasets")
set(CPACK_PACKAGE_DESCRIPTION "Sluice compiles a folder of pictures once into a sharded dataset,
and plays it in random order, decoded on threads: libraries and headers
for C++, the commands sluice and sluice-bench.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_FILE})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${system_ID}${system_VERSION_ID})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the commands link
# The libraries are static, so a project that links them needs these libraries' headers, too.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup.sh --libraries
  OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REGEX REPLACE " (libcli11-dev|nlohmann-json3-dev|catch2|libpng-dev)" "" libraries "${libraries}")
string(REPLACE " " ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS "${libraries}")

# What Debian wants in /usr/share/doc, which no other way of installing needs.
set(doc ${PROJECT_BINARY_DIR}/deb.doc)
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Sluice

Files: *
Copyright: 2026 the authors of Sluice
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog.Debian "sluice (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}; CHANGELOG.md in the sources names each change.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
install(FILES ${doc}/copyright ${doc}/changelog.Debian DESTINATION share/doc/sluice COMPONENT deb EXCLUDE_FROM_ALL)
if(TARGET sluice_python)
  set(python lib/python3/dist-packages/sluice)
  install(TARGETS sluice_python LIBRARY DESTINATION ${python} COMPONENT deb EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/reader/python/sluice/ DESTINATION ${python} COMPONENT deb EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN *.py PATTERN *.pyi PATTERN py.typed)
  get_directory_property(minor DIRECTORY reader/python DEFINITION Python_VERSION_MINOR)
  math(EXPR next "${minor} + 1")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "python3 (>= 3.${minor}~), python3 (<< 3.${next}), python3-numpy")
  # Files that Python compiled there belong to no package, so the removal of this one deletes them.
  file(WRITE ${doc}/prerm "#!/bin/sh\nset -e\nrm -rf /usr/${python}/__pycache__\n")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${doc}/prerm)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};sluice;ALL;/;${PROJECT_BINARY_DIR};sluice;deb;/")
include(CPack)
