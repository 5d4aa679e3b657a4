# An overlay port for vcpkg, of the checkout that it lies in:
#
#   vcpkg install 'sluice[tools]' --overlay-ports=tools/packaging/vcpkg --no-binarycaching
#
# vcpkg does not notice a change of the checkout: after one, call `vcpkg remove sluice` first. Nobody has run this file
# yet. tests/install/recipes.py compares it and vcpkg.json with CMakeLists.txt.
get_filename_component(SOURCE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES tools SLUICE_BUILD_TOOLS)
vcpkg_cmake_configure(
  SOURCE_PATH ${SOURCE_PATH}
  OPTIONS
    ${features}
    -DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}
    -DCMAKE_UNITY_BUILD=ON
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=40
    -DSLUICE_BUILD_BENCH=OFF
    -DSLUICE_BUILD_SAMPLES=OFF
    -DSLUICE_BUILD_TESTS=OFF
    -DSLUICE_WITH_CUDA=OFF
    -DSLUICE_WITH_WEBP=ON
    -DSLUICE_WITH_GIF=ON
    -DSLUICE_WITH_TIFF=ON
    -DSLUICE_WITH_AVIF=ON
    -DSLUICE_WITH_HEIF=ON
    -DSLUICE_WITH_JXL=ON
    -DSLUICE_WITH_JP2=ON
    -DSLUICE_WITH_LCMS=ON
    -DSLUICE_WITH_REMOTE=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/sluice)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES sluice AUTO_CLEAN)
endif()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
