"""Datasets at a URL: batches, the cache, timeouts, and Ctrl-C while the server does not answer."""

import http.server
import os
import re
import signal
import threading
import time

import pytest
import sluice


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Answers with a range of a file, as S3 does; Python's own handler gives whole files."""

    protocol_version = "HTTP/1.1"
    stalled = threading.Event()  # while set, requests for shards are not answered
    silent = threading.Event()  # while set, no request is answered

    def do_GET(self):
        try:
            content = (self.server.folder / self.path.lstrip("/")).read_bytes()
        except OSError:
            return self.send_error(404)
        while self.silent.is_set() or self.stalled.is_set() and self.path.endswith(".sluice"):
            time.sleep(0.01)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, len(content) - 1
        if asked:
            first, last = int(asked[1]), min(last, int(asked[2] or last))
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", f'"{len(content)}"')
        self.end_headers()
        self.wfile.write(content[first : last + 1])

    def do_HEAD(self):
        while self.silent.is_set():
            time.sleep(0.01)
        super().do_HEAD()

    def log_message(self, *_):
        pass


@pytest.fixture
def url(raw):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    server.daemon_threads, server.folder = True, raw.parent
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    made = f"http://127.0.0.1:{server.server_port}/{raw.name}"
    try:
        sluice.Dataset(made)
    except sluice.Error as error:
        if error.code == "unsupported":
            pytest.skip("this build has no remote datasets")
        raise
    yield made
    Ranges.stalled.clear()
    Ranges.silent.clear()
    server.shutdown()
    server.server_close()


def test_a_dataset_at_a_url_plays_like_one_on_disk(url, raw):
    remote, local = sluice.Loader(url, 8, seed=3), sluice.Loader(raw, 8, seed=3)
    for a, b in zip(remote, local, strict=True):
        assert a["image"].numpy().tobytes() == b["image"].numpy().tobytes()
        assert a.samples.tolist() == b.samples.tolist()
    stats = remote.stats()
    assert stats.fetched_bytes > 50 * 32 * 32 * 3 and stats.requests > 0
    assert sluice.Dataset(url)[7]["label"] == 1


def test_a_cache_serves_the_second_loader(url, tmp_path):
    stage = sluice.Stage(str(tmp_path), 1 << 30)
    for _ in range(2):
        loader = sluice.Loader(url, 8, stage=stage)
        assert sum(len(batch) for batch in loader) == 50
        stats = loader.stats()  # of the second: the first, too, may read from the cache what it fetched ahead
        loader.close()
    assert stats.cached_bytes > 0


def test_a_stall_is_an_error_after_the_timeout_and_the_epoch_continues(url):
    Ranges.stalled.set()
    loader = sluice.Loader(url, 8, timeout=0.25)
    epoch = iter(loader)
    with pytest.raises(sluice.Error, match="within 250 ms") as raised:
        next(epoch)
    assert raised.value.code == "input/output"
    Ranges.stalled.clear()
    played = 0
    while played < 50:
        try:
            played += len(next(epoch))
        except sluice.Error as error:
            assert "within 250 ms" in str(error)  # possible on a slow machine


def test_a_timeout_is_a_number_of_seconds(raw):
    for wrong in -1, float("nan"):
        with pytest.raises(sluice.Error, match="seconds"):
            sluice.Loader(raw, 8, timeout=wrong)
    assert sum(len(batch) for batch in sluice.Loader(raw, 8, timeout=60)) == 50


HANGING = {
    "Dataset": lambda url, dataset, loader, folder: sluice.Dataset(url),
    "Loader": lambda url, dataset, loader, folder: sluice.Loader(url, 8),
    "Mixture": lambda url, dataset, loader, folder: sluice.Mixture([url]),
    "array": lambda url, dataset, loader, folder: dataset[0].array("image"),
    "key": lambda url, dataset, loader, folder: dataset[0].key,
    "value": lambda url, dataset, loader, folder: dataset[0]["caption"],
    "number": lambda url, dataset, loader, folder: dataset[0]["label"],
    "payload": lambda url, dataset, loader, folder: dataset[0].payload(),
    "find": lambda url, dataset, loader, folder: dataset.find("folder/3.png"),
    "column": lambda url, dataset, loader, folder: dataset.column("label"),
    "class_balanced": lambda url, dataset, loader, folder: sluice.SampleList.class_balanced(dataset, 3),
    "row": lambda url, dataset, loader, folder: loader.row(5, 0),
    "iteration": lambda url, dataset, loader, folder: next(iter(loader)),
    "convert": lambda url, dataset, loader, folder: sluice.convert(
        sluice.ConvertSource.paths(["manifest.json"], url), folder / "converted"),
    "find_classes": lambda url, dataset, loader, folder: sluice.find_classes(classes_of(url)),
}


def classes_of(url):
    source = sluice.ConvertSource.paths(["class/a.png"], ".")
    source.label.classes_of = url
    return source


@pytest.mark.parametrize("call", HANGING)
def test_ctrl_c_ends_each_wait_for_a_server_that_does_not_answer(url, call, tmp_path):
    dataset, loader = sluice.Dataset(url), sluice.Loader(url, 8)
    for asked in Ranges.stalled, Ranges.silent:
        asked.set()
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        HANGING[call](url, dataset, loader, tmp_path)
    interrupt.join()
    for asked in Ranges.stalled, Ranges.silent:
        asked.clear()
    # The interrupted objects can be used again.
    assert dataset[4]["label"] == 1 and dataset.find("folder/3.png") == 3
    assert sum(len(batch) for batch in loader) == 50
