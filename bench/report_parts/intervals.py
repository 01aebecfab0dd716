"""95 % intervals of a median or another percentile, with no assumption about the distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

CONFIDENCE = 0.95
MEDIAN = 50
BOOTSTRAP_RESAMPLES = 4000
BOOTSTRAP_SEED = 2021
BOOTSTRAP = "percentile bootstrap"


@dataclass(frozen=True)
class Estimate:
    """A percentile, mostly the median, and an interval around it, made by `method`. `coverage` is what the interval is known to
    reach: exact for order statistics, the nominal 0.95 for the bootstrap, and below 0.95 where the sample is too small."""

    value: float
    low: float
    high: float
    coverage: float
    method: str

    @property
    def median(self) -> float:
        return self.value

    @property
    def reaches_confidence(self) -> bool:
        return self.coverage >= CONFIDENCE


def _binomial(count: int, percent: int) -> list[float]:
    """P(i of `count` samples are below the percentile), rounded once each."""
    part, whole = Fraction(percent, 100).as_integer_ratio()
    all_ways, ways = whole**count, (whole - part)**count
    probabilities = []
    for i in range(count + 1):
        probabilities.append(ways / all_ways)
        ways = ways * (count - i) * part // ((i + 1) * (whole - part))
    return probabilities


@lru_cache(maxsize=None)
def order_statistic_ranks(count: int, percent: int = MEDIAN) -> tuple[int, int, float]:
    """The largest j and the smallest l such that [x_(j), x_(l)] leaves out the percentile on either side with 2.5 % at most, and
    the exact coverage.

    The number of samples below a percentile q of a continuous distribution is binomial(count, q), so x_(j) is above it with
    P(at most j - 1 below) and x_(l) is below it with P(at least l below); ties only raise the coverage (Le Boudec,
    Performance Evaluation of Computer and Communication Systems, 2010, section 2.2.2). Where a side has no such sample,
    its first or its last is taken, with the coverage that this has: below 95 % with fewer than six samples for the median,
    fewer than 31 for the 10th and the 90th percentile.
    """
    below = _binomial(count, percent)
    tail = (1 - CONFIDENCE) / 2
    fewer = list(accumulate(below))  # P(at most i below)
    more = list(accumulate(reversed(below)))  # P(at least count - i below)
    low = max((j for j in range(1, count + 1) if fewer[j - 1] <= tail), default=1)
    high = min((l for l in range(1, count + 1) if more[count - l] <= tail), default=count)
    return low, high, math.fsum(below[low:high])


def order_estimate(sample: np.ndarray, percent: int = MEDIAN) -> Estimate:
    """A percentile and its interval by order statistics; one sample gives a point of coverage 0."""
    ordered = np.sort(sample)
    low, high, coverage = order_statistic_ranks(len(ordered), percent)
    return Estimate(float(np.percentile(ordered, percent)), float(ordered[low - 1]), float(ordered[high - 1]), coverage,
                    "order statistics")


def stated_estimate(sample: np.ndarray, low: float, high: float) -> Estimate:
    """The interval that the benchmark stated itself: by order statistics, wide enough for a rule that looks at the samples
    several times and stops when they seem to agree. order_estimate would cover less often then."""
    return Estimate(float(np.median(sample)), low, high, _nominal_coverage(len(sample)), "order statistics, under the stopping rule")


def _resampled(sample: np.ndarray, generator: np.random.Generator, percent: int = MEDIAN) -> np.ndarray:
    picks = generator.integers(0, len(sample), size=(BOOTSTRAP_RESAMPLES, len(sample)))
    return np.percentile(sample[picks], percent, axis=1)


def _percentile_interval(values: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(values, [50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE)])
    return float(low), float(high)


def _nominal_coverage(count: int, percent: int = MEDIAN) -> float:
    """The bootstrap of a tiny sample can't reach beyond its range either, so it claims no more than the range does."""
    share = percent / 100
    return min(CONFIDENCE, 1 - share**count - (1 - share)**count)


def bootstrap_estimate(sample: np.ndarray, percent: int = MEDIAN) -> Estimate:
    """A percentile and its percentile bootstrap interval, from a fixed seed."""
    low, high = _percentile_interval(_resampled(sample, np.random.default_rng(BOOTSTRAP_SEED), percent))
    return Estimate(float(np.percentile(sample, percent)), low, high, _nominal_coverage(len(sample), percent), BOOTSTRAP)


def bootstrap_ratio_estimate(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """Ratio of two medians of samples that are not paired, each resampled by itself."""
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    ratios = _resampled(numerator, generator) / _resampled(denominator, generator)
    low, high = _percentile_interval(ratios)
    count = min(len(numerator), len(denominator))
    return Estimate(float(np.median(numerator) / np.median(denominator)), low, high, _nominal_coverage(count), BOOTSTRAP)
