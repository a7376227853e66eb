"""Compares the statistics of `sockcap diff` with scipy on random samples.

Called by scripts/check-statistics with the program under test
(crates/compare/examples/statistics.rs). Tolerances, relative to the figure: 1e-6 if both compute
the same sum or function, 1e-9 for arithmetic; and 1e-14 of 1, as some p-values are the difference
of a probability from 1. Random samples have sizes and kinds that occur in practice: with ties, of
equal and of very different sizes, from one distribution and from two.
"""

import argparse
import subprocess
import sys

import numpy
from scipy import stats

# Tolerances: relative ones for the same function and for arithmetic, and an absolute one.
SAME_FUNCTION, ARITHMETIC, ABSOLUTE = 1e-6, 1e-9, 1e-14
# The program's p-value is exact up to this product of the sizes of both samples, or up to this sum of
# counts (crates/compare/src/tuning.rs).
MAX_EXACT_SIZES, MAX_EXACT_COUNTS = 10_000, 1_000


def text(*lists):
    return ";".join(" ".join(f"{value:.17g}" for value in values) for values in lists)


class Check:
    """Questions to the program, with scipy's answer and the tolerance."""

    def __init__(self):
        self.questions, self.expected = [], []

    def ask(self, name, lists, expected, tolerance):
        self.questions.append(f"{name};{text(*lists)}")
        self.expected.append((name, [float(value) for value in expected], tolerance))

    def answers(self, program):
        process = subprocess.run([program], input="\n".join(self.questions) + "\n", stdout=subprocess.PIPE, text=True, check=True)
        lines = process.stdout.splitlines()
        if len(lines) != len(self.questions):
            sys.exit(f"{len(self.questions)} questions, {len(lines)} answers")
        return [[float(value) for value in line.split()] for line in lines]


def sample(random, size):
    """A sample like real times: some with a long tail, some with ties. In 32 bits, as in the
    program.
    """
    scale = random.choice([1.0, 1.0, 1.1, 2.0])
    values = numpy.exp(random.normal(0.0, 0.7, size)) * scale
    kind = random.integers(3)
    values = numpy.round(values) if kind == 0 else numpy.round(values, 1) if kind == 1 else values
    return values.astype(numpy.float32).astype(float)


def kolmogorov_smirnov(check, random):
    n, m = (random.integers(1, 90), random.integers(1, 100)) if random.random() < 0.7 else random.integers(100, 1500, 2)
    a, b = sample(random, n), sample(random, m)
    test = stats.ks_2samp(a, b, method="exact" if n * m <= MAX_EXACT_SIZES else "asymp")
    p_value = test.pvalue
    if n * m > MAX_EXACT_SIZES:
        # scipy's own asymptotic p-value belongs to another statistic; the limiting distribution is
        # the same.
        p_value = stats.kstwobign.sf(numpy.sqrt(n * m / (n + m)) * test.statistic)
    check.ask("ks", [a, b, [1, 1]], [test.statistic, p_value], SAME_FUNCTION)
    effects = random.uniform(1.01, 20.0, 2)
    sizes = n / effects[0], m / effects[1]
    size = numpy.sqrt(sizes[0] * sizes[1] / sum(sizes))
    check.ask("ks", [a, b, effects], [test.statistic, stats.kstwobign.sf(size * test.statistic)], SAME_FUNCTION)


def rates(check, random):
    totals = random.integers(10, 3_000, 2)
    counts = [random.binomial(total, share) for total, share in zip(totals, random.uniform(0.0, 1.0, 2))]
    if (min(totals) <= MAX_EXACT_COUNTS or sum(counts) <= MAX_EXACT_COUNTS) and sum(counts) > 0:
        expected = stats.fisher_exact([counts, totals - counts]).pvalue
        check.ask("rates", [counts, totals, [1]], [expected], SAME_FUNCTION)
    totals = random.integers(10_000, 200_000, 2)
    share = random.uniform(0.1, 0.9)
    counts = [random.binomial(total, share * factor) for total, factor in zip(totals, random.choice([1.0, 1.0, 1.01, 1.05], 2))]
    table = numpy.array([counts, totals - counts])
    expected = stats.chi2_contingency(table, correction=False).pvalue
    check.ask("rates", [counts, totals, [1]], [expected], SAME_FUNCTION)
    # Counts in bursts are worth fewer observations by this factor.
    effect = random.uniform(1.0, 5.0)
    if min(*totals, sum(counts)) / effect > MAX_EXACT_COUNTS + 1:
        expected = stats.chi2_contingency(table / effect, correction=False).pvalue
        check.ask("rates", [counts, totals, [effect]], [expected], SAME_FUNCTION)


