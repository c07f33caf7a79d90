"""Each likely cause that the judge names, with a wrong answer that shows it; and speeds."""

import math
import unittest
import unittest.mock
from array import array
from dataclasses import replace
from functools import partial
from pathlib import Path

from judge.answer import diagnose, verdict
from judge.answer.cases import Case, Mistake
from judge.answer.limits import Limits, Outcome
from judge.answer.session import Ended, Threw
from judge.answer.setting import Failed
from judge.answer.values import Value, encode, text
from judge.answer.verdict import compare, judge_case

X = [0.3, -1.2, 2.5, 0.7, -0.4, 1.9]
Y = [1, 2, 3, 4, 5, 7]
TURNED = [X[i * 3 + j] for j in range(3) for i in range(2)]


def tensor(shape, elements):
    return Value("T", tuple(shape), array("d", elements))


class Causes(unittest.TestCase):
    def said(self, expected, got, arguments=(), names=(), constants=None, mistakes=(), tolerance=1e-9):
        case = Case("c", "f", "", tolerance, list(arguments), [expected], list(names), constants or {}, list(mistakes))
        fault = compare(case, 0, got, expected)
        self.assertIsNotNone(fault, "the judge finds nothing wrong")
        return " | ".join([fault.text, *fault.causes, fault.pattern])

    def test_elements_of_the_right_shape(self):
        """What [2, 3] elements, which should be X, say; with an argument dy and a constant."""
        dy = tensor([2, 3], Y)
        more = {"arguments": [dy, tensor([5, 2], range(10))], "names": ["dy", "x", "dx"], "constants": {"sqrt(d_k)": math.sqrt(8)}}
        for said, elements in {
            "every number is 0": [0] * 6,
            "1 of 6 numbers is NaN or infinite": [math.nan, *X[1:]],
            "off by a factor 2.828, and 2.828 = sqrt(d_k): is a division by it missing, or a": [x * math.sqrt(8) for x in X],
            "= (sqrt(d_k))^2: is a multiplication by it missing": [x / 8 for x in X],
            "size 5 of x's axis 0": [x * 5 for x in X],
            "added twice": [2 * x for x in X],
            "every number has the wrong sign": [-x for x in X],
            "are they read along another axis?": TURNED,
            "this is dy unchanged": Y,
            "dy is added, but should not be": [x + y for x, y in zip(X, Y)],
            "dy is missing from the sum": [x - y for x, y in zip(X, Y)],
            "axis 1 runs backward": [*X[2::-1], *X[:2:-1]],
            "only the last row is wrong (axis 0): does a loop end too early?": [*X[:3], 0, 0, 0],
            "only the first column is right (axis 1)": [X[0], 9, 8, X[3], 7, 6],
            "is 2.500001, expected 2.5 (6 of 6 numbers are wrong, this one by most) | right to only about six digits: is a `float`": [x * (1 + 3e-7 * (-1) ** i) for i, x in enumerate(X)],
            "is 0.30000003, expected 0.3 (the others": [X[0] * (1 + 1e-7), *X[1:]],
            "(the others are right)": [9, *X[1:]],
        }.items():
            with self.subTest(said):
                self.assertIn(said, self.said(tensor([2, 3], X), tensor([2, 3], elements), **more))

    def test_another_shape(self):
        summed = tensor([3], [X[j] + X[3 + j] for j in range(3)])
        count = list(range(24))
        heads = [count[(b * 3 + h) * 4 + i] for h in range(3) for b in range(2) for i in range(4)]
        for said, expected, got in (
            ("the numbers are right, but transposed", tensor([2, 3], X), tensor([3, 2], TURNED)),
            ("the axes are in another order: [1, 0, 2]", tensor([2, 3, 4], count), tensor([3, 2, 4], heads)),
            ("the sum over axis 0 is missing", summed, tensor([2, 3], X)),
            ("summed over axis 0", tensor([2, 3], X), summed),
            ("the result has the shape [2, 3], expected [1, 2, 3]", tensor([1, 2, 3], X), tensor([2, 3], X)),
            ("NaN or infinite", summed, tensor([2, 3], [math.inf] + X[1:])),
            ("the shape [2, 3], expected [3]", summed, tensor([2, 3], [1e308, 0, 0, 1e308, 0, 0])),  # too large for a sum
        ):
            with self.subTest(said):
                self.assertIn(said, self.said(expected, got))

    def test_a_mask_that_hides_nothing(self):
        expected, got = (Value("M", (3,), array("q", elements)) for elements in ([1, 0, 1], [0, 0, 0]))
        said = self.said(expected, got)
        self.assertIn("nothing is hidden here", said)
        self.assertIn("2 of 3 numbers are wrong, this one first", said)

    def test_a_test_that_refuses_or_accepts_or_throws(self):
        about = "your own f, which it should accept once it is repaired"
        for got, word in ((0, "refuses"), (1, "accepts")):
            expected = Value("N", (), array("q", [1 - got]))
            case = Case("c", "accepts", about, 0, [], [expected], [], {}, [])
            self.assertEqual(f"your test {word} {about}", compare(case, 0, Value("N", (), array("q", [got])), expected).text)

        class Session:
            def call(self, *_, **__):
                raise Threw("out of range")

        fault = judge_case(Session(), case, Limits(1))
        self.assertEqual((f"given {about}, your test threw instead of returning true or false: out of range", ""), (fault.text, fault.about))

    def test_sizes_are_not_taken_for_numbers(self):
        about = "table [3, 2], ids [2, 1], words [3, 2], factor 2"
        case = Case("c", "f", about, 0, [tensor([3, 2], X), tensor([2, 1], X[:2])], [], ["table", "ids", "y"], {}, [])
        self.assertEqual(case.shown, "table of shape [3, 2], ids of shape [2, 1], words [3, 2], factor 2")

    def test_a_mistake_that_the_exercise_knows(self):
        wrong = tensor([6], [x * x for x in X])
        self.assertIn("right for dy = 1 only", self.said(tensor([6], X), wrong, mistakes=[Mistake("right for dy = 1 only", [wrong])]))

    def test_nothing_is_made_up(self):
        case = Case("c", "f", "", 1e-9, [], [tensor([6], X)], [], {}, [])
        self.assertIsNone(compare(case, 0, tensor([6], [x * (1 + 1e-12) for x in X]), case.results[0]))
        for got in ([0.9, 2.2, -3.1, 0.4, 1.1, 5.0], [x + 0.3 * i for i, x in enumerate(X, 1)]):
            got = tensor([6], got)
            self.assertEqual(([], ""), (list(diagnose.causes(case, 0, got)), diagnose.pattern(case, 0, got)))
        one = Case("c", "f", "", 1e-9, [tensor([1], [3])], [tensor([1], [2])], ["x", "y"], {"sqrt(d_k)": 4}, [])
        for got, said in ((5, ""), (6, ""), (8, "4 = sqrt(d_k)")):  # one number is soon a sum or a multiple of others
            self.assertIn(said, found := diagnose.pattern(one, 0, tensor([1], [got])))
            self.assertEqual(bool(said), bool(found))

    def test_of_several_causes_those_stay_that_no_other_fault_speaks_against(self):
        right, wrong, other = tensor([2], [1, 2]), tensor([2], [2, 4]), tensor([2], [7, 9])
        ambiguous = [Mistake("twice", [wrong]), Mistake("added to itself", [wrong])]
        told_apart = [Mistake("twice", [wrong]), Mistake("added to itself", [other])]
        judged = verdict.Verdict(None, [])
        for mistakes in (ambiguous, told_apart):
            case = Case("c", "f", "", 1e-9, [], [right], [], {}, mistakes)
            fault = replace(compare(case, 0, wrong, right), case=case, got=(wrong,))
            judged.criteria.append(verdict.Judged("c", 1, 1, fault))
        self.assertEqual(("twice", "added to itself"), judged.criteria[0].fault.causes)
        verdict.decide(judged)
        self.assertEqual([("twice",), ("twice",)], [c.fault.causes for c in judged.criteria])

    def test_of_several_causes_those_stay_that_no_further_case_speaks_against(self):
        def case(right, square, double):
            mistakes = [Mistake("squared", [tensor([2], square)]), Mistake("doubled", [tensor([2], double)])]
            return Case("c", "f", "", 1e-9, [], [tensor([2], right)], [], {}, mistakes)

        first, telling, blind = case([0, 2], [0, 4], [0, 4]), case([1, 3], [1, 9], [2, 6]), case([0, 0], [0, 0], [0, 0])
        unknown = case([1, 2], [1, math.nan], [math.inf, 2])
        fault = compare(first, 0, tensor([2], [0, 4]), first.results[0])
        fault = replace(fault, case=first, got=(tensor([2], [0, 4]),))
        both = ("squared", "doubled")
        self.assertEqual(both, fault.causes)
        for got, cases, causes in (
            ([1, 9], [telling], ("squared",)),
            ([2, 6], [blind, telling], ("doubled",)),
            ([5, 5], [telling], both),
            ([0, 0], [blind, unknown], both),
            (None, [telling], both),
            ([9, math.nan], [telling], both),
        ):
            answers = Threw("") if got is None else lambda *_, got=got, **__: [tensor([2], got)]
            with self.subTest(got):
                session = unittest.mock.Mock(call=unittest.mock.Mock(side_effect=answers))
                found = verdict.confirmed(session, fault, cases)
                self.assertEqual((causes, got == [5, 5]), (found.causes, found.doubted))

    def test_a_bias_that_is_not_there(self):
        class Session:
            def call(self, *_, **__):
                raise Threw("tensor: no element (0) in [0]")

        case = Case("c", "f", "", 0, [], [tensor([1], [0])], [], {}, [])
        self.assertIn("has_bias() tells", judge_case(Session(), case, Limits(1)).pattern.replace("`", ""))


