# The Python tools of the book, in a virtual environment of their own: ABH_PYTHON runs them, and what
# uses it depends on ABH_PYTHON_STAMP.
include_guard(GLOBAL)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set(venv ${ABH_ROOT}/build/venv)
set(ABH_PYTHON ${venv}/bin/python)
set(ABH_PYTHON_STAMP ${venv}/installed)
add_custom_command(OUTPUT ${ABH_PYTHON_STAMP}
  COMMAND ${Python3_EXECUTABLE} -m venv ${venv}
  COMMAND ${ABH_PYTHON} -m pip install --quiet --disable-pip-version-check
    --requirement ${ABH_ROOT}/docs/requirements.txt
  COMMAND ${CMAKE_COMMAND} -E touch ${ABH_PYTHON_STAMP}
  DEPENDS ${ABH_ROOT}/docs/requirements.txt
  COMMENT "Installing the Python tools into ${venv}"
  USES_TERMINAL VERBATIM)
add_custom_target(abh_python DEPENDS ${ABH_PYTHON_STAMP})