def others(check, random):
    p_values = random.uniform(0.0, 1.0, random.integers(1, 60)) ** random.choice([1, 3])
    check.ask("adjusted", [p_values], stats.false_discovery_control(p_values), ARITHMETIC)
    p_value, degrees = random.uniform(0.0, 1.0) ** 4, random.integers(2, 60)
    expected = 2 * stats.t.sf(stats.norm.isf(p_value / 2), degrees)
    check.ask("student", [[p_value], [degrees]], [expected], SAME_FUNCTION)
    p_values = random.uniform(0.0, 0.5, random.integers(1, 20)) ** 3
    expected = stats.cauchy.sf(numpy.mean(stats.cauchy.isf(p_values)))
    check.ask("combined", [p_values], [expected], SAME_FUNCTION)
    counts = random.integers(0, 60, (random.integers(2, 6), 2)) + [0, 1]
    entropy = stats.entropy(counts.sum(axis=0), base=2)
    gain = entropy - sum(part.sum() * stats.entropy(part, base=2) for part in counts) / counts.sum()
    ratio = gain / stats.entropy(counts.sum(axis=1), base=2)
    if gain > 1e-6:
        check.ask("gain", list(counts), [gain, ratio], SAME_FUNCTION)
    values = sample(random, random.integers(2, 300)) + 0.1
    check.ask("variation", [values], [stats.variation(values) ** 2], ARITHMETIC)


def rare(check, random):
    """Events of one period, predicted from the other by a beta-binomial distribution."""
    prior = random.uniform(0.01, 5.0), random.uniform(0.1, 50.0)
    totals = random.integers(1, 200, 2)
    periods = [(random.binomial(total, random.uniform(0.0, 0.3)), total) for total in totals]

    def predicted(known, seen):
        a, b = prior[0] + known[0], prior[1] + known[1] - known[0]
        distribution = stats.betabinom(seen[1], a, b)
        is_more = seen[0] >= seen[1] * a / (a + b)
        # Summed here: scipy subtracts small upper tails from 1, where they are lost.
        return distribution.pmf(numpy.arange(seen[0], seen[1] + 1) if is_more else numpy.arange(seen[0] + 1)).sum()

    tails = [min(1.0, 2 * predicted(*pair)) for pair in (periods, periods[::-1])]
    # Values above one half are no evidence.
    variates = [stats.cauchy.isf(min(tail, 0.5)) for tail in tails]
    check.ask("rare", [prior, *periods], [stats.cauchy.sf(numpy.mean(variates))], SAME_FUNCTION)


def differs(answer, expected, tolerance):
    return not abs(answer - expected) <= tolerance * abs(expected) + ABSOLUTE


def main():
    parser = argparse.ArgumentParser(prog="scripts/check-statistics", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=500, help="samples of each kind [default: 500]")
    arguments = parser.parse_args()
    random, check = numpy.random.default_rng(arguments.seed), Check()
    for _ in range(arguments.samples):
        for kind in (kolmogorov_smirnov, rates, others, rare):
            kind(check, random)
    worst, wrong = {}, 0
    for question, answer, (name, expected, tolerance) in zip(check.questions, check.answers(arguments.program), check.expected):
        if len(answer) != len(expected) or any(differs(*pair, tolerance) for pair in zip(answer, expected)):
            wrong += 1
            if wrong <= 5:
                print(f"differs: {question[:300]}\n  here {answer[:4]}\n  scipy {expected[:4]}", file=sys.stderr)
        for pair in zip(answer, expected):
            count, most = worst.get(name, (0, 0.0))
            worst[name] = (count + 1, max(most, abs(pair[0] - pair[1])))
    for name, (count, most) in worst.items():
        print(f"{name}: {count} figures, at most {most:.1e} off")
    sys.exit(f"{wrong} of {len(check.questions)} differ from scipy" if wrong else 0)


if __name__ == "__main__":
    main()
