# The library headers that most files include, compiled once for each set of compiler options. A compiler cache cannot
# store files that use them, and they hide missing includes, so tests/compilers.sh does not use them.
set(headers <Eigen/Core> <fmt/format.h> <algorithm> <array> <chrono> <cmath> <filesystem> <fstream> <functional> <limits>
  <map> <memory> <numeric> <optional> <set> <span> <stdexcept> <string> <thread> <vector>)

# abh_precompile(KIND FLAGS HEADERS...): compiles headers for the targets of this kind; see abh_precompiled
function(abh_precompile kind flags)
  add_library(abh_headers${kind} OBJECT EXCLUDE_FROM_ALL ${ABH_ROOT}/cmake/precompiled.cpp)
  target_link_libraries(abh_headers${kind} PRIVATE ${flags})
  target_precompile_headers(abh_headers${kind} PRIVATE ${ARGN})
endfunction()
abh_precompile("" abh_flags_float ${headers})
abh_precompile(_double abh_flags_double ${headers})
if(TARGET abh_catch)
  foreach(real float double)
    string(REGEX REPLACE "^_float$" "" kind _${real})
    abh_precompile(_test${kind} abh_flags_${real} ${headers} "\"tests/catch.hpp\"")
    target_link_libraries(abh_headers_test${kind} PRIVATE Catch2::Catch2)
    target_compile_definitions(abh_headers_test${kind} PRIVATE ABH_CATCH=${ABH_CATCH})
    abh_light(abh_headers_test${kind})
  endforeach()
endif()

# abh_precompiled(FOLDER): makes the targets of the folder and of those below it use them: libraries and programs, in
# double precision if their names say so, and tests. Once compiled this way, system headers are no longer recognized by
# GCC, which would warn about them.
function(abh_precompiled folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "EXECUTABLE|STATIC_LIBRARY" OR target MATCHES "^(cases|fuzz)_")
      continue()
    endif()
    if(target MATCHES "^test_")
      set(kind _test)
    else()
      set(kind)
    endif()
    if(target MATCHES "_double$")
      string(APPEND kind _double)
    endif()
    target_precompile_headers(${target} REUSE_FROM abh_headers${kind})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-w>)
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    abh_precompiled(${below})
  endforeach()
endfunction()
