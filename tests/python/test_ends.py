"""Loaders and conversions in a process that is interrupted, forks, spawns, raises an exception, or exits meanwhile."""

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest


def run(code, dataset, **options):
    """Runs code in a process of its own, with `sluice` imported and DATASET set."""
    program = f"import os, sys, sluice\nDATASET = {str(dataset)!r}\n" + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **options)


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("function", ["None", "lambda sample: sample.image().fill(1)"])
def test_a_process_exits_with_a_loader_and_batches_alive(raw, function):
    code = f"""
        loader = sluice.Loader(DATASET, 4, threads=3, sample_function={function})
        epoch = iter(loader)
        batch = next(epoch)
        image = batch["image"].numpy()
        print("ok")
    """
    assert finish(run(code, raw)) == "ok\n"


def test_an_exception_in_the_loop_passes_through(raw):
    code = """
        try:
            for batch in sluice.Loader(DATASET, 4):
                raise ValueError("mine")
        except ValueError as error:
            print(error)
    """
    assert finish(run(code, raw)) == "mine\n"


def test_ctrl_c_ends_a_wait(raw):
    code = """
        import threading
        go = threading.Event()
        loader = sluice.Loader(DATASET, 4, threads=1, sample_function=lambda sample: go.wait() and None)
        print("waiting", flush=True)
        try:
            next(iter(loader))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        go.set()
    """
    process = run(code, raw)
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert finish(process) == "interrupted\n"


STUCK = {
    "a lock": "threading.Event().wait()",
    "a loop": "spin()",
}


@pytest.mark.parametrize("stuck", STUCK)
def test_a_process_whose_function_never_returns_ends_after_ctrl_c_and_names_the_function(raw, stuck):
    code = f"""
        import threading
        def spin():
            while True:
                pass
        def endless(sample):
            if sample.index == 0:
                print("waiting", flush=True)
            {STUCK[stuck]}
        for batch in sluice.Loader(DATASET, 4, threads=2, sample_function=endless,
                                   order=sluice.OrderOptions(shuffle="sequential")):
            pass
    """
    process = run(code, raw)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in words
    assert "RuntimeWarning: a Loader is closed, but its function <function endless at" in words and "leaked" not in words


def test_close_leaves_a_function_that_does_not_return_behind_and_ctrl_c_ends_close(raw):
    code = """
        import signal, threading, warnings
        go, entered = threading.Event(), threading.Event()
        done = []
        def wait(sample):
            entered.set()
            go.wait()
            done.append(sample.index)
        def play():
            loader = sluice.Loader(DATASET, 4, threads=1, timeout=0.2, sample_function=wait)
            epoch = iter(loader)
            entered.clear()
            try:
                next(epoch)
            except sluice.Error as error:
                assert entered.is_set() and "the function <function wait at" in str(error), error
            return loader
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            play().close()
        assert [one.category for one in seen] == [RuntimeWarning] and not done
        loader = play()
        try:
            threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
            loader.close()
        except KeyboardInterrupt:
            print("interrupted")
        go.set()
        while len(done) < 2:
            pass
        print(len(done))
    """
    process = run(code, raw)
    assert process.communicate(timeout=60) == ("interrupted\n2\n", "") and process.returncode == 0


@pytest.mark.parametrize("kind", ["return", "yield"])
def test_the_timeout_bounds_a_function_that_composes_batches(raw, kind):
    code = f"""
        import threading
        go, here = threading.Event(), sluice.Dataset(DATASET)
        def compose(seed, epoch):
            if epoch == 1 or go.is_set():
                threading.Event().wait()
            {kind} [[0, 1], [2]]{"[0]" if kind == "yield" else ""}
        options = dict(timeout=0.3, order=sluice.OrderOptions(batches=compose))
        def refusal(call):
            try:
                call()
            except sluice.Error as error:
                return str(error)
        loader = sluice.Loader(here, 4, **options)
        epoch = loader.epoch(1)
        for call in lambda: next(epoch), lambda: next(epoch), lambda: len(epoch):
            assert "epoch 1: order=sluice.OrderOptions(batches=...) has not returned within 300 ms" in refusal(call)
        go.set()
        assert "epoch 0: order=sluice.OrderOptions(batches=...)" in refusal(lambda: sluice.Loader(here, 4, **options))
        print("played", repr(loader).count("300 ms"), flush=True)
    """
    process = run(code, raw)
    out, words = process.communicate(timeout=60)
    assert out == "played 0\n" and process.returncode == 0 and "leaked" not in words, words


