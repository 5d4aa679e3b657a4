# The steps of the tests in tests/install/CMakeLists.txt, which sets the variables.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
    ECHO_OUTPUT_VARIABLE)
  if(NOT result EQUAL 0)
    string(JOIN " " command ${ARGV})
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
endfunction()

# install_moved(BUILD PREFIX): installs to a different prefix, and moves that to PREFIX.
function(install_moved build prefix)
  file(REMOVE_RECURSE ${prefix} ${prefix}-first)
  run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix}-first)
  file(RENAME ${prefix}-first ${prefix})
endfunction()

# Builds samples/ against the prefix, in a build folder of its own.
function(build_samples prefix folder)
  file(REMOVE_RECURSE ${folder})
  run(${CMAKE_COMMAND} -S ${SOURCE}/samples -B ${folder} -G Ninja --no-warn-unused-cli
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_PREFIX_PATH=${prefix}
    # A consumer has no use for the JSON headers; a package that asked for them would fail here.
    -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
    # The trainer with LibTorch takes a minute to compile, and the build of the tree compiles it already.
    -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON)
  file(STRINGS ${folder}/CMakeCache.txt found REGEX "^sluice_DIR:")
  if(NOT found MATCHES "=${prefix}/")
    message(FATAL_ERROR "find_package took another Sluice than the one under ${prefix}: ${found}")
  endif()
  run(${CMAKE_COMMAND} --build ${folder})
endfunction()

# Compiles samples/train_softmax.cpp with only the flags that pkg-config gives for the module.
function(compile_sample prefix module program)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${PC_DIR})
  execute_process(COMMAND pkg-config --cflags --libs ${module} OUTPUT_VARIABLE flags
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(module STREQUAL "sluice-reader" AND flags MATCHES "sluice_writer|spng|exif|turbojpeg|tiff|webp|gif|avif|heif|jxl|openjp|lcms")
    message(FATAL_ERROR "the reader pulls in what only the writer needs: ${flags}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} -std=c++20 ${SOURCE}/samples/train_softmax.cpp -o ${program}
    ${flags})
endfunction()

# Configures in FOLDER a project with one trainer, whose lines CODE find Sluice. Sets RESULT to
# CMake's exit code and OUTPUT to CMake's output.
function(configure_trainer folder code)
  file(REMOVE_RECURSE ${folder})
  file(WRITE ${folder}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(trainer LANGUAGES CXX)
${code}
add_executable(trainer ${SOURCE}/samples/train_softmax.cpp)
target_link_libraries(trainer PRIVATE sluice::reader)
")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${folder} -B ${folder}/build -G Ninja --no-warn-unused-cli
    -D CMAKE_CXX_COMPILER=${COMPILER} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # because CMake wraps its messages
  set(RESULT "${result}" PARENT_SCOPE)
  set(OUTPUT "${output}" PARENT_SCOPE)
endfunction()

# Checks that configure_trainer() succeeded, or that it failed with a message that matches.
function(expect_success)
  if(NOT RESULT EQUAL 0)
    message(FATAL_ERROR "failed (${RESULT}): ${OUTPUT}")
  endif()
endfunction()
function(expect_failure sentence)
  if(RESULT EQUAL 0 OR NOT OUTPUT MATCHES "${sentence}")
    message(FATAL_ERROR "ended with ${RESULT} and did not say '${sentence}': ${OUTPUT}")
  endif()
endfunction()

# Makes pictures, converts them with the installed program, and runs the trainer on the dataset.
function(try_out prefix samples trainer)
  set(photos ${samples}/photos)
  set(dataset ${samples}/dataset)
  file(REMOVE_RECURSE ${photos} ${dataset})
  run(${samples}/make_photos ${photos} 2 8 64)
  run(${prefix}/bin/sluice convert ${photos} ${dataset})
  # The installed programs find the shared libraries through their rpath. The trainer may have none, so it gets
  # LD_LIBRARY_PATH.
  cmake_path(GET PC_DIR PARENT_PATH libdir)
  set(ENV{LD_LIBRARY_PATH} ${prefix}/${libdir})
  run(${trainer} ${dataset} 2)
endfunction()

if(STEP STREQUAL "install")
  install_moved(${BUILD} ${WORK}/prefix)
elseif(STEP STREQUAL "find_package")
  build_samples(${WORK}/prefix ${WORK}/samples)
  try_out(${WORK}/prefix ${WORK}/samples ${WORK}/samples/train_softmax)
elseif(STEP STREQUAL "pkg_config")
  compile_sample(${WORK}/prefix sluice ${WORK}/train_softmax)
  compile_sample(${WORK}/prefix sluice-reader ${WORK}/train_softmax)
elseif(STEP STREQUAL "one_library")
  # Makes one library, in the way that samples/guides/cpp-project.md shows.
  cmake_path(GET PC_DIR PARENT_PATH libdir)
  file(REMOVE ${WORK}/libsluice.a)
  file(WRITE ${WORK}/one_library.mri "create ${WORK}/libsluice.a\n")
  foreach(layer format remote reader writer)
    file(APPEND ${WORK}/one_library.mri "addlib ${WORK}/prefix/${libdir}/libsluice_${layer}.a\n")
  endforeach()
  file(APPEND ${WORK}/one_library.mri "save\nend\n")
  execute_process(COMMAND ar -M INPUT_FILE ${WORK}/one_library.mri COMMAND_ERROR_IS_FATAL ANY)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${PC_DIR})
  execute_process(COMMAND pkg-config --libs sluice OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "-lsluice_[a-z]+" "" flags "${flags}")
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} -std=c++20 -I${WORK}/prefix/include ${SOURCE}/samples/train_softmax.cpp
    -o ${WORK}/one-train_softmax ${WORK}/libsluice.a ${flags})
