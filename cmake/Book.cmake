# Target `book_runs` compiles the programs that the book shows, and runs them. Target `book` then renders the pages.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/Python.cmake)

# The order: while programs are compiled, those that measure nothing are run as soon as they are ready, two at a time. When
# all that is done (`book_quiet`), the runs that measure times follow, one after another, with nothing else running. These
# are dependencies between targets: they put the work in order, but when a program is compiled again, other chapters'
# runs are not repeated.
add_custom_target(book_programs)
add_custom_target(book_quiet)
add_custom_target(book_runs)
add_custom_target(book_recorded) # what takes too long for each build, and is run for the record only
set_property(GLOBAL APPEND PROPERTY JOB_POOLS abh_quiet_runs=2)

# abh_book_run(FOLDER NAME CAPTION [ALONE] COMMAND program options... [DEPENDS ...]): one run of a program, with `--out`, into
# runs/FOLDER/NAME/. The page shows CAPTION above what was printed. ALONE: the run shows its progress in the terminal.
# Appends the file to the caller's list `outputs`.
function(abh_book_run folder name caption)
  cmake_parse_arguments(arg "ALONE" "" "COMMAND;DEPENDS" ${ARGN})
  if(arg_ALONE)
    set(how USES_TERMINAL)
  else()
    set(how JOB_POOL abh_quiet_runs)
  endif()
  set(out ${CMAKE_BINARY_DIR}/runs/${folder}/${name})
  add_custom_command(OUTPUT ${out}/stdout.txt
    COMMAND ${CMAKE_COMMAND} -E env ABH_CHECKPOINTS=${CMAKE_BINARY_DIR}/checkpoints
      ${Python3_EXECUTABLE} ${ABH_ROOT}/docs/run.py ${out} "${caption}" ${arg_COMMAND}
    DEPENDS ${arg_DEPENDS}
    COMMENT "${caption}"
    ${how} VERBATIM)
  set(outputs ${outputs} ${out}/stdout.txt PARENT_SCOPE)
endfunction()

# abh_book_chapter(FOLDER PROGRAM RUNS "name: options"... [MEASURES name...] [RECORDED name...] [AFTER NN]): the runs of one
# chapter. MEASURES names the runs that measure times, RECORDED those for the record only. AFTER names a chapter whose runs
# must come first.
function(abh_book_chapter folder program)
  cmake_parse_arguments(arg "" "AFTER" "RUNS;MEASURES;RECORDED" ${ARGN})
  string(SUBSTRING ${folder} 0 2 number)
  get_property(runs_before GLOBAL PROPERTY abh_runs_${arg_AFTER})
  get_property(measured_before GLOBAL PROPERTY abh_measured_${arg_AFTER})
  set(runs)
  set(measured)
  set(recorded)
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
    set(alone)
    if(name IN_LIST arg_MEASURES)
      list(APPEND before ${measured_before})
      set(alone ALONE)
    endif()
    abh_book_run(${folder} ${name} "${caption}" ${alone}
      COMMAND $<TARGET_FILE:${program}> ${options} DEPENDS ${program} ${before})
    if(name IN_LIST arg_MEASURES)
      list(APPEND measured ${outputs})
    elseif(name IN_LIST arg_RECORDED)
      list(APPEND recorded ${outputs})
    else()
      list(APPEND runs ${outputs})
    endif()
  endforeach()
  foreach(name IN LISTS arg_MEASURES arg_RECORDED)
    if(NOT name IN_LIST names)
      message(FATAL_ERROR "${folder}: MEASURES or RECORDED names ${name}, which is not one of its runs: ${names}")
    endif()
  endforeach()
  set_property(GLOBAL PROPERTY abh_runs_${number} ${runs})
  set_property(GLOBAL PROPERTY abh_measured_${number} ${measured})

  add_dependencies(book_programs ${program})
  add_custom_target(book_runs_${number} DEPENDS ${runs})
  add_dependencies(book_quiet book_runs_${number})
  add_custom_target(book_measures_${number} DEPENDS ${measured})
  add_dependencies(book_measures_${number} book_quiet)
  add_dependencies(book_runs book_measures_${number})
  add_custom_target(book_recorded_${number} DEPENDS ${recorded})
  add_dependencies(book_recorded book_recorded_${number})
endfunction()

# The pages, and the proof, which is run for the record only: it compiles everything in double precision, and ./book test
# makes the same comparisons.
function(abh_book_pages)
  set(outputs)
  file(GLOB fixtures CONFIGURE_DEPENDS ${ABH_ROOT}/tests/golden/*.safetensors)
  abh_book_run(proof double "./book proof"
    COMMAND $<TARGET_FILE:proof_double> DEPENDS proof_double ${fixtures})
  abh_book_run(proof single "./book proof --single"
    COMMAND $<TARGET_FILE:proof> DEPENDS proof ${fixtures})
  add_custom_target(book_recorded_proof DEPENDS ${outputs})
  add_dependencies(book_recorded book_recorded_proof)
  add_dependencies(book_quiet book_programs)
  add_dependencies(book_runs book_quiet)

  add_custom_target(book
    COMMAND ${Python3_EXECUTABLE} ${ABH_ROOT}/docs/build.py --root ${ABH_ROOT} --build ${CMAKE_BINARY_DIR} --compare
    COMMENT "Rendering the pages from the runs"
    USES_TERMINAL VERBATIM)
  add_dependencies(book book_runs)
endfunction()