class Race(unittest.TestCase):
    """A speed, on a machine that does other things, too."""

    def ratio(self, seconds, wanted=2.0, results=lambda which, n, arguments: [], case=None, answer=0):
        """`seconds(which, call, n)`: of the n-th request of this kind to the answer (0) or to the plain function (1)."""
        counts = {}

        def timed(which, call, arguments, most):
            n = counts[which, call] = counts.get((which, call), -1) + 1
            return seconds(which, call, n), [] if call == "nothing" else results(which, n, arguments)

        class Plain(int):
            def close(self):
                pass

            def call(self, function, arguments, *, most):
                return []

        with (
            unittest.mock.patch.object(verdict, "timed", timed),
            unittest.mock.patch.object(verdict, "Session", lambda *_, **__: Plain(1)),
        ):
            case = case or Case("c", "f", "", 0, [], [], [], {}, [])
            return verdict.race(answer, Path(), [case], None, wanted, tight=False)

    def test_the_fastest_rounds_are_compared_without_the_time_of_messages(self):
        def seconds(which, call, n, slow=None, every=1):
            return 1 + (0 if call == "nothing" else 3 if which else 1) + 100 * ((which, call) == slow and n % every > 0)

        for slow in ((0, "f"), (1, "f"), (0, "nothing"), (1, "nothing")):  # what something else slows down
            for every in (1, 2, 3):
                with self.subTest(slow=slow, every=every):
                    ratio, fault = self.ratio(partial(seconds, slow=slow, every=every))
                    self.assertAlmostEqual(3, ratio)
                    self.assertIsNone(fault)

    def test_what_is_slow_stays_slow(self):
        for seconds in (
            lambda which, call, n: 1.0 if call == "nothing" else 2.0,
            lambda which, call, n: 2.0 if (which, call) != (1, "nothing") else 1.0,  # an answer's slow messages do not shorten its work
        ):
            ratio, fault = self.ratio(seconds)
            self.assertAlmostEqual(1, ratio)
            self.assertEqual("slow", fault.reason)

    def test_a_program_that_ends_meanwhile(self):
        """An answer is slow if its time is over; a plain way is not the answer's mistake."""

        class Late(int):
            def close(self):
                return Outcome("timeout", 152, "")

        def ending(which):
            def seconds(at, call, n):
                if at == which and n == 4:
                    raise Ended("timeout")
                return 1.0 if call == "nothing" else 2.0

            return seconds

        ratio, fault = self.ratio(ending(0), answer=Late())
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)
        self.assertIn("the fastest of 3 rounds", fault.text)
        with self.assertRaisesRegex(Failed, "the plain way failed"):
            self.ratio(ending(1))

    def raced(self, results):
        """The fault of an answer that is fast, and whose n-th result is `results(n, arguments)`: right is the sum."""
        given = Value("T", (3,), array("d", [1, 2, 3]))
        right = lambda x: [Value("R", (), array("d", [sum(x[0].elements)]))]
        case = Case("c", "f", "", 1e-9, [given], right([given]), ["x", "y"], {}, [])
        fast = lambda which, call, n: 1.0 if call == "nothing" else 9.0 if which else 2.0
        which = lambda which, n, x: right(x) if which else results(n, x, right)
        return self.ratio(fast, results=which, case=case)

    def test_a_result_that_is_kept_or_left_out_once_it_is_timed(self):
        kept = []
        stale = lambda n, x, right: kept[0] if kept else kept.append(right(x)) or kept[0]
        for wrong in (stale, lambda n, x, right: [], lambda n, x, right: right(x) if n < verdict.ROUNDS else [x[0]]):
            ratio, fault = self.raced(wrong)
            self.assertEqual(0, ratio)
            self.assertEqual("wrong", fault.reason)
            self.assertIn("while its time was measured", fault.text)

    def test_each_round_has_numbers_that_say_nothing_of_the_next(self):
        seen = []
        ratio, fault = self.raced(lambda n, x, right: seen.append(tuple(x[0].elements)) or right(x))
        self.assertEqual(len(seen), len({frozenset(map(abs, x)) for x in seen}))
        self.assertAlmostEqual(8, ratio)
        self.assertIsNone(fault)

    def test_an_answer_may_have_no_more_bytes_than_are_right(self):
        right = Value("T", (1000,), array("d", [0] * 1000))
        case = Case("c", "f", "", 0, [], [right, Value("S", text="a" * 500)], [], {}, [])
        size = len(encode([text(""), *case.results]))
        self.assertIn(verdict.most_of(case), range(size + 1, size + 10_000))
