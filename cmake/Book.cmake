# Target `book`: run the chapters' programs, draw the figures, render the pages.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/Python.cmake)
set(ABH_CHECKPOINTS ${CMAKE_BINARY_DIR}/checkpoints)

# The order of a build: programs are compiled, and run; then `book_quiet` is reached, everything is compiled and only the
# runs that measure are left. They follow one after another, since all runs share the terminal. Then `book_measured` is
# reached, the figures are drawn, and the pages are rendered. These are dependencies between targets: they order work
# that has to be done, but a program that is compiled again does not make another chapter's runs start again.
add_custom_target(book_quiet)
add_custom_target(book_measured)

# abh_book_run(FOLDER NAME CAPTION COMMAND program options... [DEPENDS ...]): one run of a program,
# with `--out`, into results/FOLDER/NAME/. The page shows CAPTION above what was printed. Appends the
# file to the caller's list `outputs`.
function(abh_book_run folder name caption)
  cmake_parse_arguments(arg "" "" "COMMAND;DEPENDS" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/results/${folder}/${name})
  add_custom_command(OUTPUT ${out}/stdout.txt
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND ${CMAKE_COMMAND} -E env ABH_CHECKPOINTS=${ABH_CHECKPOINTS}
      ${arg_COMMAND} --out ${out} > ${out}/stdout.part
    COMMAND ${CMAKE_COMMAND} -E echo "${caption}" > ${out}/command.txt
    COMMAND ${CMAKE_COMMAND} -E rename ${out}/stdout.part ${out}/stdout.txt
    DEPENDS ${arg_DEPENDS}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    COMMENT "${caption}"
    USES_TERMINAL VERBATIM)
  set(outputs ${outputs} ${out}/stdout.txt PARENT_SCOPE)
endfunction()

# abh_book_chapter(FOLDER PROGRAM RUNS "name: options"... [MEASURES name...] [AFTER NN]): the runs of one chapter, then
# its figures. MEASURES names the runs that take times. AFTER names a chapter whose runs must come first.
function(abh_book_chapter folder program)
  cmake_parse_arguments(arg "" "AFTER" "RUNS;MEASURES" ${ARGN})
  string(SUBSTRING ${folder} 0 2 number)
  get_property(runs_before GLOBAL PROPERTY abh_runs_${arg_AFTER})
  get_property(measured_before GLOBAL PROPERTY abh_measured_${arg_AFTER})
  set(runs)
  set(measured)
  set(names)
  foreach(run IN LISTS arg_RUNS)
    string(REGEX MATCH "^([^:]+):(.*)$" matched "${run}")
    set(name ${CMAKE_MATCH_1})
    list(APPEND names ${name})
    string(STRIP "${CMAKE_MATCH_2}" options)
    string(STRIP "./book run ${number} ${options}" caption)
    separate_arguments(options UNIX_COMMAND "${options}")
    set(outputs)
    set(before ${runs_before})
    if(name IN_LIST arg_MEASURES)
      list(APPEND before ${measured_before})
    endif()
    abh_book_run(${folder} ${name} "${caption}"
      COMMAND $<TARGET_FILE:${program}> ${options} DEPENDS ${program} ${before})
    if(name IN_LIST arg_MEASURES)
      list(APPEND measured ${outputs})
    else()
      list(APPEND runs ${outputs})
    endif()
  endforeach()
  foreach(name IN LISTS arg_MEASURES)
    if(NOT name IN_LIST names)
      message(FATAL_ERROR "${folder}: MEASURES names ${name}, which is none of its runs: ${names}")
    endif()
  endforeach()
  set_property(GLOBAL PROPERTY abh_runs_${number} ${runs})
  set_property(GLOBAL PROPERTY abh_measured_${number} ${measured})

  add_custom_target(book_runs_${number} DEPENDS ${runs})
  add_dependencies(book_quiet ${program} book_runs_${number})
  add_custom_target(book_measures_${number} DEPENDS ${measured})
  add_dependencies(book_measures_${number} book_quiet)
  add_dependencies(book_measured book_measures_${number})
  abh_book_figures(${folder} ${runs} ${measured} ${runs_before} ${measured_before})
endfunction()

# abh_book_figures(FOLDER FILES...): the figures of one chapter, from what its runs wrote.
function(abh_book_figures folder)
  set(script ${ABH_ROOT}/figures/${folder}.py)
  if(NOT EXISTS ${script})
    return()
  endif()
  set(stamp ${CMAKE_BINARY_DIR}/figures/${folder}.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${ABH_PYTHON} ${ABH_ROOT}/figures/draw.py ${folder}
      --results ${CMAKE_BINARY_DIR}/results --out ${CMAKE_BINARY_DIR}/figures
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${ABH_PYTHON_STAMP} ${ABH_ROOT}/figures/draw.py ${ABH_ROOT}/figures/style.py
      ${ABH_ROOT}/figures/architecture.py ${ABH_ROOT}/figures/sublayers.py ${script} ${ARGN}
    COMMENT "Drawing the figures of ${folder}"
    VERBATIM)
  string(REGEX REPLACE "^([0-9][0-9])_.*" "\\1" number ${folder})
  add_custom_target(book_figures_${number} DEPENDS ${stamp})
  add_dependencies(book_figures_${number} book_measured book_quiet)
  set_property(GLOBAL APPEND PROPERTY abh_book_figures book_figures_${number})
endfunction()

# What stands before and behind the chapters: the proofs, the list of planted faults, the seeds of the toy, the
# figures of the first pages.
function(abh_book_appendices)
  set(outputs)
  set(tests ${ABH_ROOT}/tests)
  file(GLOB fixtures CONFIGURE_DEPENDS ${tests}/golden/*.safetensors)
  abh_book_run(proof double "./book proof"
    COMMAND $<TARGET_FILE:proof_double> DEPENDS proof_double ${fixtures})
  abh_book_run(proof single "./book proof --single"
    COMMAND $<TARGET_FILE:proof> DEPENDS proof ${fixtures})
  abh_book_run(proof faults "./book mutate --list"
    COMMAND ${ABH_PYTHON} ${tests}/mutate.py --list
    DEPENDS ${ABH_PYTHON_STAMP} ${tests}/mutate.py ${tests}/mutants.toml)
  set(statistics ${tests}/golden/toy_statistics)
  abh_book_run(proof seeds "python tests/golden/toy_statistics.py summary"
    COMMAND ${ABH_PYTHON} ${statistics}.py summary
    DEPENDS ${ABH_PYTHON_STAMP} ${statistics}.py ${statistics}_book.json ${statistics}_pytorch.json)
  add_custom_target(book_proof DEPENDS ${outputs})
  add_dependencies(book_quiet book_proof)
  abh_book_figures(front)
endfunction()

function(abh_book_pages)
  get_property(figures GLOBAL PROPERTY abh_book_figures)
  add_custom_target(book
    COMMAND ${ABH_PYTHON} ${ABH_ROOT}/docs/build.py --root ${ABH_ROOT} --build ${CMAKE_BINARY_DIR}
    COMMENT "Rendering the pages"
    USES_TERMINAL VERBATIM)
  add_dependencies(book abh_python book_measured ${figures})
endfunction()
