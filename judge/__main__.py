"""python3 -m judge VERB ...: the verbs of ./book that deal with exercises."""

import sys

from . import check, gate, grade, handout, mine

VERBS = {
    "check": check.main,
    "gate": gate.main,
    "grade": grade.main,
    "handout": handout.main,
    "hunt": check.main_hunt,
    "mine": mine.main,
    "prepare": grade.main_prepare,
    "progress": check.main_progress,
}


def main(arguments: list[str]) -> int:
    """Runs the verb that comes first. Exit code 2 means that there is no such verb."""
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb not in VERBS:
        print(f"book: there is no verb {verb!r}; the verbs are {', '.join(VERBS)}", file=sys.stderr)
        return 2
    return VERBS[verb](rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
