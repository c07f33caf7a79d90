"""Each likely cause that the judge names, and a wrong answer that shows it."""

import math
import sys
import unittest
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from judge.answer import diagnose
from judge.answer.cases import Case, Mistake
from judge.answer.limits import Limits
from judge.answer.session import Threw
from judge.answer.values import Value
from judge.answer.verdict import compare, judge_case

X = [0.3, -1.2, 2.5, 0.7, -0.4, 1.9]


def tensor(shape, elements):
    return Value("T", tuple(shape), array("d", elements))


class Causes(unittest.TestCase):
    def said(self, expected, got, arguments=(), names=(), constants=None, mistakes=(), tolerance=1e-9):
        case = Case("c", "f", "", tolerance, list(arguments), [expected], list(names), constants or {}, list(mistakes))
        fault = compare(case, 0, got, expected)
        self.assertIsNotNone(fault, "the judge finds nothing wrong")
        return " | ".join([fault.text, *fault.causes])

    def test_nothing_is_computed(self):
        self.assertIn("every number is 0", self.said(tensor([2, 3], X), tensor([2, 3], [0] * 6)))

    def test_not_a_number(self):
        self.assertIn("NaN", self.said(tensor([2, 3], X), tensor([2, 3], [math.nan] + X[1:])))

    def test_an_infinite_number_is_not_like_any_other(self):
        self.assertFalse(diagnose.same([math.inf], [1.27]))
        self.assertFalse(diagnose.same([math.nan], [1.27]))
        self.assertTrue(diagnose.same([1.27], [1.27 + 1e-7]))

    def test_a_scale_is_forgotten(self):
        got = tensor([2, 3], [x * math.sqrt(8) for x in X])
        said = self.said(tensor([2, 3], X), got, constants={"sqrt(d_k)": math.sqrt(8)})
        self.assertIn("off by a factor 2.828", said)
        self.assertIn("sqrt(d_k)", said)

    def test_a_scale_is_there_twice(self):
        got = tensor([2, 3], [x / 8 for x in X])
        self.assertIn("(sqrt(d_k))^2", self.said(tensor([2, 3], X), got, constants={"sqrt(d_k)": math.sqrt(8)}))

    def test_a_factor_is_a_size(self):
        got = tensor([2, 3], [x * 5 for x in X])
        said = self.said(tensor([2, 3], X), got, arguments=[tensor([5, 2], range(10))], names=["x", "dx"])
        self.assertIn("size 5 of x's axis 0", said)

    def test_something_is_added_twice(self):
        self.assertIn("added twice", self.said(tensor([2, 3], X), tensor([2, 3], [2 * x for x in X])))

    def test_the_sign(self):
        self.assertIn("wrong sign", self.said(tensor([2, 3], X), tensor([2, 3], [-x for x in X])))

    def test_some_signs(self):
        self.assertIn("some signs", self.said(tensor([2, 3], X), tensor([2, 3], [abs(x) for x in X])))

    def test_transposed(self):
        turned = [X[i * 3 + j] for j in range(3) for i in range(2)]
        self.assertIn("transposed", self.said(tensor([2, 3], X), tensor([3, 2], turned)))

    def test_axes_in_another_order(self):
        elements = list(range(24))
        turned = [elements[(b * 3 + h) * 4 + i] for h in range(3) for b in range(2) for i in range(4)]
        self.assertIn("axes", self.said(tensor([2, 3, 4], elements), tensor([3, 2, 4], turned)))

    def test_read_along_another_axis(self):
        turned = [X[i * 3 + j] for j in range(3) for i in range(2)]
        self.assertIn("another axis", self.said(tensor([2, 3], X), tensor([2, 3], turned)))

    def test_the_sum_over_the_batch_is_missing(self):
        expected = tensor([3], [X[j] + X[3 + j] for j in range(3)])
        self.assertIn("sum over axis 0 is missing", self.said(expected, tensor([2, 3], X)))

    def test_numbers_too_large_for_a_sum(self):
        expected = tensor([3], X[:3])
        for large in ([math.inf, 0, 0, -math.inf, 0, 0], [1e308, 0, 0, 1e308, 0, 0], [math.nan] * 6):
            with self.subTest(large):
                self.assertIn("the shape [2, 3], expected [3]", self.said(expected, tensor([2, 3], large)))
        self.assertIn("NaN or infinite", self.said(expected, tensor([2, 3], [math.inf] + X[1:])))

    def test_a_sum_too_many(self):
        got = tensor([3], [X[j] + X[3 + j] for j in range(3)])
        self.assertIn("summed over axis 0", self.said(tensor([2, 3], X), got))

    def test_another_shape(self):
        self.assertIn("the shape is not", self.said(tensor([2, 3], X), tensor([6], X)))

    def test_an_argument_comes_back(self):
        dy = tensor([2, 3], [1, 2, 3, 4, 5, 7])
        self.assertIn("dy unchanged", self.said(tensor([2, 3], X), dy, arguments=[dy], names=["dy", "dx"]))

    def test_what_was_there_is_added(self):
        before = tensor([2, 3], [1, 2, 3, 4, 5, 7])
        got = tensor([2, 3], [a + b for a, b in zip(X, before.elements, strict=True)])
        self.assertIn("sums is added", self.said(tensor([2, 3], X), got, arguments=[before], names=["sums", "dW"]))

    def test_backward_order(self):
        self.assertIn("runs backward", self.said(tensor([6], X), tensor([6], X[::-1])))

    def test_off_by_one(self):
        self.assertIn("shifted by one", self.said(tensor([6], X), tensor([6], X[1:] + X[:1])))

    def test_a_constant_too_much(self):
        self.assertIn("too large by 0.5", self.said(tensor([6], X), tensor([6], [x + 0.5 for x in X])))

    def test_the_last_row(self):
        self.assertIn("only the last row", self.said(tensor([3, 2], X), tensor([3, 2], [*X[:4], 0.1, 0.2])))

    def test_the_first_for_all(self):
        y = [1, 2, 3, 4, 5, 7]
        said = self.said(tensor([2, 3], y), tensor([2, 3], y[:3] * 2))
        self.assertIn("everything along axis 0 is what the first should be", said)

    def test_an_axis_of_size_1(self):
        said = self.said(tensor([1, 2, 3], X), tensor([2, 3], X))
        self.assertIn("the result has the shape [2, 3], expected [1, 2, 3]", said)
        self.assertIn("an axis of size 1 is missing", said)
        self.assertNotIn("summed", said)

    def test_a_mask_that_hides_nothing(self):
        expected, got = (Value("M", (3,), array("q", elements)) for elements in ([1, 0, 1], [0, 0, 0]))
        said = self.said(expected, got)
        self.assertIn("nothing is hidden here", said)
        self.assertIn("2 of 3 numbers are wrong, this one first", said)

    def test_one_wrong_number(self):
        said = self.said(tensor([2, 3], X), tensor([2, 3], [9, *X[1:]]))
        self.assertIn("(the others are right)", said)

    def test_a_test_that_refuses_or_accepts(self):
        for got, word in ((0, "refuses"), (1, "accepts")):
            about = "your own f, which it should accept once it is repaired"
            expected = Value("N", (), array("q", [1 - got]))
            case = Case("c", "accepts", about, 0, [], [expected], [], {}, [])
            fault = compare(case, 0, Value("N", (), array("q", [got])), expected)
            self.assertEqual(f"your test {word} {about}", fault.text)

    def test_a_test_that_throws(self):
        class Session:
            def call(self, *_, **__):
                raise Threw("out of range")

        case = Case("c", "accepts", "a function that forgets rows", 0, [], [Value("N", (), [0])], [], {}, [])
        fault = judge_case(Session(), case, Limits(1))
        self.assertEqual(
            fault.text,
            "given a function that forgets rows, your test threw instead of returning true or false: out of range",
        )
        self.assertEqual(fault.about, "")

    def test_sizes_are_not_taken_for_numbers(self):
        about = "table [3, 2], ids [2, 1], words [3, 2], factor 2"
        case = Case("c", "f", about, 0, [tensor([3, 2], X), tensor([2, 1], X[:2])], [], ["table", "ids", "y"], {}, [])
        self.assertEqual(case.shown, "table of shape [3, 2], ids of shape [2, 1], words [3, 2], factor 2")

    def test_computed_in_float(self):
        got = tensor([6], [x * (1 + 3e-7 * (-1) ** i) for i, x in enumerate(X)])
        self.assertIn("computed in float", self.said(tensor([6], X), got))

    def test_a_mistake_that_the_exercise_knows(self):
        wrong = [x * x for x in X]
        mistake = Mistake("right for dy = 1 only", [tensor([6], wrong)])
        self.assertIn("right for dy = 1 only", self.said(tensor([6], X), tensor([6], wrong), mistakes=[mistake]))

    def test_what_is_right_has_no_fault(self):
        case = Case("c", "f", "", 1e-9, [], [tensor([6], X)], [], {}, [])
        self.assertIsNone(compare(case, 0, tensor([6], [x * (1 + 1e-12) for x in X]), case.results[0]))

    def test_no_cause_is_made_up(self):
        case = Case("c", "f", "", 1e-9, [], [tensor([6], X)], [], {}, [])
        self.assertEqual([], list(diagnose.causes(case, 0, tensor([6], [0.9, 2.2, -3.1, 0.4, 1.1, 5.0]))))


if __name__ == "__main__":
    unittest.main()
