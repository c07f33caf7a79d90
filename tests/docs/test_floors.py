"""The least time of each work that ./book bench measures."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "bench"))

import works


class Floors(unittest.TestCase):
    LIMITS = works.Limits(read=1e9, copy=2e9, update=4e9, product=1e12)

    def test_sizes_of_the_models(self) -> None:
        self.assertEqual(works.TOY.parameters, 44_058_112)
        self.assertEqual(works.BASE.parameters, 56_434_496)

    def test_a_step_reads_the_weights_and_updates_them_with_what_the_optimizer_keeps(self) -> None:
        toy = works.step_need(works.TOY, 2, 8, 7)
        self.assertEqual(toy.read, 4 * works.TOY.matrices)
        self.assertEqual(toy.updated, 16 * works.TOY.parameters)
        # three products of 2 operations for every weight and word, and little for attention
        words = 6 * 2 * (8 * 6 * (works.TOY.encoder_layer + works.TOY.cross_maps))
        words += 6 * 2 * 7 * 6 * (works.TOY.decoder_layer - works.TOY.cross_maps)
        self.assertAlmostEqual(toy.flops / words, 1, delta=0.01)

    def test_a_cache_saves_products_but_not_the_reading_of_weights(self) -> None:
        plain = works.decode_need(works.BASE, 32, 24, 24, cached=False)
        cached = works.decode_need(works.BASE, 32, 24, 24, cached=True)
        self.assertEqual(plain.read, cached.read)
        self.assertGreater(plain.flops, 7 * cached.flops)

    def test_the_longer_of_memory_and_products(self) -> None:
        found = works.floor(works.Need(read=10**9, updated=2 * 10**9, flops=10**12), self.LIMITS)
        self.assertEqual((found["memory_ms"], found["products_ms"]), (1500, 1000))
        self.assertEqual(found["floor_ms"], 1500)

    def test_operations_are_held_against_their_own_streams(self) -> None:
        def least(name: str, **rates: float) -> float:
            return max(works.operation_parts({"name": name, "ms": 1000, **rates}, self.LIMITS))

        self.assertAlmostEqual(least("softmax/4x4", bytes_per_second=1e9), 500)
        self.assertAlmostEqual(least("sgd", bytes_per_second=1e9), 200 + 800 / 4)
        self.assertAlmostEqual(least("matmul_y/1", bytes_per_second=1, flops_per_second=1e11), 100)

    def test_caches_can_save_their_own_size_in_each_pass_and_no_more(self) -> None:
        def least(cache: int | None, passes: int = 1) -> float:
            return works.least_ms(1500, 1000, passes, cache, self.LIMITS)

        self.assertEqual(least(0), 1500)
        self.assertEqual(least(10**8), 1400)  # at the slowest stream's 1e9 bytes a second
        self.assertEqual(least(10**8, passes=3), 1200)
        self.assertEqual(least(10**9), 1000)  # products do not become fewer
        self.assertEqual(least(None), 1000)

    def test_more_than_5_percent_below_the_least_is_impossible(self) -> None:
        self.assertTrue(works.beats(0.94, 1))
        self.assertFalse(works.beats(0.96, 1))


if __name__ == "__main__":
    unittest.main()
