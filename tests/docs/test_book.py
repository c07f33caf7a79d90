"""What the book's pipeline renders, on a small project.

    build/venv/bin/python -m unittest discover tests/docs
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from project import CHAPTER, OFFLINE, WORKBENCH, Case, Project, run

from abh_book import weave
from abh_book.search import Search


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
        self.assertRegex(self.page, r'title="[^"]*words[^"]*"><ruby class="zh">我.*朋 友.*friend.*P.*pad.*</ruby></span>')

    def test_chinese_words_have_their_glosses_and_a_character_without_one_is_refused(self) -> None:
        word = '<ruby class="zh">%s<rp> (</rp><rt>%s</rt><rp>)</rp></ruby>'
        self.assertIn(f"{word % ('我', 'I')} {word % ('有', 'have')} {word % ('朋 友', 'friend')}", self.page)
        project = self.project()
        project.edit(WORKBENCH, "# The workbench", "# The workbench\n\n{zh}`我 龘`")
        self.assert_refused(project.render(), "no gloss for 龘")

    def test_values_of_a_kept_measurement_name_its_file(self) -> None:
        title = "From bench/results/2026-01-02_long.json: "
        self.assertIn(f'<span class="value" title="{title}test/greedy">40.05</span>', self.page)
        self.assertIn(f'<span class="value" title="{title}date">2026-01-02</span>', self.page)
        self.assertIn(f'<span class="value" title="{title}steps/second/ms">9.5</span>', self.page)
        self.assertIn(f'run reached <span class="value" title="{title}test/greedy">40.0</span>', self.page)
        self.assertNotIn("The longest run", self.page)

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

    def test_all_cards_stand_on_one_page_and_lead_to_their_chapters(self) -> None:
        lists = (self.good.html / "lists.html").read_text(encoding="utf-8")
        card, chapter = lists[lists.index('<div class="box card') :], CHAPTER.removesuffix(".md") + ".html"
        self.assertRegex(card, rf'<span class="box-kind"><a [^>]*href="{chapter}">Small attention</a></span>')
        for place in ("#equation-weights", "#equation-04-card", "#small-attention"):
            self.assertIn(f'href="{chapter}{place}"', card)
        self.assertIn('id="equation-04-card"', self.page)
        self.assertNotIn("equation-04-card", re.sub('href="[^"]*"', "", lists))
        self.assertNotIn('class="eqno"', lists)
        self.assertIn("The numbers on this page", lists)

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

    def test_a_header_is_folded_and_one_that_the_page_is_about_is_not(self) -> None:
        title = "Declaration in attention.hpp: weights"
        self.assertIn(f"<details><summary>{title}</summary>", self.page)
        other = (self.good.html / WORKBENCH).with_suffix(".html").read_text(encoding="utf-8")
        self.assertEqual(re.findall("<summary>(.*?)</summary>", other), ["Declaration in tensor.hpp: tensor"])

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
        flaws = (
            ("a1.html", '<img src="https://example.org/a.png">', "a1.html loads https://example.org/a.png"),
            ("a2.html", '<script src="//example.org/a.js"></script>', "a2.html loads //example.org/a.js"),
            ("a3.html", '<link rel="stylesheet" href="http://example.org/a.css">', "a3.html loads http"),
            ("a4.html", '<a href="nowhere.html#x">x</a>', "links to nowhere.html#x, which does not exist"),
            ("a5.html", '<a href="index.html#nowhere">x</a>', "links to index.html#nowhere, an anchor"),
            ("a6.html", '<a href="#%E5%A5%BD">x</a><p id="坏">', "links to #%E5%A5%BD, an anchor"),
            ("a.css", "@font-face { src: url('https://example.org/a.woff2') }", "a.css loads https"),
            ("a.js", "fetch('https://example.org/')", "a.js loads from another host, by fetch"),
        )
        for name, flaw, _ in flaws:
            (self.good.html / name).write_text(flaw, encoding="utf-8")
        done = run(OFFLINE, self.good.html)
        for name, _, words in flaws:
            self.assert_refused(done, words)
            (self.good.html / name).unlink()
