"""One object used by several threads at once. The tests mean most under free-threaded Python, where nothing but the
package's own locks keeps the threads apart; they pass with a GIL, too."""

import gc
import itertools
import os
import pickle
import queue
import subprocess
import sys
import sysconfig
import threading
import time

import numpy
import pytest
import sluice
from conftest import boxes, caption, picture

WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def together(*jobs):
    """Runs the functions at once, each in a thread of its own. Returns their results; raises what one raised."""
    start, results, raised = threading.Barrier(len(jobs)), [None] * len(jobs), []

    def run(at):
        try:
            start.wait()
            results[at] = jobs[at]()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(at,), daemon=True) for at in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if raised:
        raise raised[0]
    return results


def until(done, job):
    """A function that calls `job` until the event is set."""
    def run():
        while not done.is_set():
            job()
            time.sleep(0.0002)  # with a GIL, lets the others go on
    return run


def then(done, job):
    """A function that calls `job`, then sets the event."""
    def run():
        try:
            return job()
        finally:
            done.set()
    return run


@pytest.mark.skipif(not WITHOUT_GIL, reason="this Python has a GIL")
def test_importing_the_package_leaves_the_gil_off():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    code = "import sys, sluice; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], env=environment, check=True)


def test_threads_that_share_an_iterator_get_each_batch_once(raw):
    for epoch in range(5):
        batches = sluice.Loader(raw, 2, threads=3, ring=sluice.RingOptions(hold=5)).epoch(epoch)

        def take():
            samples = []
            while True:
                try:
                    samples += next(batches).samples.tolist()
                except StopIteration:
                    return samples
                except sluice.Error as error:
                    assert "another thread is waiting" in str(error)

        taken = together(*[take] * 4)
        assert sorted(sum(taken, [])) == list(range(50))


def test_threads_that_begin_epochs_of_one_loader_end_each_others_epochs(raw):
    loader = sluice.Loader(raw, 5, threads=2, ring=sluice.RingOptions(hold=9))

    def play():
        for _ in range(20):
            try:
                for batch in loader:
                    assert len(batch) == 5
            except sluice.Error as error:
                assert "another epoch of this Loader was begun" in str(error)

    together(*[play] * 4)
    assert [batch.epoch for batch in loader] == [80] * 10
    assert sorted(sum((batch.samples.tolist() for batch in loader.epoch(3)), [])) == list(range(50))


def test_a_loader_is_closed_while_other_threads_use_it(raw):
    function = lambda sample: sample.image().fill(7)  # noqa: E731
    for turn in range(10):
        loader = sluice.Loader(raw, 3, threads=2, seed=turn, sample_function=function)
        playing = threading.Event()

        def play():
            for epoch in itertools.count():
                for batch in loader.epoch(epoch):
                    assert (batch["image"].numpy() == 7).all()
                    playing.set()

        def until_closed(job):
            def run():
                with pytest.raises(sluice.Error, match="the Loader is closed"):
                    while True:
                        job()
                        time.sleep(0.0002)
            return run

        def look():
            assert loader.stats().threads == 2 and loader.rank == (0, 1)
            loader.describe(), loader.faults(), loader.memory(), loader.state(), len(loader)

        def close():
            playing.wait(60)
            loader.close()

        together(until_closed(play), until_closed(look), until_closed(lambda: loader.row(4, 0)), close, close)
        assert repr(loader) == "Loader (closed)"


def test_loaders_are_made_and_dropped_while_another_thread_collects_garbage(raw):
    done = threading.Event()

    class Function:
        def __call__(self, sample):
            sample.image()[0] = 1

    def play():
        for _ in range(15):
            function = Function()
            function.loader = loader = sluice.Loader(raw, 4, threads=2, sample_function=function)  # a cycle
            walk = iter(loader)
            batch = next(walk)
            del loader, function, walk
            assert (batch["image"].numpy()[:, 0] == 1).all()

    together(then(done, lambda: together(play, play, play)), until(done, gc.collect))


