"""sluice.Loader: epochs, options, resuming, faults, statistics, lists of samples, and several threads on one loader."""

import inspect
import pathlib
import re
import threading
import warnings

import numpy
import pytest
import sluice


def samples_of(batches):
    return [number for batch in batches for number in batch.samples.tolist()]


def test_each_for_loop_plays_the_next_epoch(raw):
    loader = sluice.Loader(raw, 8, seed=4)
    assert len(loader) == 7
    first, second = samples_of(loader), samples_of(loader)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second
    assert samples_of(loader.epoch(0)) == first
    assert samples_of(loader) == second
    loader.set_epoch(0)
    assert samples_of(loader) == first


def test_after_a_loop_that_is_left_the_next_loop_plays_the_next_epoch(raw):
    loader = sluice.Loader(raw, 8)
    for batch in loader:
        break
    assert [batch.epoch for batch in loader] == [1] * 7


def test_a_state_resumes_where_it_was_taken(raw):
    loader = sluice.Loader(raw, 8, seed=1)
    epoch = loader.epoch(3)
    for _ in range(2):
        next(epoch)
    state = loader.state()
    rest = samples_of(epoch)
    again = sluice.Loader(raw, 8, seed=1, resume_from=state)
    assert again.state_epoch == 3
    assert samples_of(again) == rest
    with pytest.raises(sluice.Error) as raised:
        sluice.Loader(raw, 8, resume_from="nonsense")
    assert raised.value.code == "invalid argument"


@pytest.mark.parametrize("page", ["README.md", "reader/python/README.md", "samples/guides/resuming.md"])
def test_the_loop_of_a_page_plays_what_is_left_of_a_resumed_training(raw, page):
    """The loop over two epochs of 7 batches, after 9 batches."""
    text = (pathlib.Path(__file__).parents[2] / page).read_text()
    loop = re.search(r"^for \w+ in range\(\w+\.state_epoch,.*\n(?: +.*\n)+", text, re.M)[0]
    before = sluice.Loader(raw, 8)
    samples_of(before)
    epoch = before.epoch(1)
    next(epoch), next(epoch)
    loader = sluice.Loader(raw, 8, resume_from=before.state())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(loop, {"loader": loader, "again": loader, "played": [], "EPOCHS": 2})
    assert (loader.stats().batches, loader.state_epoch) == (5, 2)


