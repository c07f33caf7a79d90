"""python3 -m judge VERB ...: the verbs of ./book that are about exercises."""

import sys

from . import check, gate, grade, handout, mine

VERBS = {
    "check": check.main,
    "gate": gate.main,
    "grade": grade.main,
    "handout": handout.main,
    "mine": mine.main,
    "progress": check.main_progress,
}

if __name__ == "__main__":
    sys.exit(VERBS[sys.argv[1]](sys.argv[2:]))
