# The steps behind tests/install/CMakeLists.txt, which says what the variables are.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
    ECHO_OUTPUT_VARIABLE)
  if(NOT result EQUAL 0)
    string(JOIN " " command ${ARGV})
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
endfunction()

# install_moved(BUILD PREFIX): installs to one place, moves it to PREFIX.
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
    # Takes a minute to compile, and is built within the tree.
    -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON)
  file(STRINGS ${folder}/CMakeCache.txt found REGEX "^sluice_DIR:")
  if(NOT found MATCHES "=${prefix}/")
    message(FATAL_ERROR "find_package took another Sluice than the one under ${prefix}: ${found}")
  endif()
  run(${CMAKE_COMMAND} --build ${folder})
endfunction()

# Compiles the tutorial with nothing but what pkg-config says.
function(compile_sample prefix program)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${PC_DIR})
  execute_process(COMMAND pkg-config --cflags --libs sluice OUTPUT_VARIABLE flags
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} -std=c++20 ${SOURCE}/samples/train_softmax.cpp -o ${program}
    ${flags})
endfunction()

# A folder of pictures, through the programs that were just built.
function(try_out prefix samples trainer)
  set(photos ${samples}/photos)
  set(dataset ${samples}/dataset)
  file(REMOVE_RECURSE ${photos} ${dataset})
  run(${samples}/make_photos ${photos} 2 8 64)
  run(${prefix}/bin/sluice convert ${photos} ${dataset})
  # The installed programs find the shared libraries themselves; the trainer knows no place.
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
  compile_sample(${WORK}/prefix ${WORK}/train_softmax)
elseif(STEP STREQUAL "other_kind")
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/other -G Ninja
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D BUILD_SHARED_LIBS=${OTHER_SHARED}
    -D SLUICE_BUILD_TESTS=OFF -D SLUICE_BUILD_BENCH=OFF -D SLUICE_BUILD_SAMPLES=OFF)
  run(${CMAKE_COMMAND} --build ${WORK}/other)
  install_moved(${WORK}/other ${WORK}/other-prefix)
  build_samples(${WORK}/other-prefix ${WORK}/other-samples)
  compile_sample(${WORK}/other-prefix ${WORK}/other-train_softmax)
  try_out(${WORK}/other-prefix ${WORK}/other-samples ${WORK}/other-train_softmax)
else()
  message(FATAL_ERROR "no step '${STEP}'")
endif()
