"""What the book's pipeline refuses, on a small project."""

from __future__ import annotations

import unittest

from project import CHAPTER, WORKBENCH, Case


class Refused(Case):
    """One flaw each; the build fails and names page and thing."""

    def refuse(self, name: str, old: str, new: str, *words: str) -> None:
        project = self.project()
        project.edit(name, old, new)
        self.assert_refused(project.render(), *words)

    def test_unknown_part(self) -> None:
        self.refuse(CHAPTER, ":part: kernel", ":part: kernle", f"{CHAPTER}:27", "attention.cu", "[kernle]")

    def test_a_flaw_is_not_forgotten(self) -> None:
        """A page that has been read before does not complain again by itself."""
        project = self.project()
        self.assert_succeeds(project.render())
        project.edit(CHAPTER, "04/main/raw_std", "04/main/raw_sdt")
        for _ in range(2):
            self.assert_refused(project.render(), CHAPTER, "raw_sdt")
        project.edit(CHAPTER, "04/main/raw_sdt", "04/main/raw_std")
        self.assert_succeeds(project.render())

    def test_part_that_no_page_shows(self) -> None:
        flaw = "```{listing} attention.hpp\n:part: weights\n```\n"
        self.refuse(CHAPTER, flaw, "", "chapters/04_small_attention/attention.hpp:6-15", "[weights]")

    def test_many_flaws_are_named_at_once(self) -> None:
        """Cheaper than a build for each."""
        project = self.project()
        project.edit(CHAPTER, "{listing} main.cpp", "{listing} mian.cpp")
        project.edit(CHAPTER, "04/main/score_std", "04/main/score_sdt")
        project.edit(CHAPTER, "04/main/raw_std", "05/main/raw_std")
        project.edit(CHAPTER, "04/main/seconds:.2f", "04/main/seconds:.2x")
        project.edit(CHAPTER, ":section: Score table", ":section: Score tabel")
        project.edit(CHAPTER, "{console} wide", "{console} wdie")
        project.edit(CHAPTER, "{plot} weights", "{plot} wieghts")
        project.edit(CHAPTER, "{exercise} 04.1", "{exercise} 05.1")
        project.edit(CHAPTER, "`a hidden key gets", "`a hidden key has")
        project.edit(CHAPTER, r"\operatorname{softmax}", r"\nosuchcommand")
        project.edit(CHAPTER, "{eq}`weights`", "{eq}`wieghts`")
        project.edit(CHAPTER, "{checked}\na hidden", "{checked}\nno hidden")
        project.edit(CHAPTER, "- [x] Nothing", "- [ ] Nothing")
        project.edit(WORKBENCH, "On to", "```{listing} /lib/tensor.cpp\n:part: at\n```\n\nOn to")
        project.edit(WORKBENCH, "(../04_small_attention/index.md)", "(../05_attention/index.md)")
        (project.root / "lib" / "extra.cpp").write_text("int extra = 0;\n// [more]\nint more = 0;\n")
        (project.root / "lib" / "empty.cpp").write_text("int a = 0;\n// [none]\n// [some]\nint b = 0;\n")
        done = project.render()
        for words in (
            (CHAPTER, "no file chapters/04_small_attention/mian.cpp"),
            ("no test of tests/ is named 'no hidden key gets weight zero, whatever its score'",),
            ("question: 2 answers, 0 of them right",),
            (CHAPTER, "04/main/score_sdt", "no value score_sdt"),
            (CHAPTER, "05/main/raw_std", "no results of chapter 05"),
            (CHAPTER, "04/main/seconds:.2x"),
            (CHAPTER, "no section 'Score tabel'", "Score table"),
            (CHAPTER, "04_small_attention/wdie", "main, wide"),
            (CHAPTER, "plot wieghts", "figures: weights"),
            (CHAPTER, "exercise 05.1", "04_small_attention"),
            (CHAPTER, "exercise 04.2 needs 04.1, which no page has"),
            (CHAPTER, "mistake Hiding keys after the softmax", "no test"),
            (CHAPTER, "mathematics", "nosuchcommand"),
            (CHAPTER, "wieghts", "equation"),
            ("lib/tensor.cpp:9-14", "[at]", "shown 2 times", WORKBENCH),
            (WORKBENCH, "../05_attention/index.md"),
            ("lib/extra.cpp:3: no page shows part [more] or leaves it to the source",),
            ("lib/empty.cpp:2: part [none] is empty",),
        ):
            self.assert_refused(done, *words)

    def test_bounds_that_do_not_hold(self) -> None:
        wrong = (
            ("raw_std <= -9", "04/main/raw_std is -8.0271, but the page says <= -9"),
            ("raw_std:.1f > -8.0271", "04/main/raw_std is -8.0271, but the page says > -8.0271"),
            ("seconds > 0 < 0.1", "04/main/seconds is 0.125, but the page says < 0.1"),
            ("raw_std <= eight", "bound 'eight' is not a number"),
            ("gain:.1f >= two", "bound 'two' is not a number"),
            ("raw_std usually <= -8", "04/main/raw_std is the same on every machine", "leave out usually"),
            ("slow_gain:.1f usually", "what does 04/main/slow_gain usually do?"),
            ("slow_gain:.1f usually >= two", "bound 'two' is not a number"),
            ("slow_gain:.2f >= 1.2", "04/main/slow_gain is 0.94, but the page says >= 1.2"),
            ("words > 3", "04/main/words is the text", "which cannot be > 3"),
        )
        kept = (
            ("2026-01-02_long/test/greedy:.2f > 40.1", "greedy is 40.046, but the page says > 40.1"),
            ("2026-01-02_long/test/beam:.2f", "no value test/beam", "values: date, steps/first/ms, "),
            ("2026-01-02_long/test/beams", "is neither a number nor a string: {'value': [1, 4]}"),
            ("2026-01-03_long/test/greedy", "no bench/results/2026-01-03_long.json"),
        )
        project = self.project()
        values = ", ".join(f"{{value}}`04/main/{text}`" for text, *_ in wrong)
        values += "".join(f", {{value}}`bench/{text}`" for text, *_ in kept)
        project.edit(CHAPTER, "Equation {eq}", f"{values}\n\nEquation {{eq}}")
        done = project.render()
        for text, *words in wrong + kept:
            with self.subTest(text=text):
                self.assert_refused(done, CHAPTER, text, *words)

    def test_an_equality_without_a_twin(self) -> None:
        label = "$$ (04-softmax-dz)"
        self.refuse(CHAPTER, label, "$$", "no label on the equality dz_i =", CHAPTER)
        self.refuse(CHAPTER, label, "$$ (04-softmax-dy)", 'no twin of 04-softmax-dy; write', CHAPTER)

    def test_a_list_of_something_else(self) -> None:
        self.refuse(
            "docs/lists.md", "{list-of} mistakes", "{list-of} mistaeks",
            "docs/lists.md:11", "list-of mistaeks: expected one of figures, derivations",
        )

    def test_a_page_that_is_too_long(self) -> None:
        """What is folded does not count."""
        project = self.project()
        words = "word " * 6000
        project.edit(CHAPTER, "Equation {eq}", f"````{{fold}} Many\n{words}\n````\n\nEquation {{eq}}")
        self.assert_succeeds(project.render())
        project.edit(CHAPTER, "Equation {eq}", f"{words}\n\nEquation {{eq}}")
        self.assert_refused(project.render(), CHAPTER.replace(".md", ".html"), "at most 4000")

    def test_plot_without_alt_text(self) -> None:
        self.refuse(CHAPTER, ":alt: Heat map", "Heat map", "plot weights", ":alt:")


if __name__ == "__main__":
    unittest.main()
