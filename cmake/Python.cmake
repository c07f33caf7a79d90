# The Python tools of the book, in a virtual environment of their own. ABH_PYTHON runs them; whatever
# uses it must depend on ABH_PYTHON_STAMP.
include_guard(GLOBAL)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set(ABH_PYTHON ${ABH_ROOT}/build/venv/bin/python)
set(ABH_PYTHON_STAMP ${ABH_ROOT}/build/venv/installed)
add_custom_command(OUTPUT ${ABH_PYTHON_STAMP}
  COMMAND ${Python3_EXECUTABLE} ${ABH_ROOT}/docs/tools.py
  DEPENDS ${ABH_ROOT}/docs/requirements.txt ${ABH_ROOT}/docs/tools.py
  COMMENT "Installing the Python tools"
  USES_TERMINAL VERBATIM)
add_custom_target(abh_python DEPENDS ${ABH_PYTHON_STAMP})
