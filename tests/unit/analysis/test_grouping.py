from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.counters import add_counters, sum_counters
from heapglass.analysis.grouping import (
    Group,
    GroupBy,
    group_sites,
    group_threads,
    name_threads,
    sort_groups,
)
from heapglass.analysis.order import SortKey, sort_column
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, responsible_frame
from unit.fake_source import FakeSite, FakeSource, frame

FRAMES = [
    frame("malloc", module="/lib/libc.so.6"),
    frame("std::vector<int>::reserve(unsigned long)", "vector.h", 7),
    frame("load(char const*)", "load.cc", 12),
    frame("load(char const*) [clone .cold]", "load.cc", 14),
    frame("parse", "parse.c", 1, module="/usr/lib/libparse.so"),
    frame("parse", "other.c", 9),
    frame("", module="/usr/lib/libstripped.so"),
]
COUNTS = st.integers(0, 2**50)


@st.composite
def fake_sites(draw: st.DrawFn) -> FakeSite:
    chosen = draw(st.lists(st.sampled_from(FRAMES), max_size=4))
    return FakeSite(
        tuple(chosen),
        allocations=draw(COUNTS),
        frees=draw(COUNTS),
        bytes_allocated=draw(COUNTS),
        bytes_freed=draw(COUNTS),
        peak_blocks=draw(COUNTS),
        peak_bytes=draw(COUNTS),
        temporary=draw(COUNTS),
        shard=draw(st.integers(0, 3)),
    )


def sites_differ_in_shard(sites: list[FakeSite]) -> list[FakeSite]:
    return list({(site.frames, site.shard): site for site in sites}.values())


SITES = st.lists(fake_sites(), max_size=12).map(sites_differ_in_shard)


def group(source: FakeSource, by: GroupBy) -> tuple[Group, ...]:
    if by is GroupBy.THREAD:
        return group_threads(source.sites_by_shard(), source.threads, source.sites().id.tolist())
    responsible = {}
    for made in source.made_of:
        responsible[source._id(made)] = responsible_frame(NamedStack(made.frames), Plumbing())
    return group_sites(source.sites(), responsible, by)


@given(SITES, st.sampled_from(GroupBy))
def test_groups_add_up_to_the_sites(sites: list[FakeSite], by: GroupBy) -> None:
    source = FakeSource(sites)
    groups = group(source, by)
    whole = sum_counters(source.sites())
    if groups:
        assert reduce(add_counters, (one.counters for one in groups)) == whole
    else:
        assert len(source.sites()) == 0


@given(SITES, st.sampled_from([GroupBy.FUNCTION, GroupBy.FILE, GroupBy.MODULE]))
def test_every_site_is_in_exactly_one_group(sites: list[FakeSite], by: GroupBy) -> None:
    source = FakeSource(sites)
    groups = group(source, by)
    assert sorted(site for one in groups for site in one.sites) == source.sites().id.tolist()
    assert len({one.key for one in groups}) == len(groups)


@given(SITES, st.sampled_from(SortKey))
def test_sorted_groups_fall(sites: list[FakeSite], key: SortKey) -> None:
    ordered = sort_groups(group(FakeSource(sites), GroupBy.MODULE), key)
    values = [getattr(one.counters, sort_column(key)) for one in ordered]
    assert values == sorted(values, reverse=True)


def labels(by: GroupBy) -> set[tuple[str, str]]:
    source = FakeSource([FakeSite((one,), allocations=1) for one in FRAMES[2:]])
    return {(one.key.name, one.key.module) for one in group(source, by)}


def test_functions_are_folded_over_clones_and_split_by_module() -> None:
    assert labels(GroupBy.FUNCTION) == {
        ("load(char const*)", "/usr/bin/app"),
        ("parse", "/usr/lib/libparse.so"),
        ("parse", "/usr/bin/app"),
        ("", "/usr/lib/libstripped.so"),
    }


def test_files_without_names_are_split_by_module() -> None:
    assert labels(GroupBy.FILE) == {
        ("load.cc", ""),
        ("parse.c", ""),
        ("other.c", ""),
        ("", "/usr/lib/libstripped.so"),
    }


def test_modules_are_told_by_their_paths() -> None:
    names = {"/usr/bin/app", "/usr/lib/libparse.so", "/usr/lib/libstripped.so"}
    assert labels(GroupBy.MODULE) == {(name, "") for name in names}


def test_threads_split_a_site_by_who_called() -> None:
    shared = (frame("main"),)
    source = FakeSource(
        [
            FakeSite(shared, allocations=5, bytes_allocated=50),
            FakeSite(shared, frees=5, bytes_freed=50, shard=1),
        ],
        thread_names=(("app", 0), ("worker", 1), ("worker", 1)),
    )
    groups = group(source, GroupBy.THREAD)
    assert [one.key.name for one in groups] == ["app", "worker (2)"]
    assert [one.counters.live_bytes for one in groups] == [50, -50]
    assert [one.sites for one in groups] == [(2,), (2,)]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["b", "a", "b"], "b (2), a"),
        ([""], "thread 4242"),
    ],
)
def test_thread_names_are_joined_in_order_of_appearance(names: list[str], text: str) -> None:
    threads = FakeSource(thread_names=[(name, 0) for name in names]).threads
    assert name_threads(threads) == text
