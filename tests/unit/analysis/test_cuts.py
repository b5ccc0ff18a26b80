from __future__ import annotations

from heapglass.analysis.cuts import Cut, find_cuts
from heapglass.model import FrameAddress, Module, Pseudo, Stack
from unit.fake_source import FakeSite, FakeSource, frame

APP, PLUGIN = "/usr/bin/app", "/opt/plugin.so"


class Cutting(FakeSource):
    """Stacks whose frames lie in the modules that the test says, outermost last."""

    where: tuple[tuple[int, ...], ...] = ()

    @property
    def modules(self) -> tuple[Module, ...]:  # type: ignore[override]
        main = super().modules[0]
        plugin = Module(1, PLUGIN, 0x10000, 0x20000, 0, "", 0, 0, is_main=False, is_vdso=False)
        return main, plugin

    def stack(self, site: int) -> Stack:
        cut = super().stack(site).cut
        return Stack(tuple(FrameAddress(9, module) for module in self.where[site - 2]), cut)


def cutting(*sites: tuple[Pseudo | None, int, tuple[int, ...]]) -> Cutting:
    made = [
        FakeSite((frame(f"f{number}"),), allocations=allocations, cut=cut)
        for number, (cut, allocations, _) in enumerate(sites)
    ]
    source = Cutting(made)
    source.where = tuple(modules for _, _, modules in sites)
    return source


def test_the_outermost_known_frame_answers_for_the_cut() -> None:
    source = cutting(
        (Pseudo.NO_RULE, 5, (0, 1)),
        (Pseudo.NO_RULE, 7, (0, 0, 1)),
        (Pseudo.NO_RULE, 20, (1, 0)),
        (None, 1_000, (1, 0)),
    )
    assert find_cuts(source, source.sites()) == (
        Cut(Pseudo.NO_RULE, APP, 1, 20),
        Cut(Pseudo.NO_RULE, PLUGIN, 2, 12),
    )


def test_code_in_no_file_has_no_name() -> None:
    source = cutting((Pseudo.BOUNDS, 3, (0, -1)), (Pseudo.NO_RULE, 1, ()))
    assert {cut.module for cut in find_cuts(source, source.sites())} == {""}


def test_what_the_recorder_cut_itself_is_nobodys_fault() -> None:
    source = cutting((Pseudo.DEPTH, 3, (0,)), (Pseudo.OTHER, 3, ()))
    assert find_cuts(source, source.sites()) == ()
