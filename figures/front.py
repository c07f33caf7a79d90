"""Figures of the front matter."""

from __future__ import annotations

import architecture
from style import Data, Figure, figure


@figure("architecture", width=7.4, height=3.0, narrow=(3.7, 5.6))
def whole(data: Data, fig: Figure) -> None:
    architecture.draw(fig)
