"""What is made again after a change of a small project, and what is left alone."""

import json
import os
import shutil

from project import CHAPTER, WORKBENCH, Case


class Incremental(Case):
    def test_pages_follow_sources_results_and_figures_and_others_are_left_alone(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        page, workbench = ((project.html / name).with_suffix(".html") for name in (CHAPTER, WORKBENCH))
        source, other = (project.html / f"source/lib/tensor.{end}.html" for end in ("cpp", "hpp"))
        lists = project.html / "lists.html"
        before = {path: path.stat().st_mtime_ns for path in (workbench, source, other)}

        project.edit("chapters/04_small_attention/attention.cu", "__expf(x[i])", "__expf(x[i] - m)")
        project.edit(CHAPTER, "04.1 The gradient of a row", "04.1 A new name")
        results = project.root / "recorded/04_small_attention/main/results.json"
        entries = json.loads(results.read_text(encoding="utf-8"))
        entries["score_std"]["value"] = 7.5
        results.write_text(json.dumps(entries), encoding="utf-8")
        figure = project.build / "figures/04_small_attention/weights.light.svg"
        figure.write_text(figure.read_text(encoding="utf-8") + "<!-- new -->\n", encoding="utf-8")
        project.add_narrow_figure()
        self.assert_succeeds(project.render())
        text = page.read_text(encoding="utf-8")
        self.assertIn(">7.500</span>", text)
        self.assertIn("weights.narrow.light.svg", text)
        self.assertIn("A new name", lists.read_text(encoding="utf-8"))
        self.assert_succeeds(project.tangle("--sources", project.root))
        shown = project.html / "_figures/04_small_attention/weights.light.svg"
        self.assertIn("<!-- new -->", shown.read_text(encoding="utf-8"))
        after = {path: path.stat().st_mtime_ns for path in before}
        self.assertEqual(after, before, "a page that shows none of this was written again")

        # A line more in a source moves the parts below it; nothing else has changed.
        project.edit("lib/tensor.cpp", "// [shape text]\n", "// [shape text]\n// One line more.\n")
        self.assert_succeeds(project.render())
        self.assert_succeeds(project.tangle("--sources", project.root))
        self.assertEqual(other.stat().st_mtime_ns, before[other], "the page of a source that has not changed was written again")

        # A chapter that is gone leaves no page behind, and its sources are asked for no more.
        project.edit(WORKBENCH, "On to [chapter four](../04_small_attention/index.md).", "The end.")
        shutil.rmtree(project.root / "chapters/04_small_attention")
        self.assert_succeeds(project.render())
        self.assertFalse(page.exists())
        self.assertEqual(lists.read_text(encoding="utf-8").count("<p>None.</p>"), 6)

    def test_a_page_that_was_read_and_not_written_stops_the_build_and_the_next_one_mends_it(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        name = CHAPTER.removesuffix(".md")
        tree = (project.build / "doctrees" / f"{name}.doctree").stat().st_mtime_ns
        os.utime(project.html / f"{name}.html", ns=(tree - 1, tree - 1))
        project.edit(WORKBENCH, "On to", "Now to")
        self.assert_refused(project.render(), f"pages read but not written: 1, such as {name}", "anew")
        self.assert_succeeds(project.render())