def test_ctrl_c_ends_a_wait_for_a_function_that_composes_batches(raw):
    code = """
        import threading
        def compose(seed, epoch):
            print("waiting", flush=True)
            threading.Event().wait()
        try:
            sluice.Loader(DATASET, 4, timeout=3600, order=sluice.OrderOptions(batches=compose))
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = run(code, raw)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n", "") and process.returncode == 0


def test_ctrl_c_ends_the_creation_of_a_loader_that_waits_for_thread_setup(raw):
    code = """
        import threading
        def setup(thread):
            print("waiting", flush=True)
            threading.Event().wait()
        try:
            sluice.Loader(DATASET, 4, threads=1, thread_setup=setup)
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = run(code, raw)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n", "") and process.returncode == 0


def test_a_forked_child_gets_an_error_and_ends(raw):
    code = """
        loader = sluice.Loader(DATASET, 4)
        epoch = iter(loader)
        batch = next(epoch)
        child = os.fork()
        if child == 0:
            try:
                next(epoch)
            except sluice.Error as error:
                assert "forked" in str(error), error
                own = sluice.Loader(DATASET, 4)
                assert sum(len(b) for b in own) == 50
                del epoch, loader, batch
                sys.exit(7)
            sys.exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        del batch
        print(sum(len(b) for b in epoch))
    """
    assert finish(run(code, raw)) == "46\n"


def test_processes_started_by_spawn_have_loaders_of_their_own(raw, tmp_path):
    # Spawned processes import the main module, so it is a file.
    main = tmp_path / "main.py"
    main.write_text(textwrap.dedent(f"""
        import multiprocessing, sluice
        def play(dataset):
            return sum(len(batch) for batch in sluice.Loader(dataset, 4))
        if __name__ == "__main__":
            loader = sluice.Loader({str(raw)!r}, 4)
            batch = next(iter(loader))
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                print(pool.map(play, [{str(raw)!r}] * 2))
    """))
    assert subprocess.check_output([sys.executable, main], text=True, timeout=300) == "[50, 50]\n"


def test_objects_that_another_library_keeps_are_no_leaks_for_a_user(raw):
    code = """
        import ctypes
        kept = sluice.Dataset(DATASET), sluice.Loader(DATASET, 4)
        for one in kept:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    """
    user = {name: value for name, value in os.environ.items() if name != "SLUICE_LEAK_WARNINGS"}
    process = run(code, raw, env=user)
    assert process.communicate(timeout=60) == ("", "") and process.returncode == 0
    assert "nanobind: leaked" in run(code, raw).communicate(timeout=60)[1]


def test_other_threads_run_while_one_waits(raw):
    code = """
        import threading
        go = threading.Event()
        loader = sluice.Loader(DATASET, 4, threads=1, sample_function=lambda sample: go.wait() and None)
        threading.Timer(0.2, go.set).start()
        print(sum(len(batch) for batch in loader))
    """
    assert finish(run(code, raw)) == "50\n"


def test_a_process_exits_quietly_while_a_user_function_is_alive(raw):
    code = """
        def change(sample):
            sample.image()[...] = 0
        loader = sluice.Loader(DATASET, 4, threads=3, sample_function=change, thread_setup=lambda thread: [thread],
                               order=sluice.OrderOptions(batches=lambda seed, epoch: [[0]] * 9))
        epoch = iter(loader)
        batch = next(epoch)
    """
    process = run(code, raw)
    assert process.communicate(timeout=300) == ("", "") and process.returncode == 0


def test_a_process_exits_whose_only_loader_was_dropped_in_its_own_function(raw):
    """Nothing waited for the loader's thread when it was dropped, so it is ended before the interpreter is."""
    code = """
        import threading
        go, dropped = threading.Event(), threading.Event()
        calls, kept = [], []
        def change(sample):
            calls.append(sample.index)
            if len(calls) > 4:  # a sample of the second batch
                go.wait()
                kept.clear()
                dropped.set()
        kept.append(iter(sluice.Loader(DATASET, 4, threads=1, sample_function=change)))
        next(kept[0])
        go.set()
        dropped.wait()
    """
    process = run(code, raw)
    assert process.communicate(timeout=60) == ("", "") and process.returncode == 0


def test_ctrl_c_in_a_function_of_the_calling_thread_passes_through(raw):
    code = """
        import signal
        for on_fault in sluice.OnFault.ERROR, sluice.OnFault.SKIP, sluice.OnFault.SUBSTITUTE:
            calls = []
            def interrupt(sample):
                calls.append(sample.index)
                signal.raise_signal(signal.SIGINT)
            loader = sluice.Loader(DATASET, 4, threads=0, sample_function=interrupt,
                                   integrity=sluice.IntegrityOptions(on_fault=on_fault))
            try:
                next(iter(loader))
            except KeyboardInterrupt:
                print(len(calls))
    """
    assert finish(run(code, raw)) == "1\n1\n1\n"


