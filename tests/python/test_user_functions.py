"""Functions of the user that a loader calls: for samples, batches and threads, in Python or compiled."""

import ctypes

import numpy
import pytest
import sluice
from conftest import boxes, picture

SEQUENTIAL = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)


def test_a_sample_function_changes_pixels_and_fields(raw):
    def change(sample):
        image = sample.image()
        image[...] = 255 - image
        sample.field("weight")[0] = sample.index
        sample.set_variable("boxes", sample.variable("boxes") + 1)
        sample.set_variable("caption", f"{sample.epoch}: {sample.variable('caption').decode()}")

    output = sluice.OutputOptions(made_fields=[sluice.Field.array("weight", "float32")])
    loader = sluice.Loader(raw, 10, threads=3, sample_function=change, output=output, order=SEQUENTIAL)
    for batch in loader.epoch(2):
        for row, number in enumerate(batch.samples):
            assert (batch["image"].numpy()[row] == 255 - picture(number)).all()
            assert batch["weight"].numpy()[row] == number
            assert (batch["boxes"][row] == boxes(number) + 1).all()
            assert batch["caption"][row].startswith("2: ")


def test_random_draws_of_a_function_do_not_depend_on_threads(raw):
    def note(sample):
        sample.field("drawn")[0] = sample.uniform() + sample.below(10)

    output = sluice.OutputOptions(made_fields=[sluice.Field.array("drawn", "float64")])
    drawn = []
    for threads in 1, 3:
        loader = sluice.Loader(raw, 10, threads=threads, sample_function=note, output=output)
        drawn.append([value for batch in loader for value in batch["drawn"].numpy()])
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == 50


def test_a_batch_function_changes_the_batch(raw):
    def change(batch):
        batch.image()[:] = batch.image()[::-1].copy()
        batch.field("first")[:] = batch.samples[0]

    output = sluice.OutputOptions(made_fields=[sluice.Field.array("first", "int64")])
    loader = sluice.Loader(raw, 10, batch_function=change, output=output, order=SEQUENTIAL)
    for batch in loader:
        assert (batch["image"].numpy()[0] == picture(batch.samples[-1])).all()
        assert (batch["first"].numpy() == batch.samples[0]).all()


def test_an_exception_of_a_sample_function_is_a_fault_of_the_sample(raw):
    def fail(sample):
        if sample.index == 13:
            raise ValueError("unlucky")

    with pytest.raises(sluice.Error, match="unlucky"):
        list(sluice.Loader(raw, 10, sample_function=fail))
    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(raw, 10, sample_function=fail, integrity=skip)
    assert sum(len(batch) for batch in loader) == 49
    assert "ValueError: unlucky" in loader.faults()[0].reason


def test_keeping_an_array_is_an_error(raw):
    kept = []
    with pytest.raises(sluice.Error, match="copy"):
        list(sluice.Loader(raw, 10, sample_function=lambda sample: kept.append(sample.image())))
    samples = []
    with pytest.raises(sluice.Error, match="kept its argument"):
        list(sluice.Loader(raw, 10, sample_function=samples.append))
    with pytest.raises(sluice.Error, match="until the function returns"):
        samples[0].index


def test_a_kept_array_is_never_reused_and_outlives_the_loader(raw):
    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)  # has no effect: keeping is not a sample's fault
    expected = [batch["image"].numpy().copy() for batch in sluice.Loader(raw, 10, order=SEQUENTIAL)]
    for function, place in ("sample_function", 13), ("batch_function", 1):
        kept = []

        def keep(rows):
            if rows.epoch == 0 and rows.index == place:
                kept.append(rows.image())

        loader = sluice.Loader(raw, 10, order=SEQUENTIAL, integrity=skip, ring=sluice.RingOptions(prefetch=1, hold=1),
                               **{function: keep})
        with pytest.raises(sluice.Error, match="kept its argument or an array of it"):
            list(loader)
        for epoch in 1, 2:
            for batch, images in zip(loader.epoch(epoch), expected):
                kept[0][...] = 0x55
                assert (batch["image"].numpy() == images).all()
                del batch
        loader.close()
        del loader
        kept[0][...] = 0x56
        assert (kept[0] == 0x56).all()


def test_an_exception_does_not_keep_a_sample_alive(raw):
    def inner(image):
        raise KeyError("inner")

    def fail(sample):
        if sample.index == 13:
            try:
                inner(sample.image())
            except KeyError:
                raise ValueError("outer")

    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(raw, 10, sample_function=fail, integrity=skip)
    assert sum(len(batch) for batch in loader) == 49
    assert "ValueError: outer" in loader.faults()[0].reason


def test_a_function_gets_the_border_of_a_picture(raw):
    def paint(sample):
        sample.image()[sample.border() == 1] = 200

    crop = [sluice.CenterCrop(40)]
    output = sluice.OutputOptions(fields=["image"])
    batch = next(iter(sluice.Loader(raw, 4, transform=crop, sample_function=paint, output=output)))
    images = batch["image"].numpy()
    assert (images[:, :4] == 200).all() and (images[:, :, -4:] == 200).all()


