"""The book's pipeline on a small project: what it renders, and what it refuses.

    build/venv/bin/python -m unittest discover tests/docs
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
FIXTURE = HERE / "fixture"
BUILD = REPOSITORY / "docs" / "build.py"
TANGLE = REPOSITORY / "docs" / "tangle.py"
OFFLINE = REPOSITORY / "docs" / "offline.py"
DRAW = REPOSITORY / "figures" / "draw.py"
CHAPTER = "chapters/04_small_attention/index.md"
WORKBENCH = "chapters/00_workbench/index.md"

sys.path.insert(0, str(REPOSITORY / "docs" / "extensions"))

from abh_book import weave
from abh_book.search import Search


def run(*command: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MPLCONFIGDIR": tempfile.gettempdir(), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True, text=True, encoding="utf-8", check=False, env=environment,
    )


class Project:
    """A copy of the fixture, free to be spoilt."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.build = folder / "build"
        shutil.copytree(FIXTURE, self.root)
        self.build.mkdir()
        shutil.move(self.root / "figures", self.build / "figures")

    @property
    def html(self) -> Path:
        return self.build / "html"

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def add_narrow_figure(self) -> None:
        """A second shape of the figure, for phones."""
        figures = self.build / "figures/04_small_attention"
        for look in ("light", "dark"):
            shutil.copy(figures / f"weights.{look}.svg", figures / f"weights.narrow.{look}.svg")

    def render(self) -> subprocess.CompletedProcess[str]:
        return run(BUILD, "--root", self.root, "--build", self.build, "--jobs", 1)

    def tangle(self, *options: object) -> subprocess.CompletedProcess[str]:
        return run(TANGLE, self.html, *options)


class Case(unittest.TestCase):
    def project(self) -> Project:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Project(Path(folder.name).resolve())

    def assert_succeeds(self, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_refused(self, done: subprocess.CompletedProcess[str], *words: str) -> None:
        """It failed, and one line of what it said holds all the words."""
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 1, said)
        found = any(all(word in line for word in words) for line in said.splitlines())
        self.assertTrue(found, f"no line with {words} in:\n{said}")


