"""Columns, versions and deleted samples: fields and samples change, and no picture is touched."""

import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy
import pytest
import sluice

from conftest import FIELDS, caption, picture
from test_remote import Ranges

SAMPLES = 50
COMMAND = os.environ.get("SLUICE_COMMAND", "sluice")


def run(*words, fails=False):
    """The output of a command; of one that fails, what it says about that. fails=None: whether or not it fails."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert fails is None or (done.returncode != 0) == fails, (words, done.returncode, done.stdout, done.stderr)
    return done.stderr if fails else done.stdout


@pytest.fixture()
def data(raw, tmp_path):
    return shutil.copytree(raw, tmp_path / "data")


@pytest.fixture()
def large(tmp_path):
    """600 pictures in several blocks and shards, so that an epoch has an order."""
    with sluice.Writer(tmp_path / "large", FIELDS[:2], image="raw", block_samples=8, shard_bytes=1_000_000) as writer:
        for number in range(600):
            writer.add(str(number), image=picture(number), label=number % 3)
    return tmp_path / "large"


def files(folder):
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            for path in pathlib.Path(folder).glob("*.sluice")}


def played(dataset, epochs=1, **options):
    """For each epoch, the batches: numbers of samples, pictures, and all other fields."""
    options = {"batch_size": 16, "threads": 2, "ranks": sluice.RankOptions(world_size=1), **options}
    loader = sluice.Loader(dataset, **options)
    made = []
    for epoch in range(epochs):
        batches = []
        for batch in loader.epoch(epoch):
            arrays = {name: batch[name].numpy().copy() for name in batch.keys() if hasattr(batch[name], "numpy")}
            batches.append({"samples": batch.samples.tolist(), **arrays})
        made.append(batches)
    return made


def same(batch, other, names):
    return batch["samples"] == other["samples"] and all((batch[name] == other[name]).all() for name in names)


EMBEDDINGS = numpy.random.default_rng(2).normal(size=(600, 48)).astype("float16")


def test_columns_leave_pictures_and_their_order_as_they_are(large):
    before = files(large)
    epochs = played(sluice.Dataset(large), 3)
    ranks = [played(sluice.Dataset(large), 1, ranks=sluice.RankOptions(rank=r, world_size=2)) for r in range(2)]
    dataset = sluice.Dataset(large).add_column("embedding", EMBEDDINGS)
    dataset = dataset.replace_column("label", (numpy.arange(600) + 1) % 3, note="off by one")
    assert {name: facts for name, facts in files(large).items() if name in before} == before
    assert [field.name for field in dataset.fields] == ["image", "label", "embedding"]
    assert dataset.fields[2].dtype == "float16" and dataset.classes == ["cat", "dog", "eel"]
    now = played(dataset, 3)
    for epoch, later in zip(epochs, now):
        assert len(epoch) == len(later)
        for batch, other in zip(epoch, later):
            assert same(batch, other, ["image"])
            numbers = numpy.array(other["samples"])
            assert (other["label"] == (numbers + 1) % 3).all()
            assert other["embedding"].dtype == numpy.float16
            assert (other["embedding"] == EMBEDDINGS[numbers]).all()
    for rank, epochs_of_rank in enumerate(ranks):
        again = played(dataset, 1, ranks=sluice.RankOptions(rank=rank, world_size=2))
        assert all(same(a, b, ["image"]) for a, b in zip(epochs_of_rank[0], again[0]))


@pytest.mark.parametrize("options", [
    {"storage": sluice.Direct()},
    {"order": sluice.OrderOptions(shuffle="random")},
    {"order": sluice.OrderOptions(shuffle="sequential")},
    {"output": sluice.OutputOptions(fields=["image", "embedding"])},
    {"output": sluice.OutputOptions(fields=["embedding"])},
])
def test_all_ways_of_reading_give_a_columns_values(large, options):
    dataset = sluice.Dataset(large).add_column("embedding", EMBEDDINGS)
    for batch in played(dataset, 1, **options)[0]:
        assert (batch["embedding"] == EMBEDDINGS[batch["samples"]]).all()


def test_a_stage_and_a_column_together(large, tmp_path):
    dataset = sluice.Dataset(large).add_column("embedding", EMBEDDINGS)
    for batch in played(dataset, 1, stage=sluice.Stage(str(tmp_path / "stage"), 100_000_000))[0]:
        assert (batch["embedding"] == EMBEDDINGS[batch["samples"]]).all()


class Counting(Ranges):
    """Notes which files are asked for."""

    def do_GET(self):
        self.server.asked.append(self.path.rsplit("/", 1)[1])
        super().do_GET()


@pytest.fixture()
def served(large):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    server.daemon_threads, server.folder, server.asked = True, large.parent, []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server, f"http://127.0.0.1:{server.server_port}/{large.name}"
    server.shutdown()


def test_a_column_and_a_deletion_fetch_no_picture_again(large, served, tmp_path):
    server, url = served
    stage = sluice.Stage(str(tmp_path / "stage"), 100_000_000)
    pictures = set(files(large))
    before = played(sluice.Dataset(url), 1, stage=stage)
    assert pictures <= set(server.asked)
    dataset = sluice.Dataset(large).add_column("embedding", EMBEDDINGS)
    dataset.replace_column("label", (numpy.arange(600) + 1) % 3)
    (tmp_path / "gone.txt").write_text("77\n")
    run("delete", large, "--samples", tmp_path / "gone.txt")
    server.asked.clear()
    after = played(sluice.Dataset(url), 1, stage=stage)
    assert not pictures & set(server.asked) and set(files(large)) - pictures <= set(server.asked)
    for batch, other in zip(before[0], after[0]):
        kept = [row for row, number in enumerate(batch["samples"]) if number != 77]
        numbers = numpy.array(other["samples"])
        assert (numpy.array(batch["samples"])[kept] == numbers).all()
        assert (batch["image"][kept] == other["image"]).all()
        assert (other["label"] == (numbers + 1) % 3).all() and (other["embedding"] == EMBEDDINGS[numbers]).all()
    server.asked.clear()
    for batch in played(sluice.Dataset(url), 1)[0]:  # without a stage
        assert (batch["embedding"] == EMBEDDINGS[batch["samples"]]).all()
    assert sluice.Dataset(url)[3].array("embedding").tolist() == EMBEDDINGS[3].tolist()


def test_a_mixture_has_the_columns_of_its_parts(large, data):
    sluice.Dataset(large).add_column("score", numpy.arange(600, dtype="float32"))
    with sluice.Writer(data.parent / "other", FIELDS[:2], image="raw") as writer:
        for number in range(64):
            writer.add(str(number), image=picture(number), label=0)
    other = sluice.Dataset(data.parent / "other").add_column("score", -numpy.arange(64, dtype="float32") - 1)
    mixture = sluice.Mixture([sluice.Dataset(large), other])
    seen = 0
    for batch in played(mixture)[0]:
        for number, score in zip(batch["samples"], batch["score"]):
            assert score == (number if number < 600 else 599 - number)
            seen += 1
    assert seen == 664


def test_a_sample_has_its_columns_of_every_kind(data, tmp_path):
    fields = [sluice.Field.bytes("story", "text"), sluice.Field.variable("points", "float16", (2,)),
              sluice.Field.mask("mask")]
    masks = [numpy.full((32, 32), n % 3, "uint8") for n in range(SAMPLES)]
    # The writer wants the image that a mask follows.
    with sluice.Writer(tmp_path / "source", [FIELDS[0], *fields], image="raw") as writer:
        for n in range(SAMPLES):
            writer.add(str(n), image=picture(n), story=None if n % 4 == 0 else f"story {n}",
                       points=numpy.full((n % 3, 2), n, "float16"), mask=masks[n])
    run("column", "add", data, "story", "points", "mask", "--from", tmp_path / "source", "--note", "more")
    dataset = sluice.Dataset(data)
    for n in range(SAMPLES):
        assert dataset[n]["story"] == (None if n % 4 == 0 else f"story {n}")
        assert dataset[n].array("points").dtype == numpy.float16
        assert (dataset[n].array("points") == numpy.full((n % 3, 2), n)).all()
        assert (numpy.asarray(dataset[n]["mask"]) == masks[n]).all()
        assert dataset[n]["caption"] == caption(n)
    transform = [sluice.RandomCrop(16), sluice.HorizontalFlip()]
    batches = played(dataset, 1, transform=transform,
                     output=sluice.OutputOptions(fields=["image", "mask", "story", "points"], mask_fill={"mask": 255}))
    for batch in batches[0]:
        for row, number in enumerate(batch["samples"]):
            assert (batch["mask"][row] == number % 3).all()
    assert run("verify", data, "--decode")


def test_tables_by_number_and_by_key(data, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("key,score,class\n" + "".join(f"folder/{n}.png,{n / 8},{'cat' if n % 2 else 'eel'}\n"
                                                   for n in reversed(range(SAMPLES))))
    run("column", "add", data, "score", "--from", table, "--by-key=key")
    run("column", "replace", data, "label", "--from", table_with_label(tmp_path), "--by-key=key")
    dataset = sluice.Dataset(data)
    assert (dataset.column("score") == numpy.arange(SAMPLES) / 8).all()
    assert dataset.column("label").tolist() == [(n + 1) % 3 for n in range(SAMPLES)]
    assert dataset.classes == ["cat", "dog", "eel"]
    assert dataset.class_counts == [16, 17, 17]
    table.write_text("score\n" + "".join(f"{n}\n" for n in range(SAMPLES)))
    run("column", "replace", data, "score", "--from", table, "--type", "score=int16")
    assert sluice.Dataset(data).column("score").dtype == numpy.int16


def table_with_label(folder):
    names = ["cat", "dog", "eel"]
    table = folder / "labels.tsv"
    table.write_text("key\tlabel\n" + "".join(f"folder/{n}.png\t{names[(n + 1) % 3]}\n" for n in range(SAMPLES)))
    return table


def test_a_table_can_hold_arrays_of_float16_and_json(data, tmp_path):
    (tmp_path / "t.csv").write_text("v,j\n" + "".join(f'"{n} {n + .5} 3","{{""a"":{n}}}"\n' for n in range(SAMPLES)))
    run("column", "add", data, "v", "j", "--from", tmp_path / "t.csv", "--type", "v=float16[3]", "--type", "j=json")
    sample = sluice.Dataset(data)[4]
    assert sample.array("v").dtype == numpy.float16 and sample.array("v").tolist() == [4, 4.5, 3]
    assert sample["j"] == '{"a":4}'
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    numbers = range(SAMPLES)
    parquet.write_table(arrow.table({
        "key": [f"folder/{n}.png" for n in numbers], "half": arrow.array(numpy.arange(SAMPLES, dtype="float16")),
        "pair": [[float(n), 1.0] for n in numbers], "text": [None if n == 3 else f"t{n}" for n in numbers],
    }), tmp_path / "t.parquet")
    run("column", "add", data, "half", "pair", "text", "--from", tmp_path / "t.parquet", "--by-key=key",
        "--type", "half=float16")
    dataset = sluice.Dataset(data)
    assert dataset.column("half").dtype == numpy.float16 and dataset.column("half").tolist() == list(numbers)
    assert dataset[4].array("pair").tolist() == [4, 1] and dataset[3]["text"] is None and dataset[4]["text"] == "t4"


def test_samples_without_a_row_need_a_value(data, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("key,score,remark\n" + "".join(f"folder/{n}.png,{n},r{n}\n" for n in range(0, SAMPLES, 2)))
    before = (data / "manifest.json").read_bytes()
    error = run("column", "add", data, "score", "--from", table, "--by-key=key", fails=True)
    assert "folder/1.png" in error and "--missing" in error
    assert (data / "manifest.json").read_bytes() == before
    run("column", "add", data, "score", "remark", "--from", table, "--by-key=key", "--missing", -1)
    dataset = sluice.Dataset(data)
    assert dataset.column("score").tolist() == [n if n % 2 == 0 else -1 for n in range(SAMPLES)]
    assert dataset[1]["remark"] is None and dataset[2]["remark"] == "r2"


@pytest.mark.parametrize("text, words, told", [
    ("key,score\n" + "folder/1.png,1\n" * 2, ["score", "--by-key=key"], "line 3 has the key"),
    ("key,score\nnobody,1\n", ["score", "--by-key=key", "--missing", "0"], "line 2 has the key \"nobody\""),
    ("score\n1\n", ["score"], "has 1 rows"),
    ("score\n1\n", ["scores"], "has no column"),
    ("score\n1\n", ["pose"], "already"),
    ("score\n" + "1\n" * 49 + "x\n", ["score", "--type", "score=int32"], "line 51"),
    ("score\n" + "1\n" * 49 + "nan\n", ["score", "--type", "score=int32"], "line 51"),
    ("score\n" + "1\n" * 49 + "300\n", ["score", "--type", "score=uint8"], "does not fit uint8"),
    ("score\n1\n", ["score", "--type", "score=int3"], "is not a type"),
])
def test_rows_that_do_not_fit_change_nothing(data, tmp_path, text, words, told):
    table = tmp_path / "bad.csv"
    table.write_text(text)
    before = sorted(path.name for path in data.iterdir()), (data / "manifest.json").read_bytes()
    error = run("column", "add", data, *words[:1], "--from", table, *words[1:], fails=True)
    assert told in error and ("bad.csv" in error or str(data) in error)
    assert (sorted(path.name for path in data.iterdir()), (data / "manifest.json").read_bytes()) == before


def test_a_label_that_is_no_class_is_refused(data, tmp_path):
    for word in "wolf", "3", "nan", "-1":
        table = tmp_path / "bad.csv"
        table.write_text("label\n" + "cat\n" * 49 + word + "\n")
        error = run("column", "replace", data, "label", "--from", table, fails=True)
        assert "line 51" in error and "bad.csv" in error
    with pytest.raises(sluice.Error, match="sample 7"):
        sluice.Dataset(data).replace_column("label", numpy.where(numpy.arange(SAMPLES) == 7, 3, 0))


def test_arrays_that_do_not_fit_are_refused(data):
    dataset = sluice.Dataset(data)
    before = (data / "manifest.json").read_bytes()
    for array, options, told in [
        (numpy.zeros(49), {}, "49 rows"),
        (numpy.zeros(2), {"samples": [0, 50]}, "no sample 50"),
        (numpy.zeros(2), {"samples": [3, 3]}, "given twice"),
        (numpy.zeros(2), {"samples": [3, 4]}, "sample 0"),
    ]:
        with pytest.raises(sluice.Error, match=told):
            dataset.add_column("new", array, **options)
    assert (data / "manifest.json").read_bytes() == before
    made = dataset.add_column("new", numpy.array([5.0, 7.0]), samples=[4, 2], missing=-1)
    assert made.column("new").tolist() == [7 if n == 2 else 5 if n == 4 else -1 for n in range(SAMPLES)]


def test_fields_that_others_need_are_not_dropped(data):
    assert "follows" in run("column", "drop", data, "image", fails=True)
    assert "last label" in run("column", "drop", data, "label", fails=True)
    run("column", "drop", data, "caption", "--note", "private")
    dataset = sluice.Dataset(data)
    assert "caption" not in [field.name for field in dataset.fields]
    with pytest.raises(KeyError):
        dataset[1]["caption"]
    dataset = dataset.add_column("caption", numpy.arange(SAMPLES))
    assert dataset[3]["caption"] == 3


def test_versions_are_listed_tagged_and_restored(data):
    first = sluice.Dataset(data).id
    run("tag", data, "v1")
    second = sluice.Dataset(data).add_column("score", numpy.arange(SAMPLES), note="scores").id
    versions = json.loads(run("log", data, "--json"))["versions"]
    assert [version["id"] for version in versions] == [second, first]
    assert versions[0]["note"] == "scores" and versions[0]["parent"] == first
    assert versions[0]["changes"] == ["added the field score"] and versions[1]["tags"] == ["v1"]
    assert sluice.Dataset(data / "manifest-v1.json").id == first
    assert "already" in run("tag", data, "v1", fails=True)
    run("restore", data, "v1")
    assert [field.name for field in sluice.Dataset(data).fields] == [field.name for field in FIELDS]
    run("restore", data, second)
    assert sluice.Dataset(data).column("score").tolist() == list(range(SAMPLES))


def test_gc_removes_only_what_old_versions_alone_name(data):
    (data / "notes.txt").write_text("mine")
    (data / "column-mine.sluice").write_text("mine")
    run("tag", data, "v1")
    sluice.Dataset(data).add_column("score", numpy.arange(SAMPLES))
    tagged = set(files(data))
    sluice.Dataset(data).replace_column("score", numpy.arange(SAMPLES) + 1)
    middle = set(files(data)) - tagged
    assert len(middle) == 1
    assert "no version" in run("gc", data, "--yes")
    names = sorted(path.name for path in data.iterdir())
    told = json.loads(run("gc", data, "--keep-days", 0, "--json"))
    assert not told["removed"] and len(told["versions"]) == 1 and len(told["files"]) == 1
    assert sorted(path.name for path in data.iterdir()) == names
    (data / "manifest-mine.json").write_text("mine")  # it may name any shard
    assert "manifest-mine.json" in run("gc", data, "--keep-days", 0, "--yes", fails=True)
    assert len(json.loads(run("log", data, "--json"))["versions"]) == 3
    (data / "manifest-mine.json").unlink()
    run("gc", data, "--keep-days", 0, "--yes")
    left = sorted(path.name for path in data.iterdir())
    assert set(names) - set(left) == {told["files"][0], f"manifest-{told['versions'][0]}.json"}
    assert run("verify", data) and run("verify", data / "manifest-v1.json")
    assert (data / "notes.txt").exists() and (data / "column-mine.sluice").exists()


def test_a_state_is_taken_by_another_version_if_what_is_used_is_the_same(large):
    options = {"batch_size": 16, "ranks": sluice.RankOptions(world_size=1)}
    loader = sluice.Loader(sluice.Dataset(large), **options)
    epoch = loader.epoch(0)
    for _ in range(5):
        next(epoch)
    state = loader.state()
    rest = [batch.samples.tolist() for batch in epoch]
    dataset = sluice.Dataset(large).add_column("score", numpy.arange(600))
    with pytest.raises(sluice.Error, match='field "score"'):
        sluice.Loader(dataset, resume_from=state, **options)
    output = sluice.OutputOptions(fields=["image", "label"])
    resumed = sluice.Loader(dataset, resume_from=state, output=output, **options)
    assert [batch.samples.tolist() for batch in resumed.epoch(0)] == rest
    dataset = dataset.replace_column("label", numpy.zeros(600, int))
    with pytest.raises(sluice.Error, match='(?s)field "label".*manifest-'):
        sluice.Loader(dataset, resume_from=state, output=output, **options)


def test_the_state_of_a_mixture_is_taken_if_what_is_used_of_each_dataset_is_the_same(large, data):
    options = {"batch_size": 16, "ranks": sluice.RankOptions(world_size=1),
               "output": sluice.OutputOptions(fields=["image", "label"])}

    def mixture():
        return sluice.Mixture([(sluice.Dataset(large), 0.5), (sluice.Dataset(data), 0.5)])

    loader = sluice.Loader(mixture(), **options)
    epoch = loader.epoch(0)
    for _ in range(5):
        next(epoch)
    state = loader.state()
    rest = [batch.samples.tolist() for batch in epoch]
    sluice.Dataset(large).add_column("score", numpy.arange(600))
    run("delete", data, "--samples", listed(data.parent / "gone.txt", [3]))
    resumed = sluice.Loader(mixture(), resume_from=state, **options)
    assert [batch.samples.tolist() for batch in resumed.epoch(0)] == [[n for n in b if n != 603] for b in rest]
    with pytest.raises(sluice.Error, match=f'(?s)field "score" did not exist.*{large}.manifest-'):
        sluice.Loader(mixture(), resume_from=state, **{**options, "output": sluice.OutputOptions(absent=0)})
    with pytest.raises(sluice.Error, match="belongs to the dataset with id"):
        sluice.Loader(sluice.Mixture([sluice.Dataset(data), sluice.Dataset(large)]), resume_from=state, **options)
    with pytest.raises(sluice.Error, match="belongs to the dataset with id"):
        sluice.Loader(sluice.Dataset(large), resume_from=state, **options)
    sluice.Dataset(data).replace_column("label", numpy.zeros(SAMPLES, int))
    with pytest.raises(sluice.Error, match=f'(?s)field "label" had other values.*{data}.manifest-'):
        sluice.Loader(mixture(), resume_from=state, **options)


def test_a_list_is_taken_by_another_version_if_the_values_that_made_it_are_the_same(large, tmp_path):
    old = sluice.Dataset(large)
    order = sluice.OrderOptions(samples=sluice.SampleList.class_balanced(old, 50))
    before = played(old, order=order)[0]
    dataset = old.add_column("score", numpy.arange(600, dtype="float32"))
    run("delete", large, "--samples", listed(tmp_path / "gone.txt", [before[0]["samples"][0]]))
    gone = before[0]["samples"][0]
    now = played(sluice.Dataset(large), order=order)[0]
    assert [b["samples"] for b in now] == [[n for n in b["samples"] if n != gone] for b in before]
    played(dataset.replace_column("score", numpy.zeros(600, "float32")), order=order)
    with pytest.raises(sluice.Error, match=f'version {old.id} .*the field "label" had other values; make the list'):
        played(dataset.replace_column("label", numpy.zeros(600, int)), order=order)
    shutil.rmtree(large)
    with sluice.Writer(large, FIELDS[:2], image="raw") as writer:
        for number in range(600):
            writer.add(str(number), image=picture(number), label=0)
    with pytest.raises(sluice.Error, match="and other samples; make the list from the dataset that you load"):
        played(sluice.Dataset(large), order=order)


def test_shared_rows_depend_on_the_fields_in_use(large, tmp_path):
    (tmp_path / "rows").mkdir()
    kept = []

    def files_after(**options):
        kept.append(sluice.Loader(sluice.Dataset(large), 16, threads=1, ranks=sluice.RankOptions(world_size=1),
                                  share=sluice.SharedRows(50_000_000, folder=str(tmp_path / "rows")), **options))
        for _ in kept[-1].epoch(0):
            pass
        return len(list((tmp_path / "rows").iterdir()))

    output = sluice.OutputOptions(fields=["image", "label"])
    assert files_after() == 1
    sluice.Dataset(large).add_column("score", numpy.arange(600, dtype="float32"))
    assert files_after(output=output) == 1
    assert files_after() == 2
    sluice.Dataset(large).replace_column("score", numpy.zeros(600, "float32"))
    assert files_after(output=output) == 2
    assert files_after() == 3
    sluice.Dataset(large).replace_column("label", numpy.zeros(600, int))
    assert files_after(output=output) == 4
    assert kept[1].stats().taken_rows > 0


def test_deleted_samples_are_given_by_nothing_and_move_nothing(large, tmp_path):
    before = played(sluice.Dataset(large), 2)
    gone = [3, 4, 5, 77, 300, 599]
    (tmp_path / "keys.txt").write_text("".join(f"{n}\n" for n in gone))
    told = run("delete", large, "--keys", tmp_path / "keys.txt", "--note", "takedown")
    assert "6 samples deleted" in told and "cache" in told and "sluice subset" in told
    dataset = sluice.Dataset(large)
    assert len(dataset) == 600 and dataset.deleted == gone
    with pytest.raises(sluice.Error, match="sample 77 was deleted"):
        dataset[77]
    assert [s.index for s in dataset] == [n for n in range(600) if n not in gone]
    assert dataset.find("77") is None and dataset.find("78") == 78
    for epoch, later in zip(before, played(dataset, 2)):
        assert [[n for n in batch["samples"] if n not in gone] for batch in epoch] == [b["samples"] for b in later]
        for batch, other in zip(epoch, later):
            kept = [row for row, n in enumerate(batch["samples"]) if n not in gone]
            assert (batch["image"][kept] == other["image"]).all()
    substituted = played(dataset, 2, order=sluice.OrderOptions(deleted="substitute"))
    for epoch, later in zip(before, substituted):
        for batch, other in zip(epoch, later):
            assert len(batch["samples"]) == len(other["samples"])
            for was, now in zip(batch["samples"], other["samples"]):
                assert now == was or (was in gone and now not in gone)
    loader = sluice.Loader(dataset, batch_size=16, ranks=sluice.RankOptions(world_size=1))
    assert len(loader.when([77], range(2))["sample"]) == 0 and len(loader.when([78], range(2))["sample"]) == 2
    with pytest.raises(sluice.Error, match="was deleted"):
        loader.row(77, 0)
    listed = sluice.SampleList.class_balanced(dataset, 100)
    for batch in played(dataset, 1, order=sluice.OrderOptions(samples=listed))[0]:
        assert not set(batch["samples"]) & set(gone)
    run("subset", large, tmp_path / "rest")
    assert len(sluice.Dataset(tmp_path / "rest")) == 594
    assert sluice.Dataset(tmp_path / "rest").deleted == []
    assert "no sample" in run("delete", large, "--keys", __file__, fails=True)


def test_edits_fold_columns_in_or_refuse(data, tmp_path):
    dataset = sluice.Dataset(data).add_column("score", numpy.arange(SAMPLES, dtype="float32"))
    dataset.replace_column("label", (numpy.arange(SAMPLES) + 1) % 3)
    (tmp_path / "gone.txt").write_text("7\n8\n")
    run("delete", data, "--samples", tmp_path / "gone.txt")
    left = [n for n in range(SAMPLES) if n not in (7, 8)]

    def check(folder, numbers):
        made = sluice.Dataset(folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        assert "columns" not in manifest and "deleted" not in manifest and "requires" not in manifest
        assert made.column("score").tolist() == numbers
        assert made.column("label").tolist() == [(n + 1) % 3 for n in numbers]
        assert run("verify", folder)

    run("subset", data, tmp_path / "subset")
    check(tmp_path / "subset", left)
    run("subset", data, tmp_path / "dogs", "--class", "dog")
    check(tmp_path / "dogs", [n for n in left if (n + 1) % 3 == 1])
    run("transcode", data, tmp_path / "transcoded", "--image", "jpeg")
    check(tmp_path / "transcoded", left)
    assert "columns" in run("merge", data, tmp_path / "subset", tmp_path / "merged", fails=True)
    run("repair", data, tmp_path / "repaired")
    check(tmp_path / "repaired", left)
    run("copy", data, tmp_path / "copy")
    assert (tmp_path / "copy" / "manifest.json").read_bytes() == (data / "manifest.json").read_bytes()
    assert run("verify", tmp_path / "copy")
    assert sluice.Dataset(tmp_path / "copy").column("score").tolist() == [n if n in left else 0 for n in range(SAMPLES)]
    run("append", "--repack", data)
    made = sluice.Dataset(data)
    assert sorted(made.column("score").tolist()) == left
    assert all(s["label"] == (s["score"] + 1) % 3 for s in made)


def flip(file, content):
    """Changes a bit where the file has the content."""
    damaged = bytearray(file.read_bytes())
    damaged[damaged.index(content) + len(content) // 2] ^= 1
    file.write_bytes(damaged)


def test_repair_folds_columns_in_but_leaves_a_damaged_column(data, tmp_path):
    scores = numpy.arange(SAMPLES, dtype="float32")
    sluice.Dataset(data).add_column("score", scores).drop_fields("pose")
    run("delete", data, "--samples", listed(tmp_path / "gone.txt", [7]))
    manifest = json.loads((data / "manifest.json").read_text())
    assert len(manifest["shards"]) == 1
    flip(data / manifest["shards"][0]["file"], picture(20).tobytes())
    told = run("repair", data, tmp_path / "repaired", fails=None)
    assert "folder/20.png" in told
    repaired = sluice.Dataset(tmp_path / "repaired")
    left = [n for n in range(SAMPLES) if n not in (7, 20)]
    assert [s.key for s in repaired] == [f"folder/{n}.png" for n in left]
    assert repaired.column("score").tolist() == left
    assert [field.name for field in repaired.fields] == ["image", "label", "boxes", "caption", "score"]
    for s, n in zip(repaired, left):
        assert (s.array("image") == picture(n)).all() and s["label"] == n % 3
    assert run("verify", tmp_path / "repaired")

    column = data / manifest["columns"][0]["shards"][0]["file"]
    flip(column, scores.tobytes())
    refused = run("repair", data, tmp_path / "none", fails=True)
    assert column.name in refused and "`sluice column drop`" in refused and not (tmp_path / "none").exists()
    run("column", "drop", data, "score")
    run("repair", data, tmp_path / "without", fails=None)
    assert len(sluice.Dataset(tmp_path / "without")) == 48


def changed(folder, first, missing, drop=True):
    """A dataset of 40 samples with two columns, a dropped field and a deleted sample, which is number 5."""
    with sluice.Writer(folder, [*FIELDS[:2], FIELDS[4]], image="raw", block_samples=8) as writer:
        for number in range(first, first + 40):
            writer.add(str(number), image=picture(number), label=number % 3, caption=caption(number))
    dataset = sluice.Dataset(folder).add_column(
        "score", numpy.arange(first, first + 39, dtype="float32"), samples=range(1, 40), missing=missing)
    dataset = dataset.replace_column("label", (numpy.arange(40) + first) % 2, classes=["odd", "even"])
    if drop:
        dataset.drop_fields("caption")
    run("delete", folder, "--samples", listed(folder.parent / "five.txt", [5]))
    return folder


def listed(file, numbers):
    file.write_text("".join(f"{number}\n" for number in numbers))
    return file


def test_merge_joins_the_same_columns_and_moves_no_sample(tmp_path):
    a, b = changed(tmp_path / "a", 0, -1), changed(tmp_path / "b", 40, -2)
    more = shutil.copytree(b, tmp_path / "more")
    sluice.Dataset(more).add_column("new", numpy.zeros(40))
    kept = changed(tmp_path / "kept", 40, -2, drop=False)
    for other, told in ((more, "those have 2 columns, and it has 3"), (kept, "other fields of it were dropped")):
        refused = run("merge", a, other, tmp_path / "none", fails=True)
        assert told in refused and "`sluice subset`" in refused and not (tmp_path / "none").exists()

    run("merge", a, b, tmp_path / "merged")
    merged = sluice.Dataset(tmp_path / "merged")
    assert merged.deleted == [5, 45]
    assert [field.name for field in merged.fields] == ["image", "label", "score"]
    living = [n for n in range(80) if n not in (5, 45)]
    scores = numpy.where(numpy.arange(80) % 40 == 0, -1 - numpy.arange(80) // 40, numpy.arange(80) - 1)
    assert merged.column("score")[living].tolist() == scores[living].tolist()
    assert merged.column("label")[living].tolist() == [n % 2 for n in living]
    assert merged.class_counts == [40, 40] and merged.classes == ["odd", "even"]
    for n in (0, 39, 40, 79):
        assert (merged[n].array("image") == picture(n)).all() and merged[n].key == str(n)
    batches = played(merged)[0]
    assert sorted(n for batch in batches for n in batch["samples"]) == living
    for batch in batches:
        assert batch["score"].ravel().tolist() == scores[batch["samples"]].tolist()
    links = {path.stat().st_ino for folder in (a, b) for path in folder.glob("*.sluice")}
    shards = json.loads((tmp_path / "merged" / "manifest.json").read_text())["shards"]
    assert all((tmp_path / "merged" / shard["file"]).stat().st_ino in links for shard in shards)
    assert run("verify", tmp_path / "merged")

    # The same samples twice: kept, or refused if some had to go.
    assert "subset" in run("merge", a, a, tmp_path / "none", "--duplicates", "drop", fails=True)
    run("merge", a, a, tmp_path / "twice", "--duplicates", "keep")
    twice = sluice.Dataset(tmp_path / "twice")
    assert twice.deleted == [5, 45]
    assert twice.column("score")[40:].tolist() == merged.column("score")[:40].tolist()
    assert run("verify", tmp_path / "twice")


def test_merge_matches_the_classes_of_a_column_by_name(tmp_path):
    for name, classes in (("a", ["x", "y"]), ("b", ["y", "z"])):
        changed(tmp_path / name, 40 * (name == "b"), 0)
        sluice.Dataset(tmp_path / name).replace_column("label", numpy.arange(40) % 2, classes=classes)
    run("merge", tmp_path / "a", tmp_path / "b", tmp_path / "merged")
    merged = sluice.Dataset(tmp_path / "merged")
    assert merged.classes == ["x", "y", "z"] and merged.class_counts == [20, 40, 20]
    living = [n for n in range(80) if n not in (5, 45)]
    assert merged.column("label")[living].tolist() == [n % 2 + n // 40 for n in living]
    assert run("verify", tmp_path / "merged")


def test_appended_samples_have_rows_in_columns(large, tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "more" / "dog").mkdir(parents=True)
    image.fromarray(picture(1001)).save(tmp_path / "more" / "dog" / "new.png")
    dataset = sluice.Dataset(large).add_column("score", numpy.arange(600, dtype="float32"))
    dataset.replace_column("label", (numpy.arange(600) + 1) % 3)
    before = (large / "manifest.json").read_bytes()
    error = run("append", tmp_path / "more", large, fails=True)
    assert '"score"' in error and "--missing" in error
    assert (large / "manifest.json").read_bytes() == before
    run("append", tmp_path / "more", large, "--missing", -1)
    dataset = sluice.Dataset(large)
    assert len(dataset) == 601 and dataset.column("score").tolist() == [*range(600), -1]
    assert dataset.column("label").tolist() == [*((n + 1) % 3 for n in range(600)), 1]  # the source says dog
    assert run("verify", large)
    assert json.loads(run("log", large, "--json"))["versions"][0]["changes"][0] == "added 1 sample"


def test_two_writers_one_wins_and_the_other_is_told(data):
    code = "import sys, sluice, numpy; sluice.Dataset(sys.argv[1]).add_column(sys.argv[2], numpy.arange(50))"
    racers = [subprocess.Popen([sys.executable, "-c", code, str(data), name], stderr=subprocess.PIPE)
              for name in ("a", "b")]
    errors = [racer.communicate()[1].decode() for racer in racers]
    names = {field.name for field in sluice.Dataset(data).fields}
    for name, racer, error in zip("ab", racers, errors):
        assert (racer.returncode == 0) == (name in names)
        assert racer.returncode == 0 or "another command" in error
    assert names & {"a", "b"}


def test_a_second_reader_made_from_the_page_reads_the_same(data):
    sluice.Dataset(data).add_column("emb", numpy.arange(SAMPLES * 3, dtype="float16").reshape(-1, 3))
    sluice.Dataset(data).replace_column("label", numpy.zeros(SAMPLES, int)).drop_fields("caption")
    reader = pathlib.Path(__file__).parent.parent / "format" / "read_from_spec.py"
    lines = subprocess.run([sys.executable, reader, data], capture_output=True, text=True, check=True).stdout.split("\n")
    of_7 = lines[lines.index("sample 7"):lines.index("sample 8")]
    assert of_7[2].startswith("  image codec") and of_7[3] == "  label 00000000"
    assert of_7[-1] == "  emb " + numpy.arange(21, 24, dtype="float16").tobytes().hex()
    assert not any(line.startswith("  caption") for line in of_7)


def remove(dataset, numbers, folder):
    (folder / "gone.txt").write_text("".join(f"{number}\n" for number in numbers))
    return run("delete", dataset, "--samples", folder / "gone.txt")


def test_a_row_that_fills_up_stays_one_when_its_sample_was_deleted(large, tmp_path):
    remove(large, range(0, 600, 3), tmp_path)
    order = sluice.OrderOptions(shuffle="sequential", deleted="substitute")
    ranks = sluice.RankOptions(world_size=1, last_batch=sluice.LastBatch.PAD)
    (*_, last) = sluice.Loader(large, 64, order=order, ranks=ranks).epoch(0)
    flags = [sluice.SampleFlag(flag) for flag in last.flags.tolist()]
    assert last.valid == 24 and flags[24:] == [sluice.SampleFlag.FILLS_UP] * 40
    assert flags[:24] == [sluice.SampleFlag.SUBSTITUTE if number % 3 == 0 else sluice.SampleFlag.OWN
                          for number in range(576, 600)]


@pytest.mark.parametrize("deleted", ["leave_out", "substitute"])
def test_deleted_samples_cost_no_second_reading_of_a_block(large, served, tmp_path, deleted):
    order = sluice.OrderOptions(deleted=deleted, lanes=2)
    remove(large, [3, 4, 5, *range(80, 104), 300, 599], tmp_path)
    mapped = played(sluice.Dataset(large), 2, order=order)
    assert len(mapped[0]) == 38
    server, url = served
    for dataset, options in (large, {"storage": sluice.Direct()}), (url, {}):
        loader = sluice.Loader(dataset, 16, order=order, threads=2, **options)
        for epoch in range(2):
            for batch, expected in zip(loader.epoch(epoch), mapped[epoch], strict=True):
                assert batch.samples.tolist() == expected["samples"]
                assert (batch["image"].numpy() == expected["image"]).all()


def test_damage_in_a_column_is_said_of_its_own_shard(data, tmp_path):
    (tmp_path / "t.csv").write_text("remark\n" + "".join(f"remark number {n}\n" for n in range(SAMPLES)))
    before = set(files(data))
    run("column", "add", data, "remark", "--from", tmp_path / "t.csv")
    (name,) = set(files(data)) - before
    content = (data / name).read_bytes()
    assert content.count(b"remark number 17") == 1
    (data / name).write_bytes(content.replace(b"remark number 17", b"remark number 18"))
    told = json.loads(run("verify", data, "--json", fails=None))
    assert [(fault["shard"], fault["sample"]) for fault in told["faults"]] == [(name, 17)]
    loader = sluice.Loader(data, 10, integrity=sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP))
    assert sum(len(batch) for batch in loader.epoch(0)) == SAMPLES - 1
    (fault,) = loader.faults()
    assert (fault.sample, fault.shard, fault.key) == (17, name, "folder/17.png") and "remark" in fault.reason
    with pytest.raises(sluice.Error, match=f"{name}: sample 17"):
        list(sluice.Loader(data, 10).epoch(0))


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_rows_of_a_damaged_column_at_a_url_are_faults_and_the_loader_plays(large, served, damage):
    server, url = served
    before = set(files(large))
    wide = numpy.arange(600 * 2048, dtype="float32").reshape(600, 2048)  # blocks of 64 samples
    sluice.Dataset(large).add_column("wide", wide)
    (name,) = set(files(large)) - before
    shard = large / name
    content = shard.read_bytes()
    at = content.index(wide[17].tobytes())
    shard.unlink() if damage == "gone" else shard.write_bytes(content[:at] + b"?" + content[at + 1:])
    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(url, 16, integrity=skip, threads=2)
    if damage == "gone":
        with pytest.raises(sluice.Error, match="no sample of the epoch could be read"):
            for _ in loader.epoch(0):
                pass
    else:
        seen = [number for batch in loader.epoch(0) for number in batch.samples.tolist()]
        assert sorted(seen) == list(range(64, 600))
    assert {fault.shard for fault in loader.faults()} == {name}
    fields = sluice.OutputOptions(fields=["image", "label"])
    assert sum(len(batch) for batch in sluice.Loader(url, 16, output=fields).epoch(0)) == 600
    shard.write_bytes(content)
    assert sum(len(batch) for batch in sluice.Loader(url, 16).epoch(0)) == 600


def test_a_version_that_cannot_be_read_is_not_taken_for_another_dataset(data):
    loader = sluice.Loader(data, 10)
    next(iter(loader.epoch(0)))
    state, first = loader.state(), sluice.Dataset(data).id
    sluice.Dataset(data).add_column("score", numpy.arange(SAMPLES))
    (data / f"manifest-{first}.json").unlink()
    (data / f"manifest-{first}.json").mkdir()
    with pytest.raises(sluice.Error) as raised:
        sluice.Loader(data, 10, resume_from=state)
    assert raised.value.code == "input/output" and first in str(raised.value)


def test_wide_columns_need_not_fit_one_row_together(data, tmp_path):
    wide = numpy.arange(SAMPLES * 10240, dtype="float32").reshape(SAMPLES, 10240)
    dataset = sluice.Dataset(data).add_column("a", wide).add_column("b", -wide)  # 40 KiB each; a row has 64 at most
    assert (dataset[7].array("b") == -wide[7]).all()
    batches = played(dataset)[0]
    assert sum(len(batch["samples"]) for batch in batches) == SAMPLES
    for batch in batches:
        assert (batch["a"] == wide[batch["samples"]]).all() and (batch["b"] == -wide[batch["samples"]]).all()
    for words in ["subset", data, tmp_path / "new"], ["transcode", data, tmp_path / "new", "--image", "jpeg"], ["append", "--repack", data]:
        assert "65536 bytes" in run(*words, fails=True)
        assert not (tmp_path / "new").exists() and sluice.Dataset(data).id == dataset.id
    run("column", "drop", data, "a")
    run("subset", data, tmp_path / "new")
    assert (sluice.Dataset(tmp_path / "new")[7].array("b") == -wide[7]).all()


def test_no_samples_are_not_all_samples(data):
    dataset = sluice.Dataset(data)
    with pytest.raises(sluice.Error, match="sample 0 is given no row"):
        dataset.add_column("new", numpy.empty(0), samples=[])
    with pytest.raises(sluice.Error, match="50 rows for 0 samples"):
        dataset.add_column("new", numpy.zeros(SAMPLES), samples=[])
    assert dataset.add_column("new", numpy.empty(0), samples=[], missing=5).column("new").tolist() == [5] * SAMPLES
    made = dataset.add_column("other", [1, 2], samples=(number for number in [3, 4]), missing=0)
    assert made.column("other").tolist()[2:6] == [0, 1, 2, 0]
    with pytest.raises(TypeError):
        dataset.add_column("third", [1.0], samples=[1.5], missing=0)


def missing_of(dataset, name):
    (field,) = [field for field in sluice.Dataset(dataset).fields if field.name == name]
    return field.attributes.get("missing")


@pytest.mark.parametrize("value", ["nan", "inf", "-1.5"])
def test_samples_appended_later_get_the_value_of_those_without_a_row(tmp_path, value):
    image = pytest.importorskip("PIL.Image")
    data = tmp_path / "data"
    with sluice.Writer(data, FIELDS[:2], image="raw") as writer:
        for number in range(SAMPLES):
            writer.add(str(number), image=picture(number), label=number % 3)
    (tmp_path / "more" / "dog").mkdir(parents=True)
    image.fromarray(picture(1001)).save(tmp_path / "more" / "dog" / "new.png")
    dataset = sluice.Dataset(data).add_column("score", numpy.ones(2, "float32"), samples=[3, 4], missing=float(value))
    assert missing_of(data, "score") == value
    (tmp_path / "t.csv").write_text("gaps,full\n" + "".join(f"{n if n % 2 else ''},{n}\n" for n in range(SAMPLES)))
    told = json.loads(run("column", "add", data, "gaps", "full", "--from", tmp_path / "t.csv", "--missing=" + value,
                          "--type", "gaps=float64", "--type", "full=float64", "--json"))
    assert told["missing"] == SAMPLES // 2
    assert missing_of(data, "gaps") == value and missing_of(data, "full") is None
    run("append", tmp_path / "more", data, "--missing", 8)
    dataset = sluice.Dataset(data)
    for name, number in ("score", value), ("gaps", value), ("full", 8):
        numpy.testing.assert_equal(dataset.column(name)[-1], float(number))
    numpy.testing.assert_equal(dataset.column("score")[:5], [float(value)] * 3 + [1, 1])
    numpy.testing.assert_equal(dataset.column("gaps")[:3], [float(value), 1, float(value)])


@pytest.mark.parametrize("cell", ["1 nan", "1 1e19", "1 0.5", "1 -1e300"])
def test_a_list_with_a_number_that_is_not_whole_is_refused(data, tmp_path, cell):
    (tmp_path / "bad.csv").write_text("pair\n" + "1 2\n" * 49 + cell + "\n")
    error = run("column", "add", data, "pair", "--from", tmp_path / "bad.csv", "--type", "pair=int64[2]", fails=True)
    assert "line 51" in error and "bad.csv" in error and ("whole number" in error or "not finite" in error)


def test_a_version_of_a_newer_sluice_is_passed_over_except_by_gc(data, tmp_path):
    first = sluice.Dataset(data).id
    newer = (data / "manifest.json").read_text().replace('"version":1', '"version":2', 1)
    sluice.Dataset(data).add_column("score", numpy.arange(SAMPLES))
    (data / "manifest-newer.json").write_text(newer)
    assert "1 sample deleted" in remove(data, [7], tmp_path)
    assert len(json.loads(run("log", data, "--json"))["versions"]) == 3
    run("tag", data, "v1", "--version", first)
    run("restore", data, "v1")
    assert "manifest-newer.json" in run("gc", data, "--keep-days", 0, "--yes", fails=True)


def test_deleting_twice_changes_nothing(data, tmp_path):
    remove(data, [7, 8], tmp_path)
    before = sorted(path.name for path in data.iterdir()), (data / "manifest.json").read_bytes()
    told = json.loads(run("delete", data, "--samples", tmp_path / "gone.txt", "--json"))
    assert told["deleted"] == 0 and told["id"] == sluice.Dataset(data).id
    assert "deleted already" in remove(data, [8], tmp_path)
    assert (sorted(path.name for path in data.iterdir()), (data / "manifest.json").read_bytes()) == before


def test_keys_to_delete_may_come_from_a_file_with_a_byte_order_mark(data, tmp_path):
    (tmp_path / "keys.txt").write_bytes("\ufefffolder/7.png\r\n\r\nfolder/9.png\r\n".encode())
    run("delete", data, "--keys", tmp_path / "keys.txt")
    assert sluice.Dataset(data).deleted == [7, 9]


def test_deleted_samples_need_no_row(data, tmp_path):
    remove(data, [0, 7], tmp_path)
    left = [n for n in range(SAMPLES) if n not in (0, 7)]
    table = tmp_path / "t.csv"
    table.write_text("key,score\n" + "".join(f"folder/{n}.png,{n}\n" for n in left))
    run("column", "add", data, "score", "--from", table, "--by-key=key")
    dataset = sluice.Dataset(data).add_column("other", numpy.array(left), samples=left)
    for name in "score", "other":
        assert dataset.column(name).tolist() == [n if n in left else 0 for n in range(SAMPLES)]
        assert missing_of(data, name) is None
    with pytest.raises(sluice.Error, match="sample 1 is given no row"):
        dataset.add_column("third", numpy.array(left[1:]), samples=left[1:])


def test_a_value_for_missing_rows_that_does_not_fit_names_the_dataset(data):
    with pytest.raises(sluice.Error, match=f'{data}: the value for samples without a row .*"new"'):
        sluice.Dataset(data).add_column("new", numpy.zeros(1, "uint8"), samples=[1], missing=300)


def test_a_lost_manifest_of_a_changed_dataset_is_not_made_anew(tmp_path):
    (tmp_path / "source").mkdir()
    for name in "abc":
        (tmp_path / "source" / f"{name}.ppm").write_bytes(b"P6 8 8 255\n" + bytes(192))
    sluice.convert(tmp_path / "source", tmp_path / "data", image="raw")
    sluice.Dataset(tmp_path / "data").add_column("score", numpy.arange(3, dtype="float32"))
    (tmp_path / "data" / "manifest.json").unlink()
    with pytest.raises(sluice.Error, match="was changed, and its manifest.json is lost; copy the newest version"):
        sluice.convert(tmp_path / "source", tmp_path / "data", image="raw")
    assert not (tmp_path / "data" / "manifest.json").exists()