def test_a_compiled_function_changes_pixels_and_a_nonzero_result_is_a_fault(raw):
    types = [ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_uint64] * 3

    def invert(values, height, width, channels, sample, epoch, random):
        pixels = numpy.ctypeslib.as_array((ctypes.c_uint8 * (height * width * channels)).from_address(values))
        pixels[:] = 255 - pixels
        return 0 if sample != 40 else 3

    compiled = ctypes.CFUNCTYPE(ctypes.c_int, *types)(invert)
    function = sluice.NativeFunction(ctypes.cast(compiled, ctypes.c_void_p).value, compiled)
    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(raw, 10, sample_function=function, order=SEQUENTIAL, integrity=skip)
    batches = list(batch["image"].numpy().copy() for batch in loader)
    assert (batches[0][7] == 255 - picture(7)).all()
    assert sum(map(len, batches)) == 49 and "returned 3" in loader.faults()[0].reason


def test_a_function_compiled_by_numba_runs(raw):
    numba = pytest.importorskip("numba")
    of = numba.types

    @numba.cfunc(of.intc(of.CPointer(of.uint8), of.int64, of.int64, of.int64, of.uint64, of.uint64, of.uint64))
    def invert(values, height, width, channels, sample, epoch, random):
        for at in range(height * width * channels):
            values[at] = 255 - values[at]
        return 0

    function = sluice.NativeFunction(invert.address, invert)
    batch = next(iter(sluice.Loader(raw, 10, threads=3, sample_function=function, order=SEQUENTIAL)))
    assert (batch["image"].numpy()[7] == 255 - picture(7)).all()


def test_each_thread_gets_the_result_of_its_set_up(raw):
    import threading

    seen = []

    def change(sample):
        seen.append((sample.state["thread"], threading.get_ident(), sample.state["made on"]))

    def make(thread):
        return {"thread": thread, "made on": threading.get_ident()}

    assert sum(len(batch) for batch in sluice.Loader(raw, 10, threads=3, sample_function=change, thread_setup=make)) == 50
    assert {one[0] for one in seen} <= {0, 1, 2} and all(mine == made_on for _, mine, made_on in seen)

    def fail(thread):
        raise KeyError("no card")

    with pytest.raises(sluice.Error, match="no card"):
        sluice.Loader(raw, 10, thread_setup=fail)


def test_without_threads_the_caller_decodes(raw):
    import threading

    seen = set()
    loader = sluice.Loader(raw, 10, threads=0, sample_function=lambda sample: seen.add(threading.get_ident()))
    assert sum(len(batch) for batch in loader) == 50 and seen == {threading.get_ident()}


def test_a_row_equals_that_of_its_epoch(raw):
    loader = sluice.Loader(raw, 10, transform="rrc:16,flip", schedule=[(1, "center:16")])
    for epoch in 0, 1:
        for batch in loader.epoch(epoch):
            for row, number in enumerate(batch.samples):
                one = loader.row(number, epoch)
                assert len(one) == 1 and (one["image"].numpy()[0] == batch["image"].numpy()[row]).all()


class Trainer:
    """Holds a loader whose functions are its own methods: a cycle of references."""

    def __init__(self, dataset, threads):
        order = sluice.OrderOptions(batches=self.compose)
        self.loader = sluice.Loader(dataset, 10, threads=threads, sample_function=self.change, order=order,
                                    batch_function=self.change, thread_setup=self.make)
        self.epoch = iter(self.loader)
        self.batch = next(self.epoch)

    def change(self, rows):
        rows.image()[...] = 0

    def compose(self, seed, epoch):
        return [[0, 1, 2], [3]]

    def make(self, thread):
        return [self]


def freed(*references):
    """Whether garbage collections free these objects. A collection while a thread calls a function frees nothing, since
    the call holds the objects; a later collection then frees them."""
    import gc
    import time

    for _ in range(200):
        gc.collect()
        if not any(reference() for reference in references):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("threads", [0, 2])
def test_a_loader_in_a_cycle_with_its_functions_is_freed(raw, threads):
    import os
    import weakref

    before = len(os.listdir("/proc/self/task"))
    for _ in range(3):
        trainer = Trainer(raw, threads)
        loader, alive = weakref.ref(trainer.loader), weakref.ref(trainer)
        del trainer
        assert freed(loader, alive)
    assert len(os.listdir("/proc/self/task")) <= before


class Compiled:
    """Holds a loader that plays a compiled function, which keeps this object alive: a cycle of references."""

    def __init__(self, dataset):
        signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_int64] * 3, *[ctypes.c_uint64] * 3)
        self.function = signature(lambda *_: 0)
        address = ctypes.cast(self.function, ctypes.c_void_p).value
        self.loader = sluice.Loader(dataset, 10, threads=2, sample_function=sluice.NativeFunction(address, self))
        self.batch = next(iter(self.loader))


class Keeper:
    pass


def threads_here():
    import os

    return len(os.listdir("/proc/self/task"))


