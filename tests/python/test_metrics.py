"""A loader's figures for dashboards: their text read by Prometheus' own parsers; two ranks of which one is slow."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import pytest
import sluice

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = (ROOT / "samples/guides/metrics.md").read_text()


def play(raw, metrics=None, name="train", batches=None):
    loader = sluice.Loader(raw, 10, threads=1, output=sluice.OutputOptions(fields=["image"]),
                           diagnostics=sluice.DiagnosticsOptions(metrics=metrics, name=name))
    for number, _ in enumerate(loader):
        if number == batches:
            break
    return loader


def values(families):
    return {(s.name, *(s.labels.get(n) for n in ("loader", "rank", "le"))): s.value for f in families for s in f.samples}


def test_histograms_are_in_the_stats(raw):
    stats = play(raw).stats()
    assert stats.batch_waits.count == stats.batches == 5
    assert stats.batch_waits.seconds == pytest.approx(stats.consumer_wait_seconds)
    assert stats.sample_decodes.count >= 50 and stats.block_reads.count >= 1
    waits = stats.batch_waits
    assert 0 <= waits.p50_seconds <= waits.p95_seconds <= waits.p99_seconds == waits.quantile_seconds(0.99)
    assert sum(count for _, count in waits.buckets()) == 5 and waits.buckets()[0][0] == 1e-6
    assert repr(waits).startswith("5: p50 ")
    assert stats.since(stats).batch_waits.count == 0


def test_the_openmetrics_parser_of_prometheus_reads_the_text(raw):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    stats = play(raw).stats()
    odd = 'a "quote", a \\ and\na line, ä'
    families = list(parser.text_string_to_metric_families(stats.open_metrics({"loader": odd})))
    found = values(families)
    assert found["sluice_loader_samples_total", odd, "0", None] == 50
    assert found["sluice_loader_decode_seconds_total", odd, "0", None] == stats.decode_seconds
    assert found["sluice_loader_threads", odd, "0", None] == 1
    assert found["sluice_loader_batch_wait_seconds_bucket", odd, "0", "+Inf"] == 5
    assert found["sluice_loader_batch_wait_seconds_sum", odd, "0", None] == stats.batch_waits.seconds
    assert {f.unit for f in families if f.name.endswith("_seconds")} == {"seconds"}
    assert {f.unit for f in families if f.name.endswith("_bytes")} == {"bytes"}


def test_both_formats_have_all_loaders(raw, tmp_path):
    pytest.importorskip("prometheus_client")
    from prometheus_client.openmetrics import parser as newer
    from prometheus_client import parser as older

    file = tmp_path / "sluice.prom"
    metrics = sluice.Metrics(file, every=0.01)
    train, val = play(raw, metrics, "train"), play(raw, metrics, "val", batches=2)
    counts = {"train": train.stats().batches, "val": val.stats().batches}
    assert counts == {"train": 5, "val": 3}

    def batches(parser, text):
        families = list(parser.text_string_to_metric_families(text))
        assert {s.labels["dataset"] for f in families for s in f.samples} <= {str(raw)}
        assert {f.type for f in families} <= {"counter", "gauge", "histogram"}
        found = values(families)
        return {name: found.get(("sluice_loader_batches_total", name, "0", None)) for name in counts}

    assert batches(newer, metrics.text()) == counts
    for _ in range(600):
        if batches(older, file.read_text()) == counts:
            break
        time.sleep(0.05)
    assert batches(older, file.read_text()) == counts
    assert metrics.text().endswith("# EOF\n")
    train.close()
    assert 'loader="train"' not in metrics.text()


def test_the_guide_names_all_figures(raw):
    table = GUIDE.split("## The figures\n")[1]
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| .*", table, flags=re.M)))
    families = re.findall(r"^# TYPE sluice_loader_(\w+) (\w+)$", play(raw).stats().open_metrics(), flags=re.M)
    assert sorted(named) == sorted(name + "_total" * (kind == "counter") for name, kind in families)


def test_every_figure_is_in_the_text(raw):
    stats = play(raw).stats()
    renamed = {"seconds": "elapsed_seconds", "prefetch": "prefetch_batches", "device_share": "device_share_ratio",
               "batch_waits": "batch_wait_seconds", "sample_decodes": "sample_decode_seconds",
               "block_reads": "block_read_seconds"}
    kinds = (int, float, sluice.DurationHistogram)
    figures = {name for name in dir(stats) if type(getattr(stats, name)) in kinds}
    families = re.findall(r"^# TYPE sluice_loader_(\w+) ", stats.open_metrics(), flags=re.M)
    assert sorted(families) == sorted(renamed.get(name, name) for name in figures)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_needs_metrics_of_its_own(raw):
    metrics = sluice.Metrics()
    loader = play(raw, metrics)
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (metrics.text, lambda: play(raw, metrics)):
            try:
                call()
            except sluice.Error as error:
                refused += "forked" in str(error)
        del metrics
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert metrics.text() != "# EOF\n" and loader.stats().samples == 50


def test_a_file_is_written_for_node_exporter(raw, tmp_path):
    file = tmp_path / "sluice.prom"
    metrics = sluice.Metrics(file, every=0.05)
    loader = play(raw, metrics)
    for _ in range(600):
        if "sluice_loader_batches_total" in file.read_text():
            break
        time.sleep(0.05)
    loader.close()
    text = file.read_text()
    assert re.search(r'^sluice_loader_samples_total\{.*,rank="0"\} 50$', text, re.M)
    assert metrics.last_error == ""
    del metrics, loader  # ends the thread that writes, and that may be making the next file
    assert [path.name for path in tmp_path.iterdir()] == ["sluice.prom"]
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_errors_say_what_to_do(raw, tmp_path):
    with pytest.raises(sluice.Error, match="path of a file"):
        sluice.Metrics("0.0.0.0:0")
    with pytest.raises(sluice.Error, match="every is a number of seconds"):
        sluice.Metrics(tmp_path / "x.prom", every=0)
    with pytest.raises(sluice.Error, match="label of metrics"):
        play(raw).stats().open_metrics({"le": "1"})


SLOW = """
import time
SLOW_RANK = 1


