"""The sources of sluice.convert(): folders, tables, label files; its options; and sluice.Source, which plays them."""

import json
import pickle
import shutil
import signal
import tarfile
import warnings

import numpy
import pytest
import sluice
from conftest import SIDE, picture

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train/ and val/ with a/ and b/ below, two pictures in each."""
    root = tmp_path_factory.mktemp("images")
    for number in range(8):
        place = root / ("train", "val")[number // 4] / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(number)).save(place / f"{number}.png")
    return root


def test_folders_that_look_like_a_split_are_refused_or_converted(folder, tmp_path):
    assert sluice.find_split_folders(folder) == ["train", "val"]
    with pytest.raises(sluice.Error, match="train"):
        sluice.convert(folder, tmp_path / "all")
    source = sluice.ConvertSource(folder)
    source.label.folders = sluice.FolderLabels.PARENT
    assert sluice.find_classes(source) == ["a", "b"]
    assert sluice.convert(source, tmp_path / "all").class_counts == [4, 4]


def test_warnings_of_a_conversion_are_python_warnings_and_in_its_summary(folder, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("file,label,age\ntrain/a/0.png,cat,3\nval/b/5.png,dog,4\n")
    source = sluice.ConvertSource.table(table)
    source.root = folder
    with pytest.warns(sluice.ConvertWarning, match="^columns not used: age$") as caught:
        summary = sluice.convert(source, tmp_path / "data")
    assert [warning.filename for warning in caught] == [__file__]
    assert issubclass(sluice.ConvertWarning, UserWarning)
    assert repr(summary) == ("ConvertSummary(2 samples in 1 shards, 0 left out, classes 0 cat, 1 dog; "
                             "warning: columns not used: age)")


def test_a_summary_says_what_happened_to_the_pictures(tmp_path):
    (tmp_path / "in").mkdir()
    for name, side in ("small", 20), ("large", 40):
        Image.new("RGB", (side, side)).save(tmp_path / f"in/{name}.jpg")
    summary = sluice.convert(tmp_path / "in", tmp_path / "out", max_side=30)
    assert (summary.shrunk, summary.reencoded) == (1, 2)
    assert repr(summary) == "ConvertSummary(2 samples in 1 shards, 0 left out, 1 shrunk, 2 JPEGs encoded anew)"


def test_rows_of_one_value_go_to_one_part(folder, tmp_path):
    table = tmp_path / "table.csv"
    rows = [f"{part}/{letter}/{number}.png,who{number % 3}" for number, (part, letter) in
            enumerate([("train", "a"), ("train", "b")] * 2 + [("val", "a"), ("val", "b")] * 2)]
    table.write_text("file,who\n" + "\n".join(rows) + "\n")
    seen = []
    for part, (begin, end) in {"train": (0, 0.6), "val": (0.6, 1)}.items():
        source = sluice.ConvertSource.table(table)
        source.root = folder
        source.split = sluice.SplitPart(begin, end, by="who")
        sluice.convert(source, tmp_path / part)
        seen.append({int(sample.key[-5]) % 3 for sample in sluice.Dataset(tmp_path / part)})
    assert seen[0] | seen[1] == {0, 1, 2} and not seen[0] & seen[1]
    with pytest.raises(sluice.Error, match=r"has no column \"whom\"; did you mean \"who\"\?"):
        source.split.by = "whom"
        sluice.convert(source, tmp_path / "x")


def test_a_conversion_of_good_sources_gives_no_warning(folder, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sluice.convert(folder / "train", tmp_path / "data")


def test_rows_of_a_table_are_grouped(folder, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("file,what,box\ntrain/a/0.png,cat,\"1,2,3,4\"\ntrain/a/0.png,dog,\"5,6,7,8\"\nval/b/5.png,dog,\"0,0,9,9\"\n")
    source = sluice.ConvertSource.table(table)
    source.root = folder
    source.rows.columns = [sluice.Column("box", sluice.ColumnType.BOXES, "boxes", sluice.BoxFormat.XYWH),
                      sluice.Column("what", sluice.ColumnType.BOX_CLASSES)]
    source.rows.group = True
    sluice.convert(source, tmp_path / "data", keep_order=True)
    first, second = sluice.Dataset(tmp_path / "data")
    assert first["boxes"].tolist() == [[1, 2, 4, 6], [5, 6, 12, 14]] and first["what"].tolist() == [0, 1]
    assert second["boxes"].tolist() == [[0, 0, 9, 9]] and second["what"].tolist() == [1]


def test_coco_files_give_boxes_and_classes(folder, tmp_path):
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({
        "images": [{"id": 1, "file_name": "train/a/0.png", "width": SIDE, "height": SIDE}],
        "categories": [{"id": 7, "name": "eel"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 7, "bbox": [2, 3, 4, 5], "area": 20, "iscrowd": 0}],
    }))
    source = sluice.ConvertSource.annotated(sluice.AnnotationFormat.COCO, labels, folder)
    source.label_files.parts = sluice.AnnotationParts(masks=False)
    sluice.convert(source, tmp_path / "data")
    (sample,) = sluice.Dataset(tmp_path / "data")
    assert sample["boxes"].tolist() == [[2, 3, 6, 8]] and sample["classes"].tolist() == [0]


@pytest.mark.parametrize("form", ["file", "pillow"])
def test_a_writer_takes_boxes_of_a_turned_picture_only_with_upright(tmp_path, form):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (40, 24)).save(tmp_path / "a.jpg", exif=exif)
    picture = (tmp_path / "a.jpg").read_bytes() if form == "file" else Image.open(tmp_path / "a.jpg")
    boxes = sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels")
    fields = [sluice.Field.image(), boxes]
    values = {"image": picture, "boxes": numpy.float32([[1, 2, 3, 4]])}
    with sluice.Writer(tmp_path / "asked", fields) as writer:
        with pytest.raises((sluice.Error, ValueError), match=r"sample .one.: Exif turns.*boxes.*Writer\(upright=True\)"):
            writer.add("one", values)
        writer.add("empty", {**values, "boxes": numpy.zeros((0, 4), numpy.float32)})
        writer.add("none", image=picture)
    with sluice.Writer(tmp_path / "upright", fields, upright=True) as writer:
        writer.add("one", values)
    sample = sluice.Dataset(tmp_path / "upright")[0]
    assert sample["image"].size == (24, 40) and sample["boxes"].tolist() == [[1, 2, 3, 4]]


def test_boxes_of_turned_pictures_refer_to_the_upright_picture_by_default(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by half
    (tmp_path / "in").mkdir()
    Image.new("RGB", (40, 30)).save(tmp_path / "in" / "a.jpg", exif=exif)
    (tmp_path / "in" / "t.csv").write_text("path,box\na.jpg,1 2 3 4\n")
    source = sluice.ConvertSource.table(tmp_path / "in" / "t.csv")
    source.rows.columns = [sluice.Column("box", sluice.ColumnType.BOXES)]
    assert source.upright is None

    def convert(name):
        summary = sluice.convert(source, tmp_path / name)
        (sample,) = sluice.Dataset(tmp_path / name)
        return sample["box"].tolist(), [text for text in summary.warnings if "orientation" in text], summary.turned

    with pytest.warns(sluice.ConvertWarning, match="with ConvertSource.upright = False; ConvertSource.upright = True confirms"):
        box, (warning,), turned = convert("upright")
    assert box == [[1, 2, 3, 4]] and "a.jpg" in warning and "ConvertSource.upright = False" in warning
    assert turned.count == 1 and turned.examples == ["a.jpg"]
    source.upright = False
    assert convert("stored")[:2] == ([[37, 26, 39, 28]], [])
    source.upright = True
    assert convert("confirmed")[:2] == ([[1, 2, 3, 4]], [])
    source.upright = None
    assert source.upright is None


def test_a_picture_replaced_by_another_of_its_size_is_noticed(tmp_path):
    (tmp_path / "in").mkdir()
    Image.new("L", (8, 8), 7).save(tmp_path / "in" / "a.bmp")
    sluice.convert(tmp_path / "in", tmp_path / "data")
    Image.new("L", (8, 8), 8).save(tmp_path / "in" / "a.bmp")
    with pytest.raises(sluice.Error, match="1 source changed, such as a.bmp"):
        sluice.convert(tmp_path / "in", tmp_path / "data")


def test_options_of_a_conversion_take_effect(folder, tmp_path):
    Image.fromarray(numpy.zeros((8, 8, 4), numpy.uint8), "RGBA").save(tmp_path / "clear.png")
    (tmp_path / "same.png").write_bytes((tmp_path / "clear.png").read_bytes())
    source = sluice.ConvertSource.paths(["clear.png", "same.png"], tmp_path)
    summary = sluice.convert(source, tmp_path / "data", image=sluice.ImageCodec.RAW, size=(4, 6),
                             background=(1, 2, 3), find_duplicates=True)
    assert [[one.path for one in group] for group in summary.duplicates] == [["clear.png", "same.png"]]
    pixels = sluice.Dataset(tmp_path / "data")[0].array("image")
    assert pixels.shape == (6, 4, 3) and (pixels == (1, 2, 3)).all()
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(sluice.Error, match="broken.png"):
        sluice.convert(sluice.ConvertSource.paths(["broken.png", "clear.png"], tmp_path), tmp_path / "failed",
                       on_error=sluice.OnError.FAIL)
    with pytest.raises(sluice.Error, match="max_side"):
        sluice.convert(source, tmp_path / "both", size=(4, 6), max_side=400)


def test_ctrl_c_stops_a_conversion_and_it_resumes(folder, tmp_path):
    source = sluice.ConvertSource(folder)
    source.label.store = False

    def interrupt(done, total):
        signal.raise_signal(signal.SIGINT)  # in this thread, at once

    with pytest.raises(KeyboardInterrupt):
        sluice.convert(source, tmp_path / "data", progress=interrupt)
    with pytest.raises(ZeroDivisionError):
        sluice.convert(source, tmp_path / "other", progress=lambda done, total: 1 / 0)
    assert sluice.convert(source, tmp_path / "data", progress=False).samples == 8


def crops(dataset):
    """The batches of an epoch, as bytes."""
    loader = sluice.Loader(dataset, 2, transform="rrc:16", seed=3, threads=2)
    return [(batch["image"].numpy().tobytes(), batch.samples.tolist()) for batch in loader.epoch(1)]


def test_a_source_plays_the_same_batches_as_its_conversion(folder, tmp_path):
    sluice.convert(folder / "train", tmp_path / "data", keep=True, max_side=None)
    source = sluice.Source(folder / "train")
    assert isinstance(source, sluice.Dataset)
    assert len(source) == 4
    assert source.classes == ["a", "b"]
    assert source.class_counts == [2, 2]
    stored = sluice.Dataset(tmp_path / "data")
    assert [sample.key for sample in source] == [sample.key for sample in stored]
    assert all((a.array("image") == b.array("image")).all() for a, b in zip(source, stored))
    assert crops(source) == crops(stored) == crops(sluice.Source(sluice.ConvertSource(folder / "train")))
    loader = sluice.Loader(source, 2, transform="rrc:16")
    list(loader.epoch(0))
    assert loader.stats().file_make_seconds > 0


def test_a_source_takes_the_options_of_convert(folder):
    small = sluice.Source(folder / "train", size=(8, 6), image="raw", channels=1, keep=False, keep_order=True)
    assert small[0].array("image").shape == (6, 8)
    assert [sample.key for sample in small] == ["a/0.png", "a/2.png", "b/1.png", "b/3.png"]
    with pytest.raises(TypeError, match="did you mean 'channels'"):
        sluice.Source(folder / "train", chanels=1)


def test_a_source_is_compiled_while_it_plays(folder, tmp_path):
    data = tmp_path / "data"
    expected = crops(sluice.Source(folder / "train"))
    source = sluice.Source(folder / "train", compile_to=data)
    while not (data / "manifest.json").exists():
        assert crops(source) == expected
    assert crops(source) == expected
    assert crops(sluice.Dataset(data)) == expected
    with pytest.raises(sluice.Error, match="other options"):
        sluice.Source(folder / "train", compile_to=data, channels=1)


def test_a_compilation_that_fails_is_a_warning_of_pythons(folder, tmp_path):
    data = tmp_path / "data"
    sluice.convert(folder / "train", data, keep=True, max_side=None)
    for name in ("manifest.json", "shard-00000.sluice"):
        (data / name).unlink()
    (data / "shard-00000.sluice").mkdir()
    (data / "shard-00000.sluice" / "in the way").touch()
    with pytest.warns(sluice.ConvertWarning, match="not compiled any further") as caught:
        source = sluice.Source(folder / "train", compile_to=data)
        while not caught:
            crops(source)


def test_an_index_keeps_the_list_of_a_source(folder, tmp_path):
    index = tmp_path / "index"
    first = sluice.Source(folder / "val", index=index)
    assert index.exists()
    again = sluice.Source(folder / "val", index=index)
    assert again.id == first.id
    with pytest.raises(sluice.Error, match="another source"):
        sluice.Source(folder / "train", index=index)


def test_a_table_and_the_path_of_an_archive_are_sources(folder, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(f"file,label\n{folder}/train/a/0.png,cat\n{folder}/val/b/5.png,dog\n")
    source = sluice.ConvertSource.table(table)
    source.root = "/"
    assert sluice.Source(source).classes == ["cat", "dog"]
    archive = tmp_path / "pictures.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(folder / "train/a/0.png", "first.png")
        tar.add(folder / "train/a/2.png", "second.png")
    assert sorted(sample.key for sample in sluice.Source(archive)) == ["first", "second"]


def test_a_picture_of_a_source_that_cannot_be_read_is_a_fault(folder, tmp_path):
    photos = tmp_path / "photos"
    shutil.copytree(folder / "train", photos)
    (photos / "a" / "2.png").write_bytes((photos / "a" / "2.png").read_bytes()[:60])
    source = sluice.Source(photos)
    number = source.find("a/2.png")
    with pytest.raises(sluice.Error, match="a/2.png"):
        source[number].array("image")
    skipping = sluice.Loader(source, 2, transform="rrc:16", integrity=sluice.IntegrityOptions(on_fault="skip"))
    assert sum(len(batch.samples) for batch in skipping.epoch(0)) == 3


def test_a_source_cannot_be_pickled(folder):
    with pytest.raises(TypeError, match="with an index"):
        pickle.dumps(sluice.Source(folder / "train"))
