"""95 % intervals of a median, with no assumption about the distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

CONFIDENCE = 0.95
SMALLEST_SAMPLE = 6  # five samples reach 1 - 2 / 2^5 = 93.75 % at most
BOOTSTRAP_RESAMPLES = 4000
BOOTSTRAP_SEED = 2021
BOOTSTRAP = "percentile bootstrap"


@dataclass(frozen=True)
class Estimate:
    """A median and an interval around it, made by `method`. `coverage` is what the interval is known to reach: exact for order
    statistics, the nominal 0.95 for the bootstrap, and below 0.95 where the sample is too small to reach it."""

    median: float
    low: float
    high: float
    coverage: float
    method: str

    @property
    def reaches_confidence(self) -> bool:
        return self.coverage >= CONFIDENCE


@lru_cache(maxsize=None)
def order_statistic_ranks(count: int) -> tuple[int, float]:
    """The largest j such that [x_(j), x_(count + 1 - j)] covers the median with at least 95 %, and its exact coverage.

    The number of samples below the median of a continuous distribution is binomial(count, 1/2), so the coverage is
    1 - 2 P(at most j - 1 below); ties only raise it (Le Boudec, Performance Evaluation of Computer and Communication
    Systems, 2010, section 2.2.2). Below six samples no j reaches 95 %: j = 1, the whole range, is returned with the
    coverage that it has.
    """
    below = 0
    rank, coverage = 0, 0.0
    for candidate in range(1, count // 2 + 1):
        below += math.comb(count, candidate - 1)
        candidate_coverage = 1.0 - 2.0 * (below / 2**count)
        if candidate > 1 and candidate_coverage < CONFIDENCE:
            break
        rank, coverage = candidate, candidate_coverage
    return max(rank, 1), coverage


def order_estimate(sample: np.ndarray) -> Estimate:
    """Median and its interval by order statistics; one sample gives a point of coverage 0."""
    ordered = np.sort(sample)
    rank, coverage = order_statistic_ranks(len(ordered))
    return Estimate(float(np.median(ordered)), float(ordered[rank - 1]), float(ordered[-rank]), coverage, "order statistics")


def stated_estimate(sample: np.ndarray, low: float, high: float) -> Estimate:
    """The interval that the benchmark stated itself: by order statistics, wide enough for a rule that looks at the samples
    several times and stops when they seem to agree. order_estimate would cover less often then."""
    return Estimate(float(np.median(sample)), low, high, _nominal_coverage(len(sample)), "order statistics, under the stopping rule")


def _resampled_medians(sample: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    picks = generator.integers(0, len(sample), size=(BOOTSTRAP_RESAMPLES, len(sample)))
    return np.median(sample[picks], axis=1)


def _percentile_interval(medians: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(medians, [50.0 * (1.0 - CONFIDENCE), 50.0 * (1.0 + CONFIDENCE)])
    return float(low), float(high)


def _nominal_coverage(count: int) -> float:
    """The bootstrap of a tiny sample can't reach beyond its range either, so it claims no more than the range does."""
    return CONFIDENCE if count >= SMALLEST_SAMPLE else order_statistic_ranks(count)[1]


def bootstrap_estimate(sample: np.ndarray) -> Estimate:
    """Median and its percentile bootstrap interval, from a fixed seed."""
    low, high = _percentile_interval(_resampled_medians(sample, np.random.default_rng(BOOTSTRAP_SEED)))
    return Estimate(float(np.median(sample)), low, high, _nominal_coverage(len(sample)), BOOTSTRAP)


def bootstrap_ratio_estimate(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """Ratio of two medians of samples that are not paired, each resampled by itself."""
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    ratios = _resampled_medians(numerator, generator) / _resampled_medians(denominator, generator)
    low, high = _percentile_interval(ratios)
    count = min(len(numerator), len(denominator))
    return Estimate(float(np.median(numerator) / np.median(denominator)), low, high, _nominal_coverage(count), BOOTSTRAP)
