"""Figures are drawn from what a program wrote, light and dark, wide and narrow."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from project import ROOT, Case, run


class Figures(Case):
    SOURCE = """
from style import Data, Figure, figure, heat, muted

@figure("weights", width=4, height=3, narrow=(3.0, 5.0))
def weights(data: Data, fig: Figure) -> None:
    words = data.value("words").split()
    heat(fig.subplots(), data.array("weights"), rows=words, columns=words, numbers="{:.1f}", bar="w")
"""

    def draw(self, folder: Path, source: str) -> subprocess.CompletedProcess[str]:
        import numpy

        folder.mkdir(exist_ok=True)
        (folder / "04_small_attention.py").write_text(source, encoding="utf-8")
        results = folder / "results" / "04_small_attention" / "main"
        results.mkdir(parents=True, exist_ok=True)
        numpy.save(results / "weights.npy", numpy.eye(3, dtype="f4"))
        words = {"words": {"value": "我 有 P"}}
        (results / "results.json").write_text(json.dumps(words), encoding="utf-8")
        return run(
            ROOT / "figures/draw.py", "04_small_attention", "--figures", folder, "--results", folder / "results",
            "--out", folder / "out",
        )

    def test_two_looks_in_two_shapes_the_same_bytes_each_time_and_no_missing_glyph(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            pictures = {}
            for _ in range(2):
                before = pictures
                done = self.draw(folder, self.SOURCE)
                self.assert_succeeds(done)
                self.assertNotIn("missing from font", done.stderr)
                pictures = {p.name: p.read_text() for p in (folder / "out/04_small_attention").glob("*.svg")}
                shutil.rmtree(folder / "out")
            self.assertEqual(pictures, before)
            self.assertEqual(sorted(pictures), [f"weights.{n}{look}.svg" for n in ("", "narrow.") for look in ("dark", "light")])
            self.assertNotEqual(pictures["weights.dark.svg"], pictures["weights.light.svg"])
            self.assertNotIn("<text", pictures["weights.dark.svg"])
            self.assertIn('width="216pt"', pictures["weights.narrow.dark.svg"])

    def test_missing_array_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            done = self.draw(Path(name), self.SOURCE.replace('array("weights")', 'array("wieghts")'))
            self.assert_refused(done, "figure weights", "wieghts.npy", "arrays of this run: weights")