def test_branches_of_a_tee_play_in_threads_while_others_read_the_figures(raw):
    loader = sluice.Loader(raw, 5, threads=2, ring=sluice.RingOptions(hold=3))
    done = threading.Event()

    def play(branch):
        return [(batch.epoch, batch.index, int(batch["image"].numpy().sum())) for _ in range(4) for batch in branch]

    branches = loader.tee(4, apart=2)
    play_all = lambda: together(*[lambda b=b: play(b) for b in branches])  # noqa: E731
    played, _, _ = together(then(done, play_all), until(done, loader.stats), until(done, lambda: repr(loader)))
    assert len(played[0]) == 40 and all(one == played[0] for one in played)


def test_batches_are_read_and_dropped_by_other_threads(raw):
    order = sluice.OrderOptions(shuffle="sequential")
    loader = sluice.Loader(raw, 5, threads=2, order=order, ring=sluice.RingOptions(hold=8))
    handed = queue.Queue(3)

    def give():
        for epoch in range(6):
            for batch in loader.epoch(epoch):
                handed.put((batch, batch["image"], batch["boxes"]))
        for _ in range(3):
            handed.put(None)

    def read():
        count = 0
        while (given := handed.get()) is not None:
            batch, images, ragged = given
            del given
            pixels = images.numpy()
            for row, number in enumerate(batch.samples.tolist()):
                assert numpy.array_equal(pixels[row], picture(number))
                assert numpy.array_equal(ragged[row], boxes(number))
                assert batch["caption"][row] == caption(number)
            count += len(batch)
            del batch, images, ragged, pixels
        return count

    assert sum(together(give, read, read, read)[1:]) == 300


def test_threads_read_one_batch(raw):
    batch = next(iter(sluice.Loader(raw, 25, order=sluice.OrderOptions(shuffle="sequential"))))

    def read():
        for _ in range(30):
            assert numpy.array_equal(numpy.from_dlpack(batch["image"])[3], picture(3))
            assert batch.numpy()["label"].tolist() == [number % 3 for number in range(25)]
            assert batch["boxes"].padded()[1].tolist() == [number % 3 for number in range(25)]
            assert batch.has("caption").sum() == 20 and repr(batch)

    together(*[read] * 4)


def test_threads_read_one_dataset(raw):
    dataset = sluice.Dataset(raw)
    one = dataset[7]

    def read(begin):
        def run():
            for number in list(range(begin, 50)) + list(range(begin)):
                sample = dataset[number]
                assert numpy.array_equal(sample.array("image"), picture(number))
                assert sample["label"] == number % 3 and sample.key == f"folder/{number}.png"
                assert dataset.find(sample.key) == number
                assert numpy.array_equal(one.array("image"), picture(7)) and one["caption"] == caption(7)
            assert dataset.column("label").tolist() == [number % 3 for number in range(50)]
            assert len(pickle.loads(pickle.dumps(dataset))[10:20]) == 10
        return run

    together(*map(read, (0, 10, 20, 30)))


def test_threads_add_to_one_writer(tmp_path):
    fields = [sluice.Field.image(), sluice.Field.label()]
    writer = sluice.Writer(tmp_path / "dataset", fields, image="raw", block_samples=4)
    done = threading.Event()

    def add(begin):
        def run():
            for number in range(begin, begin + 40):
                writer.add(str(number), image=picture(number), label=number)
        return run

    together(then(done, lambda: together(*map(add, (0, 40, 80)))), until(done, lambda: len(writer)))
    outcomes = together(*[lambda: outcome_of(writer.finish)] * 2)
    assert outcomes.count(None) >= 1 and len(writer) == 120
    dataset = sluice.Dataset(tmp_path / "dataset")
    assert sorted(dataset.column("label").tolist()) == list(range(120))
    for sample in dataset:
        assert numpy.array_equal(sample.array("image"), picture(sample["label"])) and sample.key == str(sample["label"])


def outcome_of(job):
    """The message of the Error that the function raises, or None."""
    try:
        job()
    except sluice.Error as error:
        return str(error)


