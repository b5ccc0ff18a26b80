"""What sites may have of sizes never sampled there: by other sites, and by exact totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from heapglass.model.unseen import SizeClasses, unseen_blocks
from heapglass.model.weights import sample_weights

INTERVAL = 512 << 10
LARGE = 16 << 10
SMALL = 64

Sampled = Mapping[int, int]  # samples by size


def classes(sites: Sequence[Sampled]) -> SizeClasses:
    blocks, variances = np.zeros((2, len(sites), 48))
    for row, site in enumerate(sites):
        for size, samples in site.items():
            weight = float(sample_weights(np.array([size]), np.array([INTERVAL]))[0])
            blocks[row, size.bit_length()] += samples * weight
            variances[row, size.bit_length()] += samples * weight * (weight - 1)
    largest = np.array([max(site, default=0) for site in sites])
    return SizeClasses(blocks, variances, largest, np.full(len(sites), INTERVAL))


def test_samples_are_counted_again() -> None:
    found = classes([{SMALL: 1, LARGE: 7}, {}, {3 << 20: 4}])
    assert found.samples.sum(axis=1).tolist() == [8, 0, 4]


def test_where_all_sites_have_one_size_nothing_is_missed() -> None:
    sites: list[Sampled] = [{16: 3}, {100: 1}, {LARGE: 40}, {4 << 20: 2}, {}]
    assert not unseen_blocks(classes(sites), 0.0).any()


def test_what_other_sites_have_may_be_anywhere() -> None:
    """Of twenty sites with large blocks, five have a sample of a small one."""
    mixed, large = {SMALL: 1, LARGE: 5}, {LARGE: 5}
    unseen = unseen_blocks(classes([*[mixed] * 5, *[large] * 15]), None)
    weight = INTERVAL / SMALL
    assert (unseen[5:] > 2 * weight).all()
    assert (unseen[5:] < 10 * weight).all()
    assert (unseen[:5] < unseen[5]).all()  # only of sizes that are smaller still
    fewer = unseen_blocks(classes([mixed, *[large] * 200]), None)
    assert not fewer.any()  # one of two hundred


def test_smaller_blocks_are_looked_for_below_those_there_are() -> None:
    sites: list[Sampled] = [*[{SMALL: 1, LARGE: 5}] * 5, {8: 3}]
    assert unseen_blocks(classes(sites), None)[5] == 0


def test_sites_that_look_alike_are_compared() -> None:
    """Sizes that vary, and one that does not."""
    varied, mixed = {LARGE: 3, LARGE + 999: 3}, {LARGE: 3, LARGE + 999: 3, SMALL: 1}
    unseen = unseen_blocks(classes([*[mixed] * 5, *[varied] * 5, *[{LARGE: 6}] * 5]), None)
    assert (unseen[5:10] > 0).all()
    assert not unseen[10:].any()


@pytest.mark.parametrize(("missing", "is_any"), [(0.0, False), (100.0, False), (50_000.0, True)])
def test_exact_totals_tell_that_some_are_missing(missing: float, is_any: bool) -> None:  # noqa: FBT001
    unseen = unseen_blocks(classes([{LARGE: 40}, {LARGE: 20}]), missing)
    assert unseen.any() == is_any
    assert (unseen >= missing).all() == (is_any or not missing)


def test_sites_that_were_never_sampled_have_blocks_too() -> None:
    """As many as are expected of sites with a single sample."""
    sites: list[Sampled] = [{LARGE: 40}, *[{SMALL: 1}] * 6]
    assert not unseen_blocks(classes(sites), 50_000.0).any()