elseif(STEP STREQUAL "components")
  configure_trainer(${WORK}/components "find_package(sluice REQUIRED COMPONENTS reader)
if(TARGET sluice::writer)
  message(FATAL_ERROR \"the writer was not asked for\")
endif()" -D CMAKE_PREFIX_PATH=${WORK}/prefix)
  expect_success()
  # A project that links the writer looks for no JSON headers either.
  configure_trainer(${WORK}/components "find_package(sluice REQUIRED)\nlink_libraries(sluice::writer)"
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
  expect_success()
  configure_trainer(${WORK}/components "find_package(sluice REQUIRED COMPONENTS reader trainer)"
    -D CMAKE_PREFIX_PATH=${WORK}/prefix)
  expect_failure("Sluice has no component 'trainer'; it has format, remote, reader and writer")
  configure_trainer(${WORK}/components "find_package(sluice REQUIRED COMPONENTS reader OPTIONAL_COMPONENTS trainer)
if(sluice_trainer_FOUND OR NOT sluice_reader_FOUND)
  message(FATAL_ERROR \"sluice_trainer_FOUND is '\${sluice_trainer_FOUND}'\")
endif()" -D CMAKE_PREFIX_PATH=${WORK}/prefix)
  expect_success()
elseif(STEP STREQUAL "part")
  # Makes a build folder as after `ninja sluice_reader`, with the reader's libraries and nothing else.
  file(REMOVE_RECURSE ${WORK}/part)
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/part -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER}
    -D BUILD_SHARED_LIBS=OFF -D SLUICE_BUILD_TESTS=OFF -D SLUICE_BUILD_SAMPLES=OFF)
  foreach(layer format format/remote reader)
    cmake_path(GET layer FILENAME name)
    file(COPY ${BUILD}/${layer}/libsluice_${name}.a DESTINATION ${WORK}/part/${layer})
  endforeach()
  install_moved(${WORK}/part ${WORK}/part-prefix)
  configure_trainer(${WORK}/part-trainer "find_package(sluice REQUIRED COMPONENTS reader)"
    -D CMAKE_PREFIX_PATH=${WORK}/part-prefix)
  expect_success()
  configure_trainer(${WORK}/part-trainer "find_package(sluice REQUIRED)"
    -D CMAKE_PREFIX_PATH=${WORK}/part-prefix)
  expect_success()
  configure_trainer(${WORK}/part-trainer "find_package(sluice REQUIRED COMPONENTS reader writer)"
    -D CMAKE_PREFIX_PATH=${WORK}/part-prefix)
  expect_failure("Sluice's writer is not installed in .*part-prefix, since it had not been built")
  compile_sample(${WORK}/part-prefix sluice-reader ${WORK}/part-train_softmax)
elseif(STEP STREQUAL "headers")
  # Looks for macros, and compiles code as users write it. The code includes every header except torch.h, which needs
  # LibTorch.
  file(GLOB headers RELATIVE ${WORK}/prefix/include ${WORK}/prefix/include/sluice/*.h)
  foreach(header ${headers})
    file(STRINGS ${WORK}/prefix/include/${header} macros REGEX "^ *# *define")
    if(macros)
      message(FATAL_ERROR "${header} defines a macro, which may collide with a user's: ${macros}")
    endif()
  endforeach()
  list(REMOVE_ITEM headers sluice/torch.h)
  list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
  set(use "float Sum(const sluice::Batch& batch) {
  float sum = 0;
  for (const float x : batch.Variable<float>(\"boxes\")[0]) sum += x;
  return sum;
}
")
  # With -I in alphabetical order, with -isystem in the reverse order.
  foreach(kind -I -isystem)
    if(kind STREQUAL "-isystem")
      list(REVERSE headers)
    endif()
    list(JOIN headers "" includes)
    file(WRITE ${WORK}/headers${kind}.cpp "${includes}float Sum(const sluice::Batch& batch);\n${use}")
    foreach(compiler ${COMPILER} ${CLANG})
      if(compiler)  # there may be no clang
        run(${compiler} -std=c++20 -fsyntax-only -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion
          -Wsign-conversion ${kind} ${WORK}/prefix/include ${WORK}/headers${kind}.cpp)
      endif()
    endforeach()
  endforeach()
elseif(STEP STREQUAL "without_catch")
  foreach(tests AUTO ON)
    file(REMOVE_RECURSE ${WORK}/without_catch)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/without_catch -G Ninja
      -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -D SLUICE_WITH_CUDA=OFF
      -D SLUICE_BUILD_TESTS=${tests}
      RESULT_VARIABLE RESULT OUTPUT_VARIABLE OUTPUT ERROR_VARIABLE OUTPUT)
    string(REGEX REPLACE "[ \n]+" " " OUTPUT "${OUTPUT}")
    if(tests STREQUAL "ON")
      expect_failure("SLUICE_BUILD_TESTS is ON, but Catch2 or libpng was not found")
    else()
      expect_success()
      if(NOT OUTPUT MATCHES "Sluice: no tests; install catch2 and libpng-dev")
        message(FATAL_ERROR "CMake does not say that there are no tests: ${OUTPUT}")
      endif()
    endif()
  endforeach()
elseif(STEP STREQUAL "other_name")
  # libspng has one of two pkg-config names, depending on the build system that built it. Makes the name that this
  # system has unusable, and gives the library the other name.
  execute_process(COMMAND pkg-config --variable=pcfiledir ${SPNG} OUTPUT_VARIABLE system
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(other libspng)
  if(SPNG STREQUAL "libspng")
    set(other spng)
  endif()
  file(REMOVE_RECURSE ${WORK}/other_name)
  configure_file(${system}/${SPNG}.pc ${WORK}/other_name/pc/${other}.pc COPYONLY)
  file(WRITE ${WORK}/other_name/pc/${SPNG}.pc "Name: none\nDescription: none\nVersion: 0\nRequires: no-such-module\n")
  set(ENV{PKG_CONFIG_PATH} ${WORK}/other_name/pc)
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/other_name/build -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER}
    -D SLUICE_WITH_CUDA=OFF -D SLUICE_BUILD_TESTS=OFF)
  file(STRINGS ${WORK}/other_name/build/sluice-writer.pc needs REGEX "^Requires: .* ${other} ")
  if(NOT needs)
    message(FATAL_ERROR "sluice-writer.pc does not name ${other}")
  endif()
elseif(STEP STREQUAL "subproject")
  foreach(way "add_subdirectory(${SOURCE} sluice)"
      "include(FetchContent)\nFetchContent_Declare(sluice SOURCE_DIR ${SOURCE})\nFetchContent_MakeAvailable(sluice)")
    configure_trainer(${WORK}/subproject "${way}")
    expect_success()
    file(STRINGS ${WORK}/subproject/build/CMakeCache.txt kind REGEX "^CMAKE_BUILD_TYPE:")
    if(NOT kind STREQUAL "CMAKE_BUILD_TYPE:STRING=")
      message(FATAL_ERROR "Sluice set the build type of the project around it: ${kind}")
    endif()
    if(NOT OUTPUT MATCHES "CMAKE_BUILD_TYPE is empty, so nothing is optimised")
      message(FATAL_ERROR "Sluice does not say that it is not optimised: ${OUTPUT}")
    endif()
    run(${CMAKE_COMMAND} --install ${WORK}/subproject/build --prefix ${WORK}/subproject/prefix)
    if(EXISTS ${WORK}/subproject/prefix)
      message(FATAL_ERROR "Sluice installs itself with the project around it")
    endif()
  endforeach()
  if(BUILD_IT)
    run(${CMAKE_COMMAND} ${WORK}/subproject/build -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_UNITY_BUILD=ON)
    run(${CMAKE_COMMAND} --build ${WORK}/subproject/build)
    build_samples(${WORK}/prefix ${WORK}/subproject-samples)
    try_out(${WORK}/prefix ${WORK}/subproject-samples ${WORK}/subproject/build/trainer)
  endif()
elseif(STEP STREQUAL "other_kind")
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/other -G Ninja
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D BUILD_SHARED_LIBS=${OTHER_SHARED}
    -D SLUICE_BUILD_TESTS=OFF -D SLUICE_BUILD_BENCH=OFF -D SLUICE_BUILD_SAMPLES=OFF -D CMAKE_UNITY_BUILD=ON)
  run(${CMAKE_COMMAND} --build ${WORK}/other)
  install_moved(${WORK}/other ${WORK}/other-prefix)
  if(OTHER_SHARED)
    file(GLOB_RECURSE libraries ${WORK}/other-prefix/libsluice_*.so)
    foreach(library ${libraries})
      execute_process(COMMAND nm -DC --defined-only ${library} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
      string(REGEX REPLACE "[^\n]*sluice::[^\n]*\n" "" foreign "${names}")
      if(foreign OR NOT names)
        message(FATAL_ERROR "${library} exports names outside of namespace sluice, or no names at all: ${foreign}")
      endif()
    endforeach()
  endif()
  build_samples(${WORK}/other-prefix ${WORK}/other-samples)
  compile_sample(${WORK}/other-prefix sluice-reader ${WORK}/other-train_softmax)
  try_out(${WORK}/other-prefix ${WORK}/other-samples ${WORK}/other-train_softmax)
else()
  message(FATAL_ERROR "no step '${STEP}'")
endif()
