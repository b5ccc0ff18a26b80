from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, responsible_frame
from heapglass.model import Frame
from heapglass.views.responsible import find_responsible_frames
from unit.fake_source import FakeNames, FakeSite, FakeSource, frame

OWN = [frame(f"own{number}", "a.c", number) for number in range(3)]
PLUMBING = [frame(f"std::f{number}()", "b.h", number) for number in range(12)]
FRAMES = st.lists(st.sampled_from(PLUMBING), max_size=20)


@given(st.lists(st.tuples(FRAMES, st.lists(st.sampled_from(OWN), max_size=2)), max_size=6))
def test_the_same_frame_as_in_the_whole_stack(made: list[tuple[list[Frame], list[Frame]]]) -> None:
    stacks = {tuple(inner + outer) for inner, outer in made}
    heap = FakeSource([FakeSite(frames, allocations=1) for frames in stacks])
    sites = heap.sites().id.tolist()
    found = find_responsible_frames(heap, FakeNames(heap), sites, Plumbing())
    assert found.keys() == set(sites)
    for one in heap.made_of:
        assert found[heap._id(one)] == responsible_frame(NamedStack(one.frames), Plumbing())


def test_outer_frames_are_not_named_for_nothing() -> None:
    deep = (OWN[0], *(frame(f"outer{number}") for number in range(40)))
    heap = FakeSource([FakeSite(deep, allocations=1)])
    names = FakeNames(heap)
    assert find_responsible_frames(heap, names, [2], Plumbing()) == {2: OWN[0]}
    assert sum(map(len, names.asked)) < len(deep)


def test_an_inlined_container_leads_to_the_function_it_is_in() -> None:
    inlined = replace(PLUMBING[0], is_inlined=True)
    heap = FakeSource([FakeSite((inlined, OWN[1]), allocations=1)])
    assert find_responsible_frames(heap, FakeNames(heap), [2], Plumbing()) == {2: OWN[1]}
