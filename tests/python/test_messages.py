"""The messages of wrong calls use Python's words."""

import pytest
import sluice
from sluice import _command


@pytest.mark.parametrize("options, words", [
    ({"batch_sise": 3}, r"Loader\(\) has no option 'batch_sise'; did you mean 'batch_size'\?"),
    ({"shuffle": True}, r"no option 'shuffle'; it is order=sluice.OrderOptions\(shuffle="),
    ({"drop_last": True}, r"it is ranks=sluice.RankOptions\(last_batch=sluice.LastBatch.DROP\)"),
    ({"num_workers": 2}, r"it is threads="),
    ({"batch_size": -1}, r"Loader\(\): batch_size takes a whole number from 0, not -1$"),
    ({"batch_size": "8"}, r"batch_size takes a whole number from 0, not '8'$"),
    ({"storage": "direct"}, r"storage takes sluice.Mapped \| sluice.Locked \| sluice.Direct, not 'direct'$"),
    ({"order": sluice.Shuffle.RANDOM}, r"order takes sluice.OrderOptions, not"),
    ({"views": [3]}, r"views takes Sequence\[sluice.View\], not \[3\]$"),
])
def test_a_wrong_option_of_the_loader_is_named(raw, options, words):
    with pytest.raises(TypeError, match=words):
        sluice.Loader(raw, **options)


@pytest.mark.parametrize("call, words", [
    (lambda raw: sluice.convert(raw, "x", qualty=3), r"convert\(\) has no option 'qualty'; did you mean 'quality'\?"),
    (lambda raw: sluice.convert(raw), r"convert\(\) needs 'dataset'"),
    (lambda raw: sluice.Loader(raw).epoch(-1), r"Loader.epoch\(\): epoch takes a whole number from 0, not -1$"),
    (lambda raw: sluice.Loader(raw, 8, 4), r"Loader\(\) takes 2 arguments without a keyword, and 3 are given"),
    (lambda raw: sluice.RandomResizedCrop(224, scale=3), r"RandomResizedCrop\(\): scale takes tuple\[float, float\], not 3$"),
    (lambda raw: sluice.RingOptions(holds=3), r"RingOptions\(\) has no option 'holds'; did you mean 'hold'\?"),
    (lambda raw: sluice.Stage(), r"Stage\(\) needs 'folder': str"),
])
def test_a_wrong_argument_of_others_is_named(raw, call, words):
    with pytest.raises(TypeError, match=words):
        call(raw)


def test_options_of_groups_in_groups_are_named_as_python_gives_them(raw):
    words = r"output=sluice.OutputOptions\(boxes=sluice.BoxRule\(min_visible=...\)\) must be 0 to 1$"
    with pytest.raises(sluice.Error, match=words):
        sluice.Loader(raw, output=sluice.OutputOptions(boxes=sluice.BoxRule(min_visible=2)))


def test_arguments_are_still_converted(raw):
    assert len(next(iter(sluice.Loader(raw, batch_size=4, transform=None, schedule=None, device=None, timeout=3, views=())))) == 4
    sluice.RandomResizedCrop(224, scale=(1, 1))


def test_messages_use_names_of_python(raw, jpeg):
    loader = sluice.Loader(raw, 4, ring=sluice.RingOptions(hold=1, prefetch=1))
    held = []
    with pytest.raises(sluice.Error, match=r"or raise ring=sluice.RingOptions\(hold=\.\.\.\)$"):
        for batch in loader:
            held.append(batch)
    with pytest.raises(sluice.Error, match=r"that Loader.state\(\) gave"):
        sluice.Loader(raw, resume_from="nonsense")
    with pytest.raises(sluice.Error, match=r"output=sluice.OutputOptions\(channels=\.\.\.\) must be 0, 1 or 3"):
        sluice.Loader(raw, output=sluice.OutputOptions(channels=7))
    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(raw, 10, sample_function=lambda sample: 1 / 0, integrity=skip)
    with pytest.raises(sluice.Error, match=r"integrity=sluice.IntegrityOptions\(on_fault=sluice.OnFault.SKIP\) .*Loader.faults\(\)"):
        list(loader)
    assert loader.faults()[0].reason.startswith("sample_function raised: ZeroDivisionError")


def test_the_verdict_names_options_as_in_python(raw):
    loader = sluice.Loader(raw, 5, ring=sluice.RingOptions(prefetch=1), threads=2)
    for _ in loader:
        pass
    stats = loader.stats()
    assert "::" not in stats.verdict and repr(stats) == stats.verdict


@pytest.mark.parametrize("call", [
    lambda raw: sluice.Loader(raw, 8, transform="\ud800"),
    lambda raw: sluice.Loader(raw, 8, device="\ud800"),
    lambda raw: sluice.Loader(raw, 8, schedule="\ud800"),
    lambda raw: sluice.Loader(raw, 8, transform=["\ud800"]),
    lambda raw: sluice.Loader(raw, 8, schedule=["\ud800"]),
    lambda raw: sluice.Loader(raw, 8, sample_function="\ud800"),
    lambda raw: sluice.OutputOptions(layout="\ud800"),
    lambda raw: sluice.Mixture([3]),
    lambda raw: sluice.Mixture([(raw, "\ud800")]),
])
def test_what_is_no_text_or_number_is_shown_in_a_sentence(raw, call):
    with pytest.raises((sluice.Error, TypeError)) as raised:
        call(raw)
    assert "bad_cast" not in str(raised.value) and ("ud800" in str(raised.value) or "not 3" in str(raised.value))


@pytest.mark.parametrize("run, option", [
    (_command.sluice, "SLUICE_BUILD_TOOLS"),
    (_command.sluice_bench, "SLUICE_BUILD_BENCH"),
])
def test_a_command_that_was_not_built_says_how_to_get_it(tmp_path, monkeypatch, run, option):
    monkeypatch.setattr(_command, "__file__", str(tmp_path / "_command.py"))
    with pytest.raises(SystemExit, match=rf"not built with it.*\n.*pip install .*-C cmake\.define\.{option}=ON"):
        run()
