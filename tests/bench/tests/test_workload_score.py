"""Tests of the scores of found requests, by hand."""

import sys
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workloads import score  # noqa: E402
from workloads.runs import Account, Run  # noqa: E402

MS = 1_000_000


def account(number, kind, begin_ms, used_ms, driver=False):
    """A request that thread 7 read in 10 us."""
    begin = int(begin_ms * MS)
    return Account(number, kind, 7, 8, 0, begin, begin + 10_000, begin + 50 * MS, 0, int(used_ms * MS), 0, driver)


def found(number, seed_ms, used_ms, cluster=0, seeds=1, thread=7):
    """A request with its first seed 5 us after this moment."""
    return score.Found(number, int(seed_ms * MS) + 5_000, 1, thread, seeds, int(used_ms * MS), cluster)


class Matching(unittest.TestCase):
    def test_each_account_gets_the_request_of_its_read(self):
        accounts = [account(0, "a", 0, 30), account(1, "b", 100, 15)]
        result = score.matched(accounts, [found(0, 100, 15), found(1, 0, 29), found(2, 500, 1)])
        self.assertEqual([(of.number, request.number) for of, request in result.pairs], [(0, 1), (1, 0)])
        self.assertEqual([request.number for request in result.foreign], [2])
        self.assertEqual(score.differences(result.pairs), [29 / 30 - 1, 0.0])

    def test_merged_split_and_missed(self):
        accounts = [account(0, "a", 0, 30), account(1, "b", 100, 15), account(2, "b", 200, 15), account(3, "b", 300, 15)]
        result = score.matched(accounts, [found(0, 0, 45, seeds=2), found(1, 200, 10), found(2, 200, 5)])
        self.assertEqual(result.pairs, [])
        self.assertEqual([(request.number, of.number) for request, of in result.merged], [(0, 0)])
        self.assertEqual([of.number for of in result.split], [2])
        self.assertEqual([of.number for of in result.missed], [0, 1, 3])

    def test_a_seed_of_another_thread_is_another_request(self):
        result = score.matched([account(0, "a", 0, 30)], [found(0, 0, 1, thread=9)])
        self.assertEqual((len(result.missed), len(result.foreign)), (1, 1))

    def test_sequential_reads_are_distinguished_although_the_clock_differs(self):
        # Reads of 10 us, most of them alone and three in sequence, 12 us apart; the recording's
        # clock is 9 us ahead.
        begins = [100, 200, 300, 300.012, 300.024, 400, 500]
        accounts = [account(number, "a", begin, 30) for number, begin in enumerate(begins)]
        requests = [found(number, begin + 0.009, 30) for number, begin in enumerate(begins)]
        result = score.matched(accounts, requests)
        self.assertEqual([(of.number, request.number) for of, request in result.pairs], [(at, at) for at in range(7)])


class Charging(unittest.TestCase):
    def test_shares_are_of_the_process(self):
        run = Run("a", 1, "", "", 40 * MS, 1, 0, [account(0, "a", 0, 30)])
        self.assertEqual(score.own_charged(run), 0.75)
        self.assertEqual(score.charged(run, [found(0, 0, 20)]), 0.5)


class Errors(unittest.TestCase):
    def test_the_model_consists_of_representatives(self):
        requests = [found(0, 0, 10), found(1, 1, 14), found(2, 2, 30, cluster=1), found(3, 3, 31, cluster=1)]
        # 14 + 14 + 30 + 30 by 85; another server's request represents cluster 1, so that its first
        # one is used.
        self.assertEqual(score.model_error(requests, [1, 99])[0], 3 / 85)
        self.assertIsNone(score.model_error(requests, [1, 99])[1])

    def test_stolen_time_is_found_by_both_recorders_and_not_by_the_server(self):
        accounts = [account(number, "a", 100 * number, 30) for number in range(4)]
        first = [(of, found(of.number, 0, used)) for of, used in zip(accounts, (30, 40, 40, 20))]
        second = [(of, found(of.number, 0, used)) for of, used in zip(accounts, (30, 40, 30, 20))]
        self.assertEqual(score.stolen(first, second), {1})


class Clustering(unittest.TestCase):
    def test_wrong_and_extra(self):
        accounts = [account(number, "aaab"[number % 4], 100 * number, 30) for number in range(8)]
        # 0 1 2 and 7 (which is b) together, 3 alone, 4 and 5 together, 6 alone.
        clusters = [0, 0, 0, 1, 2, 2, 3, 0]
        pairs = [(of, found(of.number, 0, 30, clusters[of.number])) for of in accounts]
        result = score.clusters(pairs, accounts)
        self.assertEqual(result.shown(), "3A+1B, 2A, 1B, 1A")
        self.assertEqual(result.wrong, [7])
        self.assertEqual(result.extra, [4, 5, 6])
        self.assertEqual(result.faults, [4, 5, 6, 7])
        self.assertEqual(score.purity(result.sizes), 7 / 8)

    def test_disturbed_requests_are_excused(self):
        used = [30, 30, 30, 34, 32]
        accounts = [account(number, "a", 100 * number, of) for number, of in enumerate(used)]
        accounts.append(account(5, "a", 900, 30, driver=True))
        self.assertEqual(score.disturbed(accounts), {3, 5})

    def test_purity_of_nothing_is_not_a_number(self):
        self.assertNotEqual(score.purity([]), score.purity([]))
        self.assertEqual(score.purity([Counter(a=3, b=1)]), 0.75)


if __name__ == "__main__":
    unittest.main()
