"""Exercises that ask for a speed."""

import sys
import unittest
import unittest.mock
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.answer import verdict
from judge.answer.cases import Case
from judge.answer.limits import Outcome
from judge.answer.session import Ended
from judge.answer.setting import Failed
from judge.answer.values import Value, encode, text


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

    def test_the_time_of_messages_is_left_out(self):
        ratio, fault = self.ratio(lambda which, call, n: 5 + (0 if call == "nothing" else 3 if which else 1))
        self.assertAlmostEqual(3, ratio)
        self.assertIsNone(fault)

    def test_rounds_that_something_slows_count_for_nothing(self):
        for slow in ((0, "f"), (1, "f"), (0, "nothing"), (1, "nothing")):
            for every in (2, 3):
                with self.subTest(slow=slow, every=every):
                    ratio, _ = self.ratio(
                        lambda which, call, n, slow=slow, every=every: (
                            1 + (0 if call == "nothing" else 3 if which else 1) + (100 if (which, call) == slow and n % every else 0)
                        )
                    )
                    self.assertAlmostEqual(3, ratio)

    def test_what_is_slow_stays_slow(self):
        ratio, fault = self.ratio(lambda which, call, n: 1.0 if call == "nothing" else 2.0)
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)

    def test_what_is_slow_until_its_time_is_over_is_slow(self):
        class Late(int):
            def close(self):
                return Outcome("timeout", 152, "")

        def seconds(which, call, n):
            if n == 4:
                raise Ended("timeout")
            return 1.0 if call == "nothing" else 2.0

        ratio, fault = self.ratio(seconds, answer=Late())
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)
        self.assertIn("the fastest of 3 rounds", fault.text)

    def test_a_plain_way_that_fails_is_not_the_answers_mistake(self):
        def seconds(which, call, n):
            if which and n == 4:
                raise Ended("end")
            return 1.0 if call == "nothing" else 2.0

        with self.assertRaisesRegex(Failed, "the plain way failed"):
            self.ratio(seconds)

    def test_slow_messages_of_an_answer_do_not_shorten_its_work(self):
        ratio, fault = self.ratio(lambda which, call, n: 2.0 if (which, call) != (1, "nothing") else 1.0)
        self.assertAlmostEqual(1, ratio)
        self.assertEqual("slow", fault.reason)

    def raced(self, results):
        """The fault of an answer that is fast, and whose n-th result is `results(n, arguments)`: right is the sum."""
        given = Value("T", (3,), array("d", [1, 2, 3]))
        right = lambda x: [Value("R", (), array("d", [sum(x[0].elements)]))]
        case = Case("c", "f", "", 1e-9, [given], right([given]), ["x", "y"], {}, [])
        fast = lambda which, call, n: 1.0 if call == "nothing" else 9.0 if which else 2.0
        which = lambda which, n, x: right(x) if which else results(n, x, right)
        return self.ratio(fast, results=which, case=case)

    def test_a_result_that_is_right_whenever_it_is_timed(self):
        ratio, fault = self.raced(lambda n, x, right: right(x))
        self.assertAlmostEqual(8, ratio)
        self.assertIsNone(fault)

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
        self.raced(lambda n, x, right: seen.append(tuple(x[0].elements)) or right(x))
        self.assertEqual(len(seen), len({frozenset(map(abs, x)) for x in seen}))

    def test_an_answer_may_have_no_more_bytes_than_are_right(self):
        right = Value("T", (1000,), array("d", [0] * 1000))
        case = Case("c", "f", "", 0, [], [right, Value("S", text="a" * 500)], [], {}, [])
        size = len(encode([text(""), *case.results]))
        self.assertLess(size, verdict.most_of(case))
        self.assertLess(verdict.most_of(case), size + 10_000)


if __name__ == "__main__":
    unittest.main()