def test_a_loader_in_a_cycle_with_its_compiled_functions_data_is_freed(raw):
    import gc
    import weakref

    before = threads_here()
    for _ in range(3):
        compiled = Compiled(raw)
        loader, alive = weakref.ref(compiled.loader), weakref.ref(compiled)
        assert threads_here() > before
        del compiled
        assert freed(loader, alive)
        assert threads_here() <= before
    keeper = Keeper()
    keeper.function, gone = sluice.NativeFunction(8, keeper), weakref.ref(keeper)
    del keeper
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("threads", [0, 2])
def test_many_loaders_leak_no_reference(raw, threads):
    import gc
    import sys

    def change(sample):
        sample.image()[...] = 0

    dataset, step, order = sluice.Dataset(raw), sluice.HorizontalFlip(), sluice.OrderOptions(shuffle="random")
    compiled = sluice.NativeFunction(8, Keeper())
    watched = [change, dataset, step, order, compiled, raw, sluice.Loader, sluice.Epoch, sluice.Batch, sluice.Array,
               sluice.Ragged, sluice.MutableSample]

    def play():
        for number in range(30):
            loader = sluice.Loader(dataset if number % 3 else raw, 10, transform=[step], order=order, threads=threads,
                                   sample_function=change if number % 2 else None)
            epoch = iter(loader)
            kept = [batch.numpy() for batch in epoch] if number % 5 == 0 else [next(epoch)["image"].numpy()]
            with pytest.raises(sluice.Error):
                loader.row(50, 0)
            with pytest.raises(TypeError):
                sluice.Loader(dataset, 10, sample_function=compiled, thread_setup=7)
            del loader, epoch, kept
        gc.collect()
        return [sys.getrefcount(thing) for thing in watched], len(gc.get_objects())

    counts, objects = play()
    assert play() == (counts, pytest.approx(objects, abs=20))


@pytest.mark.parametrize("threads", [0, 1])
def test_a_function_cannot_wait_for_its_own_loader(raw, threads):
    calls = [lambda: next(iter(loader)), lambda: loader.row(0, 0), lambda: len(loader), lambda: loader.close()]
    for call in calls:
        loader = sluice.Loader(raw, 10, threads=threads, sample_function=lambda sample: call() and None)
        with pytest.raises(sluice.Error, match="make a second Loader"):
            next(iter(loader))
        loader.close()


def test_a_function_may_drop_its_loader(raw):
    def drop(sample):
        holder.clear()

    holder = [sluice.Loader(raw, 10, threads=1, sample_function=drop)]
    epoch = iter(holder[0])
    next(epoch)
    del epoch
    assert sum(len(batch) for batch in sluice.Loader(raw, 10)) == 50


def test_an_exception_of_a_function_is_the_cause_of_the_error(raw):
    def fail(_, *more):
        raise ValueError("unlucky")

    for threads in 0, 2:
        for options in ({"sample_function": fail}, {"batch_function": fail}, {"thread_setup": fail},
                        {"order": sluice.OrderOptions(batches=fail)}):
            with pytest.raises(sluice.Error, match="ValueError: unlucky .*test_user_functions.py, line") as raised:
                next(iter(sluice.Loader(raw, 10, threads=threads, **options)))
            assert type(raised.value.__cause__) is ValueError and raised.value.__cause__.args == ("unlucky",)


def test_an_error_names_the_functions_own_line_and_not_one_of_the_package(raw):
    def misspell(sample):
        return sample.imag

    with pytest.raises(sluice.Error, match="imag") as raised:
        next(iter(sluice.Loader(raw, 10, sample_function=misspell)))
    line = misspell.__code__.co_firstlineno + 1
    assert f"test_user_functions.py, line {line})" in str(raised.value)


def test_exceptions_that_end_a_program_pass_through(raw):
    def leave(sample):
        raise SystemExit(3)

    for threads in 0, 2:
        with pytest.raises(SystemExit) as raised:
            list(sluice.Loader(raw, 10, threads=threads, sample_function=leave))
        assert raised.value.code == 3


def test_a_value_that_a_function_returns_is_refused(raw):
    with pytest.raises(sluice.Error, match="returned a value .*in place"):
        list(sluice.Loader(raw, 10, sample_function=lambda sample: 255 - sample.image()))
    with pytest.raises(sluice.Error, match="returned a value"):
        list(sluice.Loader(raw, 10, batch_function=lambda batch: 3))


def test_a_value_that_is_not_a_function_is_refused(raw):
    for name in "sample_function", "batch_function", "thread_setup":
        with pytest.raises(TypeError, match=f"{name} is a function or None, not 3"):
            sluice.Loader(raw, 10, **{name: 3})


def test_a_sample_says_which_fields_it_has(raw):
    seen = []

    def note(sample):
        seen.append(["image" in sample, "boxes" in sample, "weight" in sample, "imag" in sample])

    output = sluice.OutputOptions(fields=["image", "boxes"])
    next(iter(sluice.Loader(raw, 10, threads=0, sample_function=note, output=output)))
    assert seen[0] == [True, True, False, False]
    stored = sluice.Dataset(raw)[3]
    assert "image" in stored and "imag" not in stored and repr(stored).startswith("Sample(3: image label")