def wait(sample):
    time.sleep(0.02)

"""


def blocks(words):
    return re.findall(rf"^```python {words}\n(.*?)^```", GUIDE, flags=re.M | re.S)


def slowed(code, rank):
    """The guide's program, with the samples of rank 1 slowed."""
    plain = 'transform="rrc:64,flip")'
    assert code.count(plain) == 1
    return SLOW + code.replace(plain, plain[:-1] + f", threads=1, sample_function=wait if {rank} == SLOW_RANK else None)")


def clean_environment():
    launchers = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    return {name: value for name, value in os.environ.items() if name not in launchers}


def test_torch_distributed_names_the_slow_rank(jpeg, tmp_path):
    pytest.importorskip("torch")
    (code,) = blocks("torch ranks")
    (tmp_path / "program.py").write_text(slowed(code, "dist.get_rank()").replace('"data/photos"', repr(str(jpeg))))
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port), "program.py"],
        cwd=tmp_path, env=clean_environment(), timeout=500, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    assert re.findall(r"rank (\d) waited", done.stdout) == ["1", "1"], done.stdout


RANK = """
import sys
import sluice
rank = int(sys.argv[1])
metrics = sluice.Metrics(f"metrics/rank{rank}.prom")
loader = sluice.Loader(sys.argv[2], 16, transform="rrc:64,flip")
for batch in loader:
    pass
loader.close()
"""


def test_files_name_the_slow_rank(jpeg, tmp_path):
    (tmp_path / "metrics").mkdir()
    code = slowed(RANK, "rank").replace("threads=1", "threads=1, ranks=sluice.RankOptions(rank, 2), diagnostics="
                                        "sluice.DiagnosticsOptions(metrics=metrics)")
    (tmp_path / "rank.py").write_text(code)
    ranks = [subprocess.Popen([sys.executable, "rank.py", str(rank), str(jpeg)], cwd=tmp_path) for rank in range(2)]
    assert [rank.wait(timeout=500) for rank in ranks] == [0, 0]
    (program,) = (code for code in blocks("program") if "rank" in code)
    (tmp_path / "program.py").write_text(program)
    told = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True, text=True, stdout=subprocess.PIPE)
    assert told.stdout.rstrip().endswith(", 1)")
