# Cross-compiles for 64-bit Arm under Debian or Ubuntu, and runs the programs under an emulator. .ci/arm64 unpacks
# the libraries; SLUICE_ARM64_SYSROOT can name another place that has them.
set(SLUICE_ARM64_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64.sysroot
  CACHE PATH "Where the libraries of the Arm system lie")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SLUICE_ARM64_SYSROOT)
cmake_path(ABSOLUTE_PATH SLUICE_ARM64_SYSROOT NORMALIZE OUTPUT_VARIABLE CMAKE_SYSROOT)
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
  message(FATAL_ERROR "There is no Arm system in ${CMAKE_SYSROOT}; .ci/arm64 makes it")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(SLUICE_QEMU qemu-aarch64 REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${SLUICE_QEMU} -L ${CMAKE_SYSROOT})

# Libraries, headers and packages are the Arm system's alone; programs are this system's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
