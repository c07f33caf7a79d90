"""Data that pages leave in Sphinx's environment: dropped when a page is read again, and merged from parallel readers."""

from typing import Generic, TypeVar

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

T = TypeVar("T")


class ByPage(Generic[T]):
    """`exercises = ByPage[list[int]]("exercises")`; then `exercises(env)` is a dictionary, by page."""

    def __init__(self, name: str) -> None:
        self._name = f"abh_{name}"

    def __call__(self, env: BuildEnvironment) -> dict[str, T]:
        if not hasattr(env, self._name):
            setattr(env, self._name, {})
        return getattr(env, self._name)

    def connect(self, app: Sphinx) -> None:
        app.connect("env-purge-doc", self._purge)
        app.connect("env-merge-info", self._merge)

    def _purge(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        self(env).pop(docname, None)

    def _merge(self, app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment) -> None:
        self(env).update({page: self(other)[page] for page in docnames if page in self(other)})
