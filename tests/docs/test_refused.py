"""What the book's pipeline refuses, on a small project."""


from project import CHAPTER, WORKBENCH, Case

# Values of the chapter with what they claim, and what is said of them.
BOUNDS = (
    ("04/main/raw_std <= -9", "04/main/raw_std is -8.0271, but the page says <= -9"),
    ("04/main/raw_std:.1f > -8.0271", "04/main/raw_std is -8.0271, but the page says > -8.0271"),
    ("04/main/seconds > 0 < 0.1", "04/main/seconds is 0.125, but the page says < 0.1"),
    ("04/main/raw_std <= eight", "bound 'eight' is not a number"),
    ("04/main/gain:.1f >= two", "bound 'two' is not a number"),
    ("04/main/raw_std usually <= -8", "04/main/raw_std is the same on every machine", "leave out usually"),
    ("04/main/slow_gain:.1f usually", "what does 04/main/slow_gain usually do?"),
    ("04/main/slow_gain:.2f >= 1.2", "04/main/slow_gain is 0.94, but the page says >= 1.2"),
    ("04/main/words > 3", "04/main/words is the text", "which cannot be > 3"),
    ("04/main/score_sdt", "no value score_sdt"),
    ("05/main/raw_std", "no results of chapter 05"),
    ("04/main/seconds:.2x", "format '.2x' for seconds"),
    ("bench/2026-01-02_long/test/greedy:.2f > 40.1", "greedy is 40.046, but the page says > 40.1"),
    ("bench/2026-01-02_long/test/beam:.2f", "no value test/beam", "values: date, steps/first/ms, "),
    ("bench/2026-01-02_long/test/beams", "is neither a number nor a string: {'value': [1, 4]}"),
    ("bench/2026-01-03_long/test/greedy", "no bench/results/2026-01-03_long.json"),
)
UNLABELED = "`````{derivation} Another\n$$ z = 0 $$\n`````\n\n"
# A page, the text to replace, and its replacement.
FLAWS = (
    (CHAPTER, "Equation {eq}", ", ".join(f"{{value}}`{text}`" for text, *_ in BOUNDS) + "\n\nEquation {eq}"),
    (CHAPTER, ":part: kernel", ":part: kernle"),
    (CHAPTER, "{listing} main.cpp", "{listing} mian.cpp"),
    (CHAPTER, ":section: Score table", ":section: Score tabel"),
    (CHAPTER, "{console} wide", "{console} wdie"),
    (CHAPTER, "{plot} weights", "{plot} wieghts"),
    (CHAPTER, "{exercise} 04.1", "{exercise} 05.1"),
    (CHAPTER, "`a hidden key gets", "`a hidden key has"),
    (CHAPTER, r"\operatorname{softmax}", r"\nosuchcommand"),
    (CHAPTER, "{eq}`weights`", "{eq}`wieghts`"),
    (CHAPTER, "{checked}\na hidden", "{checked}\nno hidden"),
    (CHAPTER, "- [x] Nothing", "- [ ] Nothing"),
    (CHAPTER, "$$ (04-softmax-dz)\n`````\n", f"$$ (04-softmax-dy)\n`````\n\n{UNLABELED}"),
    (WORKBENCH, "On to", "```{listing} /lib/tensor.cpp\n:part: at\n```\n\n```{plot} 04/weights\n```\n\nOn to"),
    (WORKBENCH, "(../04_small_attention/index.md)", "(../05_attention/index.md)"),
    (WORKBENCH, "On to", "````{task} What?\n:show: [2]\n- [x] A\n\n  B\n\n- [ ] C\n\n  D\n````\n\nOn to"),
    ("docs/lists.md", "{list-of} mistakes", "{list-of} mistaeks"),
)
NAMED = (
    (CHAPTER, "attention.cu has no part [kernle]"),
    (CHAPTER, "no file chapters/04_small_attention/mian.cpp"),
    ("no test of tests/ is named 'no hidden key gets weight zero, whatever its score'",),
    ("question: 2 answers, 0 of them right",),
    (CHAPTER, "no section 'Score tabel'", "Score table"),
    (CHAPTER, "04_small_attention/wdie", "main, wide"),
    (CHAPTER, "plot wieghts", "figures: weights"),
    (CHAPTER, "exercise 05.1", "04_small_attention"),
    (CHAPTER, "exercise 04.2 needs 04.1, which no page has"),
    (CHAPTER, "mistake Hiding keys after the softmax", "no test"),
    (CHAPTER, "mathematics", "nosuchcommand"),
    (CHAPTER, "wieghts", "equation"),
    (CHAPTER, "no label on the equality z = 0"),
    (CHAPTER, "no twin of 04-softmax-dy; write"),
    ("lib/tensor.cpp:9-14", "[at]", "shown 2 times", WORKBENCH),
    (WORKBENCH, "plot 04/weights", ":alt:"),
    (WORKBENCH, "../05_attention/index.md"),
    (WORKBENCH, "task: the option :show: must be a JSON object"),
    (WORKBENCH, "task: it stands in no live part"),
    ("docs/lists.md:11", "list-of mistaeks: expected one of figures, derivations"),
    ("lib/extra.cpp:3: no page shows part [more] or leaves it to the source",),
    ("lib/empty.cpp:2: part [none] is empty",),
)


class Refused(Case):
    def test_every_flaw_is_named_with_its_page(self) -> None:
        project = self.project()
        for flaw in FLAWS:
            project.edit(*flaw)
        (project.root / "lib" / "extra.cpp").write_text("int extra = 0;\n// [more]\nint more = 0;\n")
        (project.root / "lib" / "empty.cpp").write_text("int a = 0;\n// [none]\n// [some]\nint b = 0;\n")
        done = project.render()
        for words in (*NAMED, *((CHAPTER, *words) for words in BOUNDS)):
            with self.subTest(words=words):
                self.assert_refused(done, *words)

    def test_a_flaw_is_not_forgotten(self) -> None:
        """A page that has been read before does not complain again by itself."""
        project = self.project()
        project.edit(CHAPTER, "04/main/raw_std", "04/main/raw_sdt")
        for _ in range(2):
            self.assert_refused(project.render(), CHAPTER, "raw_sdt")
        project.edit(CHAPTER, "04/main/raw_sdt", "04/main/raw_std")
        self.assert_succeeds(project.render())

    def test_a_page_that_is_too_long(self) -> None:
        """What is folded does not count."""
        project = self.project()
        words = "word " * 6000
        project.edit(CHAPTER, "Equation {eq}", f"````{{fold}} Many\n{words}\n````\n\nEquation {{eq}}")
        project.edit(WORKBENCH, "On to", f"{words}\n\nOn to")
        done = project.render()
        self.assert_refused(done, WORKBENCH, "at most 3500")
        self.assertNotIn(CHAPTER, done.stdout + done.stderr)