PLAYING = {
    "a loader for each epoch": """
        def play():
            while True:
                for batch in sluice.Loader(DATASET, 4, threads=2):
                    batch.numpy()
    """,
    "one loader": """
        def play():
            loader = sluice.Loader(DATASET, 4, threads=2)
            while True:
                for batch in loader:
                    batch.numpy()
    """,
    "a loader of the main thread": """
        loader = sluice.Loader(DATASET, 4, threads=2)
        def play():
            while True:
                for batch in loader:
                    batch.numpy()
    """,
    "a loader with a function": """
        def change(sample):
            sum(range(2000))
            sample.image()[...] = 0
        def play():
            while True:
                for batch in sluice.Loader(DATASET, 4, threads=2, sample_function=change):
                    batch.numpy()
    """,
    "datasets that are opened": """
        def play():
            while True:
                sum(sample["label"] for sample in sluice.Dataset(DATASET))
    """,
    "an iterator that two threads play": """
        import time
        loader = sluice.Loader(DATASET, 1, threads=1, sample_function=lambda sample: time.sleep(0.01))
        epoch = iter(loader)
        def play():
            try:
                for batch in epoch:
                    pass
            except sluice.Error:
                pass
        threading.Thread(target=play, daemon=True).start()
    """,
}


@pytest.mark.parametrize("playing", PLAYING)
def test_a_daemon_thread_may_play_while_the_interpreter_ends(raw, playing):
    code = ("import threading, time\n" + textwrap.dedent(PLAYING[playing]) +
            "threading.Thread(target=play, daemon=True).start()\n"
            "time.sleep(0.2 + int(sys.argv[1]) / 1000)\n")
    for time in range(12):
        process = subprocess.run(
            [sys.executable, "-c", f"import sys, sluice\nDATASET = {str(raw)!r}\n{code}", str(time)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        assert (process.returncode, process.stdout) == (0, "")


def test_a_conversion_in_a_daemon_thread_ends_with_the_interpreter(tmp_path):
    """The conversion calls `progress` every 100 ms, even while the process exits and the interpreter has ended."""
    if not hasattr(ctypes.CDLL(None), "on_exit"):
        pytest.skip("the C library has no on_exit()")
    pixels = pytest.importorskip("PIL.Image").effect_noise((900, 900), 50)
    (tmp_path / "in").mkdir()
    pixels.save(tmp_path / "in" / "0.jpg")
    for number in range(1, 300):
        os.link(tmp_path / "in" / "0.jpg", tmp_path / "in" / f"{number}.jpg")
    code = f"""
        import ctypes, threading
        libc = ctypes.CDLL(None)
        libc.on_exit(libc.usleep, None)  # at exit, sleeps as many microseconds as the exit status says
        converting = threading.Event()
        def convert():
            sluice.convert({str(tmp_path)!r} + "/in", DATASET, threads=2, progress=lambda done, total: converting.set())
        threading.Thread(target=convert, daemon=True).start()
        converting.wait()
        sys.exit(300_000)
    """
    for time in range(3):
        process = run(code, tmp_path / str(time))
        assert process.communicate(timeout=300) == ("", "") and process.returncode == 300_000 % 256


def test_a_thread_that_plays_while_the_interpreter_ends_can_clean_up_and_be_joined(raw):
    code = """
        import threading
        playing = threading.Event()
        def play():
            try:
                while True:
                    for batch in loader:
                        playing.set()
            finally:
                print("cleaned up")
        thread = threading.Thread(target=play, daemon=True)
        loader = sluice.Loader(DATASET, 4, threads=2)
        thread.start()
        playing.wait()
    """
    # atexit calls functions in reverse order: this one, registered before the import of sluice, runs after sluice's.
    program = (f"import atexit\natexit.register(lambda: thread.join())\nimport os, sys, sluice\n"
               f"DATASET = {str(raw)!r}\n" + textwrap.dedent(code))
    process = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=300)
    assert (process.returncode, process.stdout) == (0, "cleaned up\n")


def test_a_sub_interpreter_gets_an_error_when_it_imports_the_module(raw):
    interpreters = pytest.importorskip("_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters")
    del interpreters
    code = """
        if sys.version_info < (3, 13):
            import _xxsubinterpreters as interpreters
        else:
            import _interpreters as interpreters
        other = interpreters.create()
        program = "\\n".join(["try:", "  import sluice", "except ImportError as error:",
                             "  words = 'main interpreter only', 'subinterpreters'",  # the latter: CPython's
                             "  print(any(word in str(error) for word in words), flush=True)"])
        (interpreters.run_string if hasattr(interpreters, "run_string") else interpreters.exec)(other, program)
        interpreters.destroy(other)
        print(sum(len(batch) for batch in sluice.Loader(DATASET, 4)))
    """
    assert finish(run(code, raw)) == "True\n50\n"