def test_threads_use_one_preprocess(raw):
    preprocess = sluice.Preprocess(sluice.Loader(raw, 1, transform="short:40,center:32").pipeline(), threads=2)
    pictures = [picture(number).repeat(2, 0).repeat(2, 1) for number in range(8)]
    wanted = [preprocess(one).copy() for one in pictures]

    def use():
        for _ in range(10):
            for given, row in zip(pictures, wanted):
                assert numpy.array_equal(preprocess(given), row)
            rows, faults = preprocess.rows(pictures)
            assert numpy.array_equal(rows, wanted) and not faults
            assert preprocess.shape == (32, 32, 3) and preprocess.pipeline in repr(preprocess)

    together(*[use] * 4)


def test_functions_run_on_all_threads_with_a_state_for_each(raw):
    states = []

    def setup(thread):
        states.append({"thread": thread, "owner": None, "calls": 0})
        return states[-1]

    def function(sample):
        state = sample.state
        state["owner"] = state["owner"] or threading.get_ident()
        assert state["owner"] == threading.get_ident()  # a thread's state is used by this thread alone
        state["calls"] += 1
        sample.image()[...] = sample.index % 256
        sample.set_variable("boxes", numpy.full((sample.index % 4, 4), sample.index, numpy.float32))

    loader = sluice.Loader(raw, 5, threads=4, thread_setup=setup, sample_function=function)
    for epoch in range(6):
        for batch in loader.epoch(epoch):
            for row, number in enumerate(batch.samples.tolist()):
                assert (batch["image"].numpy()[row] == number).all()
                assert batch["boxes"][row].tolist() == [[number] * 4] * (number % 4)
    loader.close()
    assert sorted(state["thread"] for state in states) == list(range(4))
    assert sum(state["calls"] for state in states) >= 300  # and those of batches that were read ahead


def test_exceptions_of_functions_on_many_threads_are_the_causes_of_the_errors(raw):
    def function(sample):
        if sample.index % 2:
            raise ValueError(f"odd: {sample.index}.")

    loader = sluice.Loader(raw, 1, threads=4, sample_function=function,
                           order=sluice.OrderOptions(shuffle="sequential"))
    done = threading.Event()

    def play():
        played, failed = [], []
        for epoch in range(4):
            batches = loader.epoch(epoch)
            while True:
                try:
                    played += next(batches).samples.tolist()
                except StopIteration:
                    break
                except sluice.Error as error:
                    assert isinstance(error.__cause__, ValueError)
                    failed.append(int(str(error.__cause__)[5:-1]))
        return played, failed

    (played, failed), _ = together(then(done, play), until(done, loader.faults))
    assert played == [number for number in range(50) if number % 2 == 0] * 4
    assert failed == [number for number in range(50) if number % 2] * 4


def test_a_function_hands_its_sample_to_another_thread_that_uses_it_later(raw):
    handed = queue.SimpleQueue()

    def use():
        ended = 0
        while (sample := handed.get()) is not None:
            try:
                while True:
                    time.sleep(0)
                    sample.image(), sample.uniform(), "label" in sample
                    sample.set_variable("boxes", sample.variable("boxes"))
            except sluice.Error as error:
                assert "is valid until the function returns" in str(error)
                ended += 1
        return ended

    def play():
        loader = sluice.Loader(raw, 5, threads=2, sample_function=lambda sample: handed.put(sample))
        for epoch in range(5):
            with pytest.raises(sluice.Error, match="kept its argument"):
                list(loader.epoch(epoch))
        loader.close()
        handed.put(None)

    assert together(use, play)[0] >= 5


