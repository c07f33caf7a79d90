# How lib and the chapters are built: with Real = float, for running, as target NAME, and with Real = double, for proofs,
# as target NAME_double. The latter is the same on every machine: its objects use no instructions that only some
# processors have, so hand-outs can contain them.
include_guard(GLOBAL)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH ABH_ROOT)

option(ABH_TESTS "build the tests (target tests)" OFF)
option(ABH_NATIVE "use all instructions of this machine's processor" ON)
option(ABH_PRECOMPILED "compile the library headers that most files include only once" OFF)
option(ABH_FUZZ "build the fuzzers (Clang with libFuzzer)" OFF)
option(ABH_JUDGE "build the programs that judge the exercises (target judge_libraries)" OFF)
option(ABH_BOOK "run the programs, draw the figures and render the pages (target book)" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/Dependencies.cmake)
enable_testing()

add_library(abh_flags INTERFACE)
target_include_directories(abh_flags INTERFACE ${ABH_ROOT})
target_link_libraries(abh_flags INTERFACE Eigen3::Eigen fmt::fmt CLI11::CLI11
  nlohmann_json::nlohmann_json utf8proc Threads::Threads)
if(ABH_DEVICE STREQUAL "runtime")
  target_link_libraries(abh_flags INTERFACE CUDA::cudart_static CUDA::cublasLt)
  # nvcc cannot check fmt's format strings at compile time, so they are checked at run time
  target_compile_definitions(abh_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:FMT_CONSTEVAL=;FMT_USE_CONSTEXPR=1>)
  # kernels call functions that are constexpr
  target_compile_options(abh_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
endif()
# A product and a sum become one instruction if the processor has it, as is GCC's default
target_compile_options(abh_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-ffp-contract=fast>)
add_library(abh_flags_double INTERFACE)
target_link_libraries(abh_flags_double INTERFACE abh_flags)
target_compile_definitions(abh_flags_double INTERFACE ABH_DOUBLE)
add_library(abh_flags_float INTERFACE)
target_link_libraries(abh_flags_float INTERFACE abh_flags)
if(ABH_NATIVE)
  target_compile_options(abh_flags_float INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()

# Kernels, *.cu: without a CUDA compiler they are compiled as C++, and the emulator implements CUDA's names.
function(abh_kernels)
  if(NOT ABH_DEVICE STREQUAL "runtime")  # quoted, because lib has a variable named runtime
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  endif()
endfunction()

# abh_light(TARGET): for code that compares numbers or reads a command line, and computes nothing itself. With less
# optimization it compiles in half the time and runs as fast.
function(abh_light target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
endfunction()

# abh_library(NAME SOURCES... [TWINS name...] DEPENDS...): NAME in single precision, and NAME_double with the sources that
# proofs or the judge need in double precision: all of them, or those that TWINS names (without .cpp; `none` for none)
function(abh_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;TWINS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC abh_flags_float ${arg_DEPENDS})
  if(NOT (ABH_TESTS OR ABH_BOOK OR ABH_JUDGE) OR arg_TWINS STREQUAL none)
    return()
  endif()
  if(arg_TWINS)
    list(JOIN arg_TWINS "|" twins)
    list(FILTER arg_SOURCES INCLUDE REGEX "/(${twins})\\.cpp$")
  endif()
  add_library(${name}_double STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${name}_double PUBLIC abh_flags_double)
  foreach(below IN LISTS arg_DEPENDS)
    while(NOT TARGET ${below}_double)  # it has no twins, so take the library below it
      get_target_property(below ${below} ABH_BELOW)
    endwhile()
    target_link_libraries(${name}_double PUBLIC ${below}_double)
  endforeach()
endfunction()

# abh_test(NAME FILES... [ONCE] DEPENDS...): test programs. ONCE, or else the first line of each file, says how often its
# tests are to be run:
#
#     // Once: ...              in single precision and the way fast: code that computes nothing, or in one way only
#     // Per real: ...          in single and in double precision
#     // Per way: ...           in each way: plain, fast, cuda
#     // Per real and way: ...  in both precisions and in each way
#
# Without a device, the cuda tests are skipped. Tests tagged [cuda] are about the device, those tagged [fast] about the
# tuned code.
function(abh_test name files)
  cmake_parse_arguments(arg "ONCE" "" "" ${ARGN})
  set(not_for_plain "~[cuda]~[fast]")
  set(not_for_cuda "~[fast]")
  if(NOT TARGET tests)
    add_custom_target(tests)  # all test programs
  endif()
  if(NOT TARGET abh_catch)
    add_library(abh_catch OBJECT EXCLUDE_FROM_ALL ${ABH_ROOT}/tests/main.cpp)
    target_link_libraries(abh_catch PUBLIC Catch2::Catch2 abh_flags)
    target_compile_definitions(abh_catch PUBLIC ABH_CATCH=${ABH_CATCH})
    abh_light(abh_catch)
  endif()
  set(in_double)
  set(double_in_each_way)
  set(in_each_way)  # the tags that Catch2 derives from file names
  foreach(file IN LISTS files)
    if(arg_ONCE)
      break()
    endif()
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(GET file STEM stem)
    file(STRINGS ${file} first LIMIT_COUNT 1)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    if(NOT first MATCHES "^// (Once|Per real|Per way|Per real and way): ")
      message(FATAL_ERROR "${file} does not begin with how often it is needed: // Once:, // Per real:, // Per way: or // Per real and way:")
    endif()
    set(needed ${CMAKE_MATCH_1})
    if(needed MATCHES "real")
      list(APPEND in_double ${file})
    endif()
    if(needed MATCHES "way")
      list(APPEND in_each_way "[#${stem}]")
    endif()
    if(needed MATCHES "real and way")
      list(APPEND double_in_each_way "[#${stem}]")
    endif()
  endforeach()
  foreach(real "" _double)
    if(real)
      set(files ${in_double})
      set(in_each_way ${double_in_each_way})
    endif()
    if(NOT files)
      continue()
    endif()
    set(ways fast)
    if(in_each_way)
      list(APPEND ways plain cuda)
    endif()
    set(depends ${arg_UNPARSED_ARGUMENTS})
    list(TRANSFORM depends APPEND "${real}")
    set(program test_${name}${real})
    add_executable(${program} EXCLUDE_FROM_ALL ${files})
    add_dependencies(tests ${program})
    target_link_libraries(${program} PRIVATE abh_catch ${depends})
    target_compile_definitions(${program} PRIVATE ABH_GOLDEN="${ABH_ROOT}/tests/golden")
    abh_light(${program})
    foreach(way IN LISTS ways)
      set(cases ~[cuda])
      if(NOT way STREQUAL fast)
        list(TRANSFORM in_each_way APPEND "${not_for_${way}}" OUTPUT_VARIABLE cases)
        list(JOIN cases "," cases)
      endif()
      set(test ${name}${real}_${way})
      add_test(NAME ${test} COMMAND ${program} --filenames-as-tags ${cases})
      set_tests_properties(${test} PROPERTIES LABELS ${way} TIMEOUT 600 SKIP_RETURN_CODE 77
        ENVIRONMENT ABH_TEST_WAY=${way})
    endforeach()
  endforeach()
endfunction()

# abh_chapter([MAIN "options"] [RUNS "name: options" ...] [MEASURES name ...] [RECORDED name ...] [AFTER NN] [TWINS name...]) in
# chapters/NN_NAME/CMakeLists.txt: library abh_NN from the chapter's sources, including those in its folders, program
# NAME from main.cpp, tests from tests/NN_NAME. A chapter builds on lib and on all earlier chapters. RUNS are the runs of
# the program that the book shows; `main`, without options or with those of MAIN, is always one of them. MEASURES names
# the runs that measure times: they start when everything is compiled and nothing else runs. RECORDED names those that take too
# long for each build, and run for the record only. AFTER: the runs need files that those of chapter NN wrote. TWINS: see abh_library.
function(abh_chapter)
  cmake_parse_arguments(arg "" "AFTER;MAIN" "RUNS;MEASURES;RECORDED;TWINS" ${ARGN})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  string(SUBSTRING ${folder} 0 2 number)
  string(SUBSTRING ${folder} 3 -1 name)

  if(NOT TARGET abh_lib)
    add_subdirectory(${ABH_ROOT}/lib ${CMAKE_BINARY_DIR}/lib)
  endif()
  set(below abh_lib)
  file(GLOB earlier LIST_DIRECTORIES true ${ABH_ROOT}/chapters/[0-9][0-9]_*)
  foreach(chapter IN LISTS earlier)
    cmake_path(GET chapter FILENAME other)
    string(SUBSTRING ${other} 0 2 other_number)
    if(other_number LESS number)
      if(NOT TARGET abh_${other_number}_built)
        add_subdirectory(${chapter} ${CMAKE_BINARY_DIR}/chapters/${other} EXCLUDE_FROM_ALL)
      endif()
      if(TARGET abh_${other_number})
        set(below abh_${other_number})
      endif()
    endif()
  endforeach()

  add_custom_target(abh_${number}_built)
  set(rooms ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*)  # exercises are one level deeper
  list(TRANSFORM rooms APPEND /*.cpp OUTPUT_VARIABLE sources)
  file(GLOB sources CONFIGURE_DEPENDS ${sources})
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$|/(exercises|ranks)/")  # for ranks see cmake/Ranks.cmake
  list(TRANSFORM rooms APPEND /*.cu OUTPUT_VARIABLE kernels)
  file(GLOB kernels CONFIGURE_DEPENDS ${kernels})
  list(FILTER kernels EXCLUDE REGEX "/plain_cuda/")  # a program of its own, which the emulator cannot run
  abh_kernels(${kernels})
  list(APPEND sources ${kernels})
  if(sources)
    abh_library(abh_${number} SOURCES ${sources} TWINS ${arg_TWINS} DEPENDS ${below})
    set_target_properties(abh_${number} PROPERTIES ABH_BELOW ${below})
    set(below abh_${number})
  endif()
  add_executable(${name} ${CMAKE_CURRENT_SOURCE_DIR}/main.cpp)
  target_link_libraries(${name} PRIVATE ${below})
  file(GLOB tests CONFIGURE_DEPENDS ${ABH_ROOT}/tests/${folder}/*.cpp)
  if(NOT ABH_DEVICE STREQUAL "emulator")
    list(FILTER tests EXCLUDE REGEX "/emulator[^/]*\\.cpp$")
  endif()
  cmake_path(GET CMAKE_SOURCE_DIR FILENAME top)
  if(ABH_TESTS AND tests AND (top STREQUAL folder OR CMAKE_SOURCE_DIR STREQUAL ABH_ROOT))
    abh_test(${number} "${tests}" ${below})
  endif()
  if(COMMAND abh_book_chapter)
    abh_book_chapter(${folder} ${name} RUNS "main:${arg_MAIN}" ${arg_RUNS}
      MEASURES ${arg_MEASURES} RECORDED ${arg_RECORDED} AFTER "${arg_AFTER}")
  endif()
endfunction()