class Rendered(Case):
    """One good build, looked at from many sides."""

    folder: tempfile.TemporaryDirectory[str]
    good: Project
    said: subprocess.CompletedProcess[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.good = Project(Path(cls.folder.name).resolve())
        cls.said = cls.good.render()
        cls.page = ""
        if cls.said.returncode == 0:
            cls.page = (cls.good.html / CHAPTER).with_suffix(".html").read_text(encoding="utf-8")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def setUp(self) -> None:
        self.assert_succeeds(self.said)

    def test_last_line_is_the_path_of_the_index(self) -> None:
        last = self.said.stdout.splitlines()[-1]
        self.assertEqual(last, str(self.good.html / "index.html"))
        self.assertTrue(Path(last).is_file())

    def test_a_second_call_does_nothing(self) -> None:
        before = (self.good.html / "index.html").stat().st_mtime_ns
        done = self.good.render()
        self.assert_succeeds(done)
        self.assertIn("no page has changed", done.stdout)
        self.assertEqual((self.good.html / "index.html").stat().st_mtime_ns, before)

    def test_pages_alone_give_the_sources_back(self) -> None:
        self.assert_succeeds(self.good.tangle("--sources", self.good.root))
        with tempfile.TemporaryDirectory() as folder:
            self.assert_succeeds(self.good.tangle("--out", folder))
            names = weave.source_names(self.good.root)
            self.assertEqual(len(names), 5)
            for name in names:
                self.assertEqual((Path(folder) / name).read_bytes(), (self.good.root / name).read_bytes(), name)

    def test_listing_names_file_and_lines_and_links_to_the_source(self) -> None:
        self.assertIn('data-file="chapters/04_small_attention/attention.cu" data-lines="2-5"', self.page)
        link = "../../source/chapters/04_small_attention/attention.cu.html#L2"
        self.assertIn(f'href="{link}"', self.page)
        target = (self.good.html / "chapters/04_small_attention" / link.split("#")[0]).resolve()
        self.assertIn('id="L2"', target.read_text(encoding="utf-8"))

    def test_what_a_page_leaves_to_the_source_is_one_line_of_links(self) -> None:
        page = (self.good.html / WORKBENCH).with_suffix(".html").read_text(encoding="utf-8")
        found = re.search(r'<p class="left-out">(.*?)</p>', page)
        assert found is not None
        self.assertEqual(re.sub(r"<[^>]+>", "", found.group(1)), "In the source: tensor.hpp; shape text in tensor.cpp")
        self.assertIn('href="../../source/lib/tensor.cpp.html#L3"', found.group(1))

    def test_a_question_opens_without_a_script(self) -> None:
        found = re.search(r'<div class="box question[^>]*>.*?</div>\s*</div>', self.page, re.DOTALL)
        assert found is not None
        answers = re.findall(r'<details class="answer (\w+)"><summary>(.*?)</summary>', found.group())
        self.assertEqual([(kind, re.sub(r"<[^>]+>", "", said)) for kind, said in answers],
                         [("wrong", "They grow as well."), ("right", "Nothing.")])
        self.assertIn("They still sum to 1.", found.group())

    def test_values_are_formatted_and_measured_ones_are_marked(self) -> None:
        self.assertRegex(self.page, r'<span class="value" title="[^"]*score_std[^"]*">1\.003</span>')
        self.assertRegex(self.page, r'<span class="value varies" title="[^"]*">0\.12</span>')
        self.assertRegex(self.page, r">−8\.0271</span>")
        self.assertRegex(self.page, r">3\.2\s×\s10<sup>−9</sup></span>")
        self.assertIn(">我 有 一 个 好 朋 友 P</span>", self.page)

    def test_values_of_a_kept_measurement_name_its_file(self) -> None:
        title = "From bench/results/2026-01-02_long.json: "
        self.assertIn(f'<span class="value" title="{title}test/greedy">40.05</span>', self.page)
        self.assertIn(f'<span class="value" title="{title}date">2026-01-02</span>', self.page)
        self.assertIn(f'<span class="value" title="{title}steps/second/ms">9.5</span>', self.page)

    def test_lists_hold_all_of_a_kind_with_links(self) -> None:
        lists = (self.good.html / "lists.html").read_text(encoding="utf-8")
        lists = lists[lists.index("<article") : lists.index("</article")]
        links = re.findall(rf'href="{CHAPTER.removesuffix(".md")}\.html#([^"]+)"><span>(.*?)</span></a>', lists)
        titles = {anchor: re.sub("<.*", "", title).strip() for anchor, title in links}
        self.assertEqual(titles, {
            "figure-weights": "Weights",
            "derivation-a-row-s-gradient": "A row’s gradient",
            "mistake-hiding-keys-after-the-softmax": "Hiding keys after the softmax",
            "exercise-04-1": "The gradient of a row",
            "exercise-04-2": "Without a normalizer",
        })
        for anchor in titles:
            self.assertIn(f'id="{anchor}"', self.page)
        bare = re.sub(r"<[^>]+>", "", lists)
        self.assertIn("Hiding keys after the softmax · a hidden key gets weight zero, whatever its score", bare)
        self.assertRegex(bare, r"04\.1 The gradient of a row\s+2\s+10\s+derive a backward")

    def test_a_table_says_what_an_exercise_trains_and_needs(self) -> None:
        lists = (self.good.html / "lists.html").read_text(encoding="utf-8")
        skills = lists[lists.index('<table class="skills') :]
        skills = skills[: skills.index("</table>")]
        place = CHAPTER.removesuffix(".md") + ".html"
        self.assertRegex(skills, rf'<td class="group" colspan="5"><p><a [^>]*href="{place}"><span>Small attention<')
        self.assertRegex(skills, rf'"{place}#exercise-04-1" title="The gradient of a row">04\.1</a>')
        self.assertEqual(skills.count("<td><p></p></td>"), 1, "04.1 needs nothing")
        bare = re.sub(r"<[^>]+>", "", skills)
        self.assertRegex(bare, r"04\.1 The gradient of a row\s+derive a backward\s+2\s+a row’s normalizer, differentiated")
        self.assertRegex(bare, r"04\.2 Without a normalizer\s+derive a backward\s+1\s+what remains without it\s+04\.1")
        for wrapped in re.findall(r"<div[^>]*>\s*<table", lists):
            self.assertIn("table-wrapper", wrapped)
        self.assertEqual(lists.count("<table"), lists.count("table-wrapper"))

    def test_the_search_knows_an_exercise_by_its_number(self) -> None:
        index = (self.good.html / "searchindex.js").read_text(encoding="utf-8")
        index = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
        found = [(index["filenames"][page], f"{chapter}.{name}", anchor)
                 for chapter, objects in index["objects"].items() for page, _, _, anchor, name in objects
                 if anchor.startswith("exercise")]
        self.assertEqual(found, [(CHAPTER, f"04.{n}", f"exercise-04-{n}") for n in (1, 2)])
        self.assertEqual(Search.split(Search, "See 04.2, 3×0.5: 朋友"), ["See", "04.2", "3", "0.5", "朋", "友"])

    def test_citations_and_links_by_key_lead_to_the_entry(self) -> None:
        lists = (self.good.html / "lists.html").read_text(encoding="utf-8")
        bare = re.sub(r"<[^>]+>", "", lists)
        self.assertIn("By Vaswani et al. (2017); others agree (Vaswani et al. 2017), as equation 1 says.", bare)
        links = re.findall(r'<a class="reference internal" href="#vaswani2017" title="([^"]*)"', lists)
        self.assertEqual(len(links), 3)
        self.assertTrue(all("Attention" in title for title in links), links)
        self.assertEqual(lists.count('id="vaswani2017"'), 1)

    def test_a_disturbed_value_is_marked_and_its_bound_is_not_concluded(self) -> None:
        found = re.search(r'<span class="value varies disturbed" title="([^"]*)">1\.4(.*?)</span></span>', self.page)
        assert found is not None
        self.assertIn("nothing can be concluded", found.group(1))
        self.assertIn("(disturbed)", found.group(2))
        self.assertEqual(self.page.count("(disturbed)"), 1)
        line = "Not concluded, because measurements were disturbed: 1 "
        line += "(chapters/04_small_attention/index: 04/main/gain >= 2)"
        self.assertIn(line, self.said.stdout)

    def test_a_bound_that_usually_holds_and_does_not_here_is_marked(self) -> None:
        found = re.search(r'<span class="value varies unusual" title="([^"]*)">0\.94(.*?)</span></span>', self.page)
        assert found is not None
        self.assertTrue(found.group(1).endswith("On the machines that the text describes it is &gt;= 1.2"), found.group(1))
        self.assertTrue(found.group(2).endswith(" (elsewhere &gt;= 1.2)"), found.group(2))
        line = "Not so on this machine, and marked on the pages: 1 "
        line += "(chapters/04_small_attention/index: 04/main/slow_gain >= 1.2)"
        self.assertIn(line, self.said.stdout)

    def test_console_shows_one_section_and_the_ends_of_another(self) -> None:
        blocks = re.findall(r'<figure class="console">.*?</figure>', self.page, re.DOTALL)
        self.assertEqual(len(blocks), 3)
        self.assertIn("0.55", blocks[0])
        self.assertNotIn("sums to 1", blocks[0])
        self.assertIn("Chapter 4: small attention", blocks[1])
        self.assertIn("every row sums to 1", blocks[1])
        self.assertIn("⋮ 6 lines", blocks[1])
        self.assertNotIn("0.55", blocks[1])

    def test_a_quotation_is_marked_and_is_no_second_showing(self) -> None:
        quotation = re.search(r'<figure class="listing quotation".*?</figure>', self.page, re.DOTALL)
        assert quotation is not None
        self.assertIn("quoted from", quotation.group())
        self.assertNotIn("data-file", quotation.group())
        folded = re.search(r'<details class="fold"><summary>([^<]*)</summary>', self.page)
        assert folded is not None
        self.assertEqual(folded.group(1), "The kernel once more")

    def test_a_derivation_numbers_its_equalities(self) -> None:
        found = re.search(r'<div class="box derivation.*?class="eqno">\((\d+)\)', self.page, re.DOTALL)
        self.assertIsNotNone(found)
        self.assertIn("All gradients", self.page)

    def test_figure_has_both_looks_and_says_what_to_see(self) -> None:
        for look in ("light", "dark"):
            image = re.search(rf'<img class="only-{look}" src="([^"]+)" alt="([^"]+)"', self.page)
            assert image is not None
            self.assertTrue(image.group(2).startswith("Heat map of 8 x 8 weights"))
            path = self.good.html / "chapters/04_small_attention" / image.group(1)
            self.assertTrue(path.resolve().is_file())

    def test_mathematics_needs_no_script(self) -> None:
        self.assertGreaterEqual(self.page.count('class="katex"'), 4)
        self.assertIn("<math", self.page)
        self.assertNotIn("mathjax", self.page.lower())
        css = (self.good.html / "_static/katex/katex.css").read_text(encoding="utf-8")
        for font in re.findall(r"url\(([^)]+)\)", css):
            self.assertTrue((self.good.html / "_static/katex" / font).is_file(), font)

    def test_no_id_of_a_chapter_occurs_twice(self) -> None:
        ids = re.findall(r'<[^<>]*\sid="([^"]+)"', self.page)
        self.assertIn("equation-weights", ids)
        self.assertEqual([one for one in ids if ids.count(one) > 1], [])
        self.assertIn('href="#equation-weights"', self.page)

    def test_api_reference_has_every_header(self) -> None:
        api = (self.good.html / "api/lib/tensor.hpp.html").read_text(encoding="utf-8")
        self.assertIn('id="_CPPv4N3abh10shape_textERK6Tensor"', api)
        self.assertIn('id="_CPPv4N3abh6TensorE"', api)
        api = self.good.html / "api/chapters/04_small_attention/attention.hpp.html"
        self.assertIn("katex", api.read_text(encoding="utf-8"))

    def test_no_page_asks_another_host(self) -> None:
        self.assert_succeeds(run(OFFLINE, self.good.html))
        for name, flaw, words in (
            ("a.html", '<img src="https://example.org/a.png">', "loads https://example.org/a.png"),
            ("a.html", '<script src="//example.org/a.js"></script>', "loads //example.org/a.js"),
            ("a.html", '<link rel="stylesheet" href="http://example.org/a.css">', "a.html loads http"),
            ("a.html", '<a href="nowhere.html#x">x</a>', "links to nowhere.html#x, which does not exist"),
            ("a.html", '<a href="index.html#nowhere">x</a>', "links to index.html#nowhere, an anchor"),
            ("a.html", '<a href="#%E5%A5%BD">x</a><p id="坏">', "links to #%E5%A5%BD, an anchor"),
            ("a.css", "@font-face { src: url('https://example.org/a.woff2') }", "a.css loads https"),
            ("a.js", "fetch('https://example.org/')", "a.js loads from another host, by fetch"),
        ):
            with self.subTest(flaw=flaw):
                path = self.good.html / name
                path.write_text(flaw, encoding="utf-8")
                self.assert_refused(run(OFFLINE, self.good.html), words)
                path.unlink()


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
            ("no test of tests/*.cpp is named 'no hidden key gets weight zero, whatever its score'",),
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
        self.refuse(CHAPTER, ":alt: Heat map", ":name: heat-map", "plot weights", ":alt:")


class Incremental(Case):
    def test_a_page_that_was_read_and_not_written_stops_the_build_and_the_next_one_mends_it(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        name = CHAPTER.removesuffix(".md")
        tree = (project.build / "doctrees" / f"{name}.doctree").stat().st_mtime_ns
        os.utime(project.html / f"{name}.html", ns=(tree - 1, tree - 1))
        project.edit(WORKBENCH, "On to", "Now to")
        self.assert_refused(project.render(), f"pages read but not written: 1, such as {name}", "anew")
        self.assert_succeeds(project.render())

    def test_pages_follow_sources_results_and_figures(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        page = (project.html / CHAPTER).with_suffix(".html")
        untouched = (project.html / WORKBENCH).with_suffix(".html").stat().st_mtime_ns

        project.edit("chapters/04_small_attention/attention.cu", "__expf(x[i])", "__expf(x[i] - m)")
        results = project.root / "recorded/04_small_attention/main/results.json"
        entries = json.loads(results.read_text(encoding="utf-8"))
        entries["score_std"]["value"] = 7.5
        results.write_text(json.dumps(entries), encoding="utf-8")
        figure = project.build / "figures/04_small_attention/weights.light.svg"
        figure.write_text(figure.read_text(encoding="utf-8") + "<!-- new -->\n", encoding="utf-8")
        self.assert_succeeds(project.render())
        text = page.read_text(encoding="utf-8")
        self.assertIn(">7.500</span>", text)
        self.assert_succeeds(project.tangle("--sources", project.root))
        shown = project.html / "_figures/04_small_attention/weights.light.svg"
        self.assertIn("<!-- new -->", shown.read_text(encoding="utf-8"))
        later = (project.html / WORKBENCH).with_suffix(".html").stat().st_mtime_ns
        self.assertEqual(later, untouched, "a page that shows none of this was written again")

        # A line more in a source moves the parts below it; nothing else has changed.
        project.edit("lib/tensor.cpp", "// [shape text]\n", "// [shape text]\n// One line more.\n")
        self.assert_succeeds(project.render())
        self.assert_succeeds(project.tangle("--sources", project.root))

        # What is new on one page is listed on another.
        lists = project.html / "lists.html"
        project.edit(CHAPTER, "04.1 The gradient of a row", "04.1 A new name")
        self.assert_succeeds(project.render())
        self.assertIn("A new name", lists.read_text(encoding="utf-8"))

        # A chapter that is gone leaves no page behind, and its sources are asked for no more.
        project.edit(WORKBENCH, "On to [chapter four](../04_small_attention/index.md).", "The end.")
        shutil.rmtree(project.root / "chapters/04_small_attention")
        self.assert_succeeds(project.render())
        self.assertFalse(page.exists())
        self.assertEqual(lists.read_text(encoding="utf-8").count("<p>None.</p>"), 5)


    def test_what_a_change_does_not_touch_is_left_alone(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        page = (project.html / CHAPTER).with_suffix(".html")
        source, other = (project.html / f"source/lib/tensor.{end}.html" for end in ("cpp", "hpp"))

        def times() -> list[int]:
            return [path.stat().st_mtime_ns for path in (page, source, other)]

        before = times()
        project.edit(WORKBENCH, "On to [chapter four]", "Now on to [chapter four]")
        self.assert_succeeds(project.render())
        self.assertEqual(times(), before, "the change of a sentence wrote other pages again")

        project.edit("lib/tensor.cpp", "// [shape text]\n", "// [shape text]\n// One line more.\n")
        self.assert_succeeds(project.render())
        after = times()
        self.assertIn("One line more.", source.read_text(encoding="utf-8"))
        self.assertEqual(after[2], before[2], "the page of a source that has not changed was written again")

        # A shape for phones was not there when the page was read.
        project.add_narrow_figure()
        self.assert_succeeds(project.render())
        self.assertIn("weights.narrow.light.svg", page.read_text(encoding="utf-8"))


class Offline(Case):
    def test_a_page_is_read_again_where_it_has_changed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            html, known = Path(folder) / "html", Path(folder) / "known.json"
            html.mkdir()
            page = html / "index.html"

            def look() -> subprocess.CompletedProcess[str]:
                return run(OFFLINE, html, "--known", known)

            page.write_text('<p id="a"><a href="#a">a</a></p>', encoding="utf-8")
            for _ in range(2):
                self.assert_succeeds(look())
            page.write_text('<p id="b"><a href="#a">a</a></p>', encoding="utf-8")
            for _ in range(2):
                self.assert_refused(look(), "links to #a, an anchor that does not exist")
            known.write_text("{", encoding="utf-8")
            self.assert_refused(look(), "links to #a")


class Tangle(Case):
    def test_notices_one_changed_byte(self) -> None:
        project = self.project()
        self.assert_succeeds(project.render())
        page = (project.html / CHAPTER).with_suffix(".html")
        good = page.read_text(encoding="utf-8")
        name = "chapters/04_small_attention/attention.cu"
        listing = re.search(r'<figure class="listing" id="attention-cu-kernel">.*?</figure>', good, re.DOTALL)
        assert listing is not None
        owed = re.search(r'<figure class="listing" id="attention-hpp-weights">.*?</figure>', good, re.DOTALL)
        assert owed is not None
        for old, new, words in (
            ("blockDim", "blockdim", (f"{name}:3", "blockdim", "blockDim")),
            ('data-lines="2-5"', 'data-lines="2-4"', (f"{name}:2-4", "4 lines")),
            ('data-lines="2-5"', 'data-lines="1-4"', (f"{name}:1", "the listing has")),
            ('data-lines="2-5"', 'data-lines="2-99"', (f"{name}:2-99", "the file has")),
            (listing.group(), listing.group() * 2, (name, "shown twice")),
            (owed.group(), "", ("attention.hpp:6: no page shows part [weights] or leaves it to the source",)),
        ):
            with self.subTest(new=new[:20]):
                self.assertIn(old, good)
                page.write_text(good.replace(old, new, 1), encoding="utf-8")
                self.assert_refused(project.tangle(), *words)
        page.write_text(good, encoding="utf-8")
        self.assert_succeeds(project.tangle("--sources", project.root))
        whole = project.html / f"source/{name}.html"
        text = whole.read_text(encoding="utf-8")
        whole.unlink()
        self.assert_refused(project.tangle(), name, "the file has no page")
        whole.write_text(text, encoding="utf-8")
        path = project.root / "lib/tensor.cpp"
        path.write_bytes(path.read_bytes() + b"\n")
        self.assert_refused(project.tangle("--sources", project.root), "lib/tensor.cpp:1")


class Weave(unittest.TestCase):
    def test_markers(self) -> None:
        for line, name in (
            ("// [softmax]\n", "softmax"),
            ("    // [a part: no. 2 (of 3), x_y-z]\n", "a part: no. 2 (of 3), x_y-z"),
            ("// [B, H, L]\n", None),
            ("int x;  // [shape]\n", None),
            ("//[softmax]\n", None),
            ("// [softmax] and more\n", None),
            ("/// [softmax]\n", None),
        ):
            with self.subTest(line=line):
                self.assertEqual(weave.marker(line), name)

    def test_flaws_are_named_with_their_line(self) -> None:
        for content, words in (
            (b"a\n// [x]\nb\n// [x]\nc\n", "f.cpp:4: part [x] is already in line 2"),
            (b"a\n// [x]\n// [y]\nb\n", "f.cpp:2: part [x] is empty"),
            (b"a\n// [x]\n", "f.cpp:2: part [x] is empty"),
            (b"a\n// [head]\nb\n", "f.cpp:2: part [head] is already in line 0"),
            (b"a\r\nb\n", "f.cpp:1: control character"),
            (b"a\xff\n", "f.cpp: not UTF-8"),
        ):
            with self.subTest(content=content), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "f.cpp").write_bytes(content)
                with self.assertRaises(weave.WeaveError) as caught:
                    weave.read_source(Path(folder), "f.cpp")
                self.assertTrue(str(caught.exception).startswith(words), caught.exception)


class Figures(Case):
    SOURCE = """
from style import Data, Figure, figure, heat, muted

@figure("weights", width=4, height=3)
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
            DRAW, "04_small_attention", "--figures", folder, "--results", folder / "results",
            "--out", folder / "out",
        )

    def test_two_looks_the_same_bytes_each_time_and_no_missing_glyph(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            done = self.draw(folder, self.SOURCE)
            self.assert_succeeds(done)
            self.assertNotIn("missing from font", done.stderr)
            pictures = sorted((folder / "out/04_small_attention").glob("*.svg"))
            self.assertEqual([p.name for p in pictures], ["weights.dark.svg", "weights.light.svg"])
            before = [p.read_bytes() for p in pictures]
            self.assertNotEqual(before[0], before[1])
            self.assertNotIn(b"<text", before[0])
            for picture in pictures:
                picture.unlink()
            self.assert_succeeds(self.draw(folder, self.SOURCE))
            self.assertEqual([p.read_bytes() for p in pictures], before)

    def test_a_narrow_shape_for_phones(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = self.SOURCE.replace('@figure("weights"', '@figure("weights", narrow=(3.0, 5.0)')
            self.assertNotEqual(source, self.SOURCE)
            self.assert_succeeds(self.draw(folder, source))
            pictures = {p.name: p.read_text() for p in (folder / "out/04_small_attention").glob("*.svg")}
            self.assertEqual(len(pictures), 4)
            self.assertIn('width="216pt"', pictures["weights.narrow.dark.svg"])

    def test_missing_array_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            done = self.draw(Path(name), self.SOURCE.replace('array("weights")', 'array("wieghts")'))
            self.assert_refused(done, "figure weights", "wieghts.npy", "arrays of this run: weights")


if __name__ == "__main__":
    unittest.main()
