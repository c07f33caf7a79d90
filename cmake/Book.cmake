# Target `book`: run the chapters' programs, draw the figures, render the pages.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/Python.cmake)
set(ABH_CHECKPOINTS ${CMAKE_BINARY_DIR}/checkpoints)

# abh_book_chapter(FOLDER PROGRAM RUNS "name: options"... [AFTER NN]): the runs of one chapter, each
# into results/FOLDER/RUN/, then its figures. AFTER names a chapter whose runs must come first.
function(abh_book_chapter folder program)
  cmake_parse_arguments(arg "" "AFTER" "RUNS" ${ARGN})
  string(SUBSTRING ${folder} 0 2 number)
  if(arg_AFTER)
    get_property(before GLOBAL PROPERTY abh_runs_${arg_AFTER})
  endif()
  set(outputs)
  foreach(run IN LISTS arg_RUNS)
    string(REGEX MATCH "^([^:]+):(.*)$" matched "${run}")
    set(name ${CMAKE_MATCH_1})
    string(STRIP "./book run ${number} ${CMAKE_MATCH_2}" command)
    separate_arguments(options UNIX_COMMAND "${CMAKE_MATCH_2}")
    set(folder_out ${CMAKE_BINARY_DIR}/results/${folder}/${name})
    add_custom_command(OUTPUT ${folder_out}/stdout.txt
      COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder_out}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder_out}
      COMMAND ${CMAKE_COMMAND} -E env ABH_CHECKPOINTS=${ABH_CHECKPOINTS}
        $<TARGET_FILE:${program}> ${options} --out ${folder_out} > ${folder_out}/stdout.part
      COMMAND ${CMAKE_COMMAND} -E echo "${command}" > ${folder_out}/command.txt
      COMMAND ${CMAKE_COMMAND} -E rename ${folder_out}/stdout.part ${folder_out}/stdout.txt
      DEPENDS ${program} ${before}
      WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
      COMMENT "${command}"
      USES_TERMINAL VERBATIM)
    list(APPEND outputs ${folder_out}/stdout.txt)
  endforeach()
  set_property(GLOBAL PROPERTY abh_runs_${number} ${outputs})

  set(script ${ABH_ROOT}/figures/${folder}.py)
  if(EXISTS ${script})
    set(stamp ${CMAKE_BINARY_DIR}/figures/${folder}.stamp)
    add_custom_command(OUTPUT ${stamp}
      COMMAND ${ABH_PYTHON} ${ABH_ROOT}/figures/draw.py ${folder}
        --results ${CMAKE_BINARY_DIR}/results --out ${CMAKE_BINARY_DIR}/figures
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${ABH_PYTHON_STAMP} ${ABH_ROOT}/figures/draw.py ${ABH_ROOT}/figures/style.py ${script}
        ${outputs} ${before}
      COMMENT "Drawing the figures of ${folder}"
      VERBATIM)
    list(APPEND outputs ${stamp})
  endif()
  add_custom_target(book_${number} DEPENDS ${outputs})
  set_property(GLOBAL APPEND PROPERTY abh_book_chapters book_${number})
endfunction()

function(abh_book_pages)
  get_property(chapters GLOBAL PROPERTY abh_book_chapters)
  add_custom_target(book
    COMMAND ${ABH_PYTHON} ${ABH_ROOT}/docs/build.py --root ${ABH_ROOT} --build ${CMAKE_BINARY_DIR}
    COMMENT "Rendering the pages"
    USES_TERMINAL VERBATIM)
  add_dependencies(book abh_python ${chapters})
endfunction()
