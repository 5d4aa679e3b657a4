# A package for Debian and Ubuntu, with libraries, headers, commands, manual pages and completion. Run, after
# tools/setup.sh package and a release build:
#   cpack -G DEB --config build/release/CPackConfig.cmake
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_CONTACT "Sluice <sluice@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the commands link
# The libraries are static, so a project that links them needs these libraries' headers, too.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup.sh --libraries
  OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REGEX REPLACE " (libcli11-dev|nlohmann-json3-dev|catch2|libpng-dev)" "" libraries "${libraries}")
string(REPLACE " " ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS "${libraries}")
include(CPack)