def test_a_finished_epoch_that_a_resumed_loader_plays_again_gives_a_warning(raw):
    before = sluice.Loader(raw, 8)
    next(before.epoch(2))
    loader = sluice.Loader(raw, 8, resume_from=before.state())
    with pytest.warns(UserWarning, match="resumes in epoch 2, and now plays epoch 0 .* loader.state_epoch"):
        next(loader.epoch(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [sum(len(batch) for batch in loader.epoch(number)) for number in range(3)] == [50, 50, 42]


def test_ranks_share_an_epoch(raw):
    played = []
    for rank in range(2):
        ranks = sluice.RankOptions(rank=rank, world_size=2, last_batch=sluice.LastBatch.PAD)
        loader = sluice.Loader(raw, 5, ranks=ranks)
        assert loader.rank == (rank, 2)
        played += samples_of(loader)
    assert sorted(played) == list(range(50))


def test_lists_of_samples_are_played(raw):
    order = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL, samples=sluice.SampleList.of([7, 3, 7]))
    assert samples_of(sluice.Loader(raw, 2, order=order)) == [7, 3, 7]
    balanced = sluice.SampleList.class_balanced(sluice.Dataset(raw), 5)
    assert len(balanced) == 15


def test_views_are_fields_of_the_batch(jpeg):
    views = [sluice.View("small", [sluice.RandomResizedCrop(16)]), sluice.View("grey", "rrc:24,gray")]
    batch = next(iter(sluice.Loader(jpeg, 4, transform="center:32", views=views)))
    assert [batch[name].shape[1] for name in ("image", "small", "grey")] == [32, 16, 24]


@pytest.mark.parametrize("storage", [sluice.Direct(), sluice.Locked()])
def test_batches_do_not_depend_on_the_storage(raw, storage):
    plain, other = sluice.Loader(raw, 8), sluice.Loader(raw, 8, storage=storage)
    for a, b in zip(plain, other):
        assert a["image"].numpy().tobytes() == b["image"].numpy().tobytes()


def test_errors_have_the_codes_of_cpp(raw, tmp_path):
    with pytest.raises(sluice.Error) as raised:
        sluice.Loader(tmp_path / "nothing")
    assert raised.value.code == "not found" and str(tmp_path) in raised.value.file
    with pytest.raises(sluice.Error, match="RandomResizedCrop"):
        sluice.Loader(raw, transform=[sluice.RandomResizedCrop(0)])
    with pytest.raises(sluice.Error, match="is not a step"):
        sluice.Loader(raw, transform=[3])
    with pytest.raises(sluice.Error, match="cuda:N"):
        sluice.Loader(raw, device="tpu")
    with pytest.raises(TypeError):
        sluice.Loader(raw, prefetch=3)
    assert issubclass(sluice.Error, RuntimeError)


def test_damaged_samples_are_faults(raw, tmp_path):
    import shutil

    folder = tmp_path / "damaged"
    shutil.copytree(raw, folder)
    shard = next(folder.glob("*.sluice"))
    content = bytearray(shard.read_bytes())
    at = content.find(bytes(sluice.Dataset(raw)[20].payload()))
    content[at + 100] ^= 1
    shard.write_bytes(content)
    with pytest.raises(sluice.Error, match="checksum"):
        samples_of(sluice.Loader(folder, 8))
    integrity = sluice.IntegrityOptions(verify=sluice.Verify.ALWAYS, on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(folder, 8, integrity=integrity)
    assert sorted(samples_of(loader)) == [n for n in range(50) if n != 20]
    (fault,) = loader.faults()
    assert fault.sample == 20 and fault.key == "folder/20.png" and "checksum" in fault.reason


def test_stats_count_what_was_played(raw):
    with sluice.Loader(raw, 8) as loader:
        before = loader.stats()
        samples_of(loader)
        stats = loader.stats()
        assert stats.since(before).samples == 50 and stats.batches == 7
        assert stats.bound == sluice.Bound.TOO_EARLY and "fewer than 8" in stats.verdict
        assert stats.seconds > 0 and stats.payload_bytes >= 50 * 32 * 32 * 3  # more if samples were read ahead
        assert loader.memory()["own"] > loader.memory()["slots"] > 0
        assert "32x32" in loader.describe()
    with pytest.raises(sluice.Error, match="closed"):
        next(iter(loader))


def test_classes_have_docstrings_and_the_loader_lists_its_options():
    for name, value in vars(sluice).items():
        if inspect.isclass(value) and value.__module__.startswith("sluice") and not name.startswith("_"):
            assert value.__doc__, name
    assert "batch_size: int = 256" in sluice.Loader.__init__.__doc__


def test_batches_are_composed_by_a_function(raw):
    def compose(seed, epoch):
        return [[seed, 3, 3], numpy.arange(epoch + 1), (49,)]

    loader = sluice.Loader(raw, 10, seed=7, order=sluice.OrderOptions(batches=compose))
    for epoch in range(3):
        assert [list(batch.samples) for batch in loader.epoch(epoch)] == [[7, 3, 3], list(range(epoch + 1)), [49]]
    for wrong, words in ((lambda seed, epoch: [[50]], "batch 0.*sample number 50"), (lambda seed, epoch: 1 / 0, "division by zero"),
                         (lambda seed, epoch: [[-1]], "from 0")):
        with pytest.raises(sluice.Error, match=words):
            sluice.Loader(raw, 10, order=sluice.OrderOptions(batches=wrong))


def test_an_iterator_gets_an_error_after_another_epoch_was_begun(raw):
    loader = sluice.Loader(raw, 8)
    first = iter(loader)
    next(first)
    next(iter(loader))
    with pytest.raises(sluice.Error, match="another epoch of this Loader was begun"):
        next(first)
    with pytest.raises(sluice.Error, match="another epoch"):
        list(zip(loader, loader))
    whole = iter(loader)
    for _ in range(7):
        next(whole)
    next(iter(loader))
    assert next(whole, "over") == "over" and next(whole, "over") == "over"


def test_an_epoch_has_a_length(raw):
    loader = sluice.Loader(raw, 8, order=sluice.OrderOptions(batches=lambda seed, epoch: [[0]] * (epoch + 2)))
    assert len(loader.epoch(3)) == 5 == len(list(loader.epoch(3)))


def test_an_epoch_that_was_played_to_its_end_says_how_to_play_it_again(raw):
    loader = sluice.Loader(raw, 10)
    epoch = loader.epoch(3)
    for _ in epoch:
        break
    assert sum(1 for _ in epoch) == len(epoch) - 1
    for again in lambda: list(epoch), lambda: next(zip(epoch, epoch)):
        with pytest.raises(sluice.Error, match=r"epoch 3 has been played to its end.*call loader.epoch\(3\) again"):
            again()
    assert next(epoch, None) is None
    other = []  # a thread that comes after the end of an iterator that it shares
    thread = threading.Thread(target=lambda: other.extend(["no batch", *epoch]))
    thread.start()
    thread.join()
    assert other == ["no batch"]
    assert sum(1 for _ in loader.epoch(3)) == len(epoch)


def test_a_batch_lists_its_fields_when_one_is_missing(raw):
    batch = next(iter(sluice.Loader(raw, 8)))
    with pytest.raises(KeyError, match='no field "imag"; the fields are image, label, pose'):
        batch["imag"]


@pytest.mark.parametrize("schedule", [{1: "rrc:32"}, [1], [("1", "rrc:32")], [(-1, "rrc:32")], 3])
def test_a_schedule_in_another_form_is_refused(raw, schedule):
    with pytest.raises(TypeError, match=r"schedule is a list of \(epoch, steps\)"):
        sluice.Loader(raw, 8, schedule=schedule)


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_on_one_iterator_get_each_sample_once_or_an_error(raw, threads):
    for _ in range(100):
        loader = sluice.Loader(raw, 1, threads=2, timeout=60, ring=sluice.RingOptions(hold=2 * threads))
        epoch, seen, refused, go = iter(loader), [], [], threading.Barrier(threads)

        def play():
            go.wait()
            try:
                for batch in epoch:
                    seen.extend(batch.samples.tolist())
            except sluice.Error as error:
                refused.append(str(error))

        playing = [threading.Thread(target=play) for _ in range(threads)]
        for one in playing:
            one.start()
        for one in playing:
            one.join()
        assert len(refused) < threads and all("another thread" in text for text in refused)
        assert sorted(seen) == list(range(50))


def test_if_two_epochs_begin_at_once_one_is_complete_and_the_other_may_get_an_error(raw):
    for _ in range(100):
        loader = sluice.Loader(raw, 5, threads=2, ring=sluice.RingOptions(hold=4))
        ends, go = [], threading.Barrier(2)

        def play(number):
            go.wait()
            try:
                ends.append(sum(len(batch) for batch in loader.epoch(number)))
            except sluice.Error as error:
                ends.append(str(error))

        playing = [threading.Thread(target=play, args=(number,)) for number in range(2)]
        for one in playing:
            one.start()
        for one in playing:
            one.join()
        errors = [end for end in ends if isinstance(end, str)]
        assert all("another epoch" in error for error in errors)
        assert [end for end in ends if isinstance(end, int)] == [50] * (2 - len(errors)) and len(errors) < 2


NUMBERS = [
    [4, 1, 7], (4, 1, 7), iter([4, 1, 7]), numpy.array([4, 1, 7]), numpy.array([4, 1, 7], "uint8"),
    numpy.array([[4, 1, 7]])[0, :], [numpy.int64(4), numpy.int32(1), 7],
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=lambda given: type(given).__name__)
def test_a_list_of_samples_accepts_any_kind_of_numbers(raw, numbers):
    order = sluice.OrderOptions(samples=sluice.SampleList.of(numbers))
    assert sorted(samples_of(sluice.Loader(raw, 10, order=order))) == [1, 4, 7]


def test_a_list_of_samples_accepts_ranges_slices_and_tensors(raw):
    torch = pytest.importorskip("torch")
    for given, wanted in [(range(3, 9, 2), [3, 5, 7]), (slice(2, 5), [2, 3, 4]), (slice(4), [0, 1, 2, 3]),
                          (torch.tensor([5, 6]), [5, 6]), ([torch.tensor(5)], [5])]:
        order = sluice.OrderOptions(samples=sluice.SampleList.of(given))
        assert sorted(samples_of(sluice.Loader(raw, 10, order=order))) == wanted


def masks():
    yield [True, False, True]
    yield numpy.array([True, False])
    yield list(numpy.array([True, False]))
    yield numpy.array([True])[0]
    yield True
    try:
        import torch

        yield torch.tensor([True, False])
        yield list(torch.tensor([True, False]))
    except ImportError:
        pass


@pytest.mark.parametrize("mask", list(masks()), ids=lambda given: type(given).__name__)
def test_a_mask_is_not_accepted_as_the_samples_0_and_1(raw, mask):
    with pytest.raises(TypeError, match=r"SampleList.of\(\) .* truth values; .* numpy.flatnonzero\(mask\)"):
        sluice.SampleList.of(mask)
    with pytest.raises(TypeError, match=r"numpy.flatnonzero\(mask\)"):
        sluice.Dataset(raw)[mask]
    order = sluice.OrderOptions(batches=lambda seed, epoch: [mask])
    with pytest.raises(sluice.Error, match=r"truth values; .* numpy.flatnonzero\(mask\)"):
        list(sluice.Loader(raw, 10, order=order))


def test_a_mask_of_integers_is_refused_by_the_loader(raw):
    for mask in [number % 2 for number in range(50)], numpy.arange(50, dtype=numpy.uint8) % 2:
        with pytest.raises(sluice.Error, match=r"as in a mask; SampleList.of takes .* numpy.flatnonzero\(mask\)"):
            sluice.Loader(raw, 10, order=sluice.OrderOptions(samples=sluice.SampleList.of(mask)))


@pytest.mark.parametrize("given, words", [
    (-1, "not -1"), ([3, -1], "not -1"), (numpy.array([3, -1]), "not -1"),
    ([1.5], r"not 1\.5"), (numpy.array([1.5]), "an array of float64"), ("12", "not '12'"),
    (numpy.zeros((2, 2), int), "2 dimensions"), (slice(3, None), "a slice with an end"), ([2**80], "not 12"),
    (None, "not None"), (slice(-3, 2), "not -3"),
])
def test_values_that_are_not_lists_of_numbers_are_refused(given, words):
    with pytest.raises(TypeError, match=words):
        sluice.SampleList.of(given)


def test_a_dataset_is_indexed_by_a_number_or_a_slice(raw):
    dataset = sluice.Dataset(raw)
    assert [one.index for one in dataset[3:9:2]] == [3, 5, 7] and [one.index for one in dataset[-2:]] == [48, 49]
    assert dataset[numpy.int64(7)].index == 7 and dataset[60:] == []
    for given, words in [("label", r"dataset.column\('label'\)"), ([1, 2], r"\[dataset\[i\] for i in numbers\]"),
                         (numpy.array([1]), r"\[dataset\[i\] for i in numbers\]"), (1.5, "not by 1.5")]:
        with pytest.raises(TypeError, match=words):
            dataset[given]