# By object: functions that set one of its attributes to the number'th of two values.
def settings():
    output, view = sluice.OutputOptions(), sluice.View("second", "rrc:32")
    source, order, normalize = sluice.ConvertSource("photos"), sluice.OrderOptions(), sluice.Normalize()
    functions = [lambda seed, epoch: [[1]], lambda seed, epoch: [[2]]]
    texts = [[f"{letter}{number}" * 20 for number in range(30)] for letter in "ab"]
    return {
        "output": (output, lambda n: setattr(output, "fields", texts[n])),
        "a part": (output, lambda n: setattr(output.boxes, "min_visible", [0.25, 0.5][n])),
        "a whole part": (output, lambda n: setattr(output, "boxes", sluice.BoxRule(min_side=n + 1))),
        "dict": (output, lambda n: setattr(output, "mask_fill", dict.fromkeys(texts[n], 3))),
        "steps": (view, lambda n: setattr(view, "transform", ["rrc:24,flip,solarize", "rrc:32"][n])),
        "floats": (normalize, lambda n: setattr(normalize, "mean", [[0.5], [0.25, 0.5, 0.75]][n])),
        "source": (source, lambda n: setattr(source.label, "classes", texts[n])),
        "function": (order, lambda n: setattr(order, "batches", functions[n])),
    }


def shown_as(shared):
    return repr(shared.label) if isinstance(shared, sluice.ConvertSource) else repr(shared)


@pytest.mark.parametrize("which", settings())
def test_an_attribute_is_set_while_other_threads_read_and_copy_the_object(which):
    shared, change = settings()[which]
    shown = set()
    for number in range(2):
        change(number)
        shown.add(shown_as(shared))
    assert len(shown) == 2
    done = threading.Event()

    def set_often():
        for number in range(400):
            change(number % 2)

    def read():
        assert shown_as(shared) in shown
        if not isinstance(shared, (sluice.ConvertSource, sluice.OrderOptions)):
            assert shown_as(pickle.loads(pickle.dumps(shared))) in shown

    together(then(done, lambda: together(set_often, set_often)), until(done, read), until(done, read))


def test_loaders_are_made_of_options_that_another_thread_changes(raw):
    output, ring, mixture = sluice.OutputOptions(), sluice.RingOptions(), sluice.Mixture([(str(raw), 0.5)] * 2)
    crop = sluice.RandomResizedCrop(24)
    done = threading.Event()

    def change():
        for number in range(300):
            output.layout = "nchw" if number % 3 else "nhwc"
            ring.hold = 2 + number % 3
            crop.size = 24 if number % 2 else (16, 32)
            mixture.parts = [str(raw)] if number % 2 else [(str(raw), 0.5)] * 2

    def make():
        with sluice.Loader(mixture, 4, threads=1, transform=[crop], output=output, ring=ring) as loader:
            batch = next(iter(loader))
            shape = batch["image"].shape
            assert shape in [(4, 24, 24, 3), (4, 3, 24, 24), (4, 16, 32, 3), (4, 3, 16, 32)]

    together(then(done, change), until(done, make), until(done, make))


def test_conversions_run_at_once_of_one_source(tmp_path):
    from PIL import Image

    for name in ("a", "b"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(20):
            Image.fromarray(picture(number)).save(tmp_path / "photos" / name / f"{number}.png")
    source = sluice.ConvertSource(tmp_path / "photos")

    def convert(to):
        def run():
            done = []
            summary = sluice.convert(source, tmp_path / to, progress=lambda now, of: done.append(now), threads=2)
            assert done[-1] == 40
            return summary.samples
        return run

    assert together(*map(convert, "xyz")) == [40] * 3
    assert all(len(sluice.Dataset(tmp_path / name)) == 40 for name in "xyz")


def test_metrics_are_read_while_loaders_come_and_go(raw):
    metrics, trace = sluice.Metrics(), sluice.LoaderTrace()
    done = threading.Event()

    def play(name):
        def run():
            for _ in range(10):
                diagnostics = sluice.DiagnosticsOptions(metrics=metrics, name=name, trace=trace)
                with sluice.Loader(raw, 10, threads=1, diagnostics=diagnostics) as loader:
                    assert sum(len(batch) for batch in loader) == 50
        return run

    play_all = lambda: together(*map(play, "ab"))  # noqa: E731
    together(then(done, play_all), until(done, metrics.text), until(done, trace.take))
