"""Tests of the scores of ranked lists, by hand."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diffs import ranking  # noqa: E402


def place(node, operation, parent=None):
    return {"node": node, "operation": operation, "parent": parent}


WRITE = {"places": [place("nfs", "WRITE"), place("storage1", "WRITE", 0), place("storage1", "reply", 1)]}
MISS = {"places": [place("nfs", "READ"), place("nfs", "data miss", 0), place("storage1", "READ", 1)]}
HIT = {"places": [place("nfs", "READ"), place("nfs", "data hit", 0)]}


class Gain(unittest.TestCase):
    def test_by_hand(self):
        # 1 + 0 + 1 / log2(3) + 1 / log2(4) relative to 1 + 1 / log2(2) + 1 / log2(3).
        third = 1 / math.log2(3)
        self.assertAlmostEqual(ranking.gain([1, 0, 1, 1]), 1 + third + 0.5)
        self.assertAlmostEqual(ranking.ndcg([1, 0, 1, 1]), (1.5 + third) / (2 + third))
        self.assertAlmostEqual(ranking.ndcg([1, 0, 1, 1]), 0.80995, places=4)

    def test_the_first_two_ranks_count_the_same(self):
        self.assertEqual(ranking.ndcg([0, 1]), 1.0)
        self.assertEqual(ranking.ndcg([0, 0, 0, 1]), 0.5)

    def test_bounds(self):
        self.assertEqual(ranking.ndcg([1]), 1.0)
        self.assertEqual(ranking.ndcg([1, 1, 0, 0]), 1.0)
        self.assertEqual(ranking.ndcg([0, 0]), 0.0)
        self.assertEqual(ranking.ndcg([]), 0.0)

    def test_lists_of_the_paper(self):
        """Tables 4 and 6. The text states which of the first slots are empty, but not which of the
        later ones.
        """
        def ranked(count, relevant, *empty):
            ranks = [rank for rank in range(1, count + 1) if rank not in empty][:relevant]
            return [int(rank in ranks) for rank in range(1, count + 1)]

        spin = ranked(95, 68, 1, 5, 25, 35, 45)
        self.assertEqual((sum(spin), round(ranking.ndcg(spin), 2)), (68, 0.93))
        cache = ranked(32, 17, 1, 3, 18, 19, 20)
        self.assertEqual((sum(cache), round(ranking.ndcg(cache), 2)), (17, 0.83))


class Relevance(unittest.TestCase):
    def test_of_the_spin(self):
        slower = {"kind": "response_time", "tree": WRITE, "hops": [{"place": 2}], "originators": []}
        elsewhere = {**slower, "hops": [{"place": 1}]}
        self.assertTrue(ranking.relevant_to_spin(slower) and ranking.is_located(slower))
        self.assertTrue(ranking.relevant_to_spin(elsewhere) and not ranking.is_located(elsewhere))
        self.assertFalse(ranking.relevant_to_spin({**slower, "tree": HIT}))
        self.assertFalse(ranking.relevant_to_spin({**slower, "kind": "structural"}))

    def test_omitted_mutations(self):
        def slower(category, contribution, longer):
            tree = {**WRITE, "category": category, "mean_ns": [1e6, 1e6 + longer]}
            return {"kind": "response_time", "tree": tree, "contribution_ns": contribution}

        everything = [slower("a", 90.0, 1e6), slower("b", 10.0, 6e5), slower("c", 5.0, 4e5)]
        found = ranking.left_out({"mutations": [everything[0], everything[2]]}, {"mutations": everything})
        self.assertEqual(found, (2, 1, 0.9))

    def test_of_the_cache(self):
        more = {"kind": "structural", "tree": MISS, "hops": [], "originators": [{"tree": HIT}]}
        self.assertTrue(ranking.relevant_to_cache(more) and ranking.is_originated(more))
        self.assertFalse(ranking.is_originated({**more, "originators": [{"tree": MISS}]}))
        self.assertFalse(ranking.relevant_to_cache({**more, "tree": HIT}))
        self.assertFalse(ranking.relevant_to_cache({**more, "kind": "response_time"}))

    def test_of_an_answer(self):
        miss = {"kind": "structural", "tree": MISS, "hops": [], "originators": []}
        hit = {**miss, "tree": HIT}
        answer = {"mutations": [miss, hit, hit, miss], "suspects": [{"node": "nfs"}], "categories": 9}
        figures = ranking.score_mutations(answer, "cache")
        self.assertEqual((figures["list"], figures["relevant"], figures["mutations"]), ("x..x", 0.5, 4))
        self.assertAlmostEqual(figures["ndcg"], 1.5 / 2)
        self.assertEqual((figures["located"], figures["suspected"]), (0.0, True))


if __name__ == "__main__":
    unittest.main()
