"""sluice.Dataset, sluice.convert() of a folder, and sluice.Writer."""

import concurrent.futures
import io
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import numpy
import pytest
import sluice
from conftest import FIELDS, boxes, caption, picture, sample

Image = pytest.importorskip("PIL.Image")


def test_samples_are_read_as_they_were_written(raw):
    dataset = sluice.Dataset(raw)
    assert len(dataset) == 50 and dataset.fields == FIELDS
    for number in 0, 7, -1:
        one = dataset[number]
        at = number % 50
        assert one.index == at and one.key == f"folder/{at}.png"
        assert (numpy.asarray(one["image"]) == picture(at)).all()
        assert (one.array("image") == picture(at)).all()
        assert one["label"] == at % 3
        assert (one["boxes"] == boxes(at)).all()
        assert one["caption"] == caption(at)
    with pytest.raises(IndexError):
        dataset[50]
    with pytest.raises(KeyError, match="depth"):
        dataset[0]["depth"]
    assert dataset.find("folder/31.png") == 31 and dataset.find("none") is None
    assert dataset.column("label").tolist() == [number % 3 for number in range(50)]
    assert dataset.class_counts == [17, 17, 16]


def test_a_writers_dataset_can_be_read_from_the_formats_page_alone(raw):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "format"))
    import read_from_spec

    def content(line):  # "caption codec 3 28b52f..."
        words = line.split()
        payload = b"" if words[-1] == "-" else bytes.fromhex(words[-1])
        return read_from_spec.inflate(payload) if words[2] == "3" else payload

    lines = []
    read_from_spec.print_samples(raw, lines.append)
    assert len(lines) == 50 * 7  # a line for the sample's number, one for its key, and one for each field
    for number in range(50):
        _, key, image, label, pose, box, text = lines[7 * number : 7 * number + 7]
        assert bytes.fromhex(key.split()[1]) == f"folder/{number}.png".encode()
        assert image.split()[:4] == ["image", "codec", "1", "32x32x3"] and content(image) == picture(number).tobytes()
        assert bytes.fromhex(label.split()[1]) == (number % 3).to_bytes(4, "little")
        assert bytes.fromhex(pose.split()[1]) == numpy.full((2, 2), number / 4).tobytes()
        assert content(box) == boxes(number).tobytes()
        assert text.strip() == "caption codec 0" if caption(number) is None else content(text) == caption(number).encode()


def test_a_dataset_has_the_metadata_that_it_was_written_with(raw, tmp_path):
    meta = {"license": "CC-BY-4.0", "source": "a formula"}
    with sluice.Writer(tmp_path / "written", FIELDS[:2], meta=meta) as writer:
        writer.add("0", image=picture(0), label=0)
    (tmp_path / "photos").mkdir()
    Image.fromarray(picture(1)).save(tmp_path / "photos/1.png")
    sluice.convert(tmp_path / "photos", tmp_path / "converted", meta=meta, progress=False)
    assert sluice.Dataset(tmp_path / "written").meta == sluice.Dataset(tmp_path / "converted").meta == meta
    assert sluice.Dataset(raw).meta == {}
    with pytest.raises(sluice.Error, match="a name of the metadata is empty"):
        sluice.Writer(tmp_path / "other", FIELDS[:2], meta={"": "x"})


def test_an_older_manifest_can_be_opened_as_a_dataset(jpeg, tmp_path):
    shutil.copytree(jpeg, tmp_path / "data")
    now = sluice.Dataset(tmp_path / "data")
    old = tmp_path / f"data/manifest-{now.id}.json"
    (tmp_path / "data/manifest.json").rename(old)
    dataset = sluice.Dataset(old)
    assert dataset.id == now.id and dataset.path == str(old)
    assert pickle.loads(pickle.dumps(dataset))[3].key == now[3].key
    assert sum(batch.valid for batch in sluice.Loader(old, 64)) == 200


def test_a_dataset_has_a_readable_repr(raw):
    dataset = sluice.Dataset(raw)
    assert "50 samples" in repr(dataset) and "caption (bytes)" in repr(dataset)
    page = dataset._repr_html_()
    assert page.count("<img") == 12 and "cat" in page
    frame = pytest.importorskip("pandas") and dataset.to_pandas()
    assert list(frame.columns) == ["label"] and frame.label.sum() == sum(n % 3 for n in range(50))


def test_a_folder_is_converted(tmp_path):
    for number in range(6):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(number)).save(folder / f"{number}.png")
    (tmp_path / "photos/a/broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    seen = []
    summary = sluice.convert(
        tmp_path / "photos",
        tmp_path / "dataset",
        image=sluice.ImageCodec.RAW,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert summary.samples == 6 and summary.classes == ["a", "b"] and seen[-1] == (7, 7)
    assert sluice.Dataset(tmp_path / "dataset").classes == ["a", "b"]
    assert [one.path for one in summary.skipped] == ["a/broken.jpg"]
    dataset = sluice.Dataset(tmp_path / "dataset")
    assert (dataset[dataset.find("b/3.png")].array("image") == picture(3)).all()
    with pytest.raises(sluice.Error) as raised:
        sluice.convert(tmp_path / "photos", tmp_path / "dataset", max_side=20)
    assert raised.value.code == "exists"


def test_images_are_written_from_any_kind_of_object(tmp_path):
    pixels = picture(1)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=95)
    fields = [sluice.Field.image(), sluice.Field.mask("mask", "image")]
    mask = (pixels[..., 0] // 100).astype(numpy.uint8)
    palette = Image.fromarray(mask, "P")
    with sluice.Writer(tmp_path / "dataset", fields, quality=95) as writer:
        writer.add("array", image=pixels, mask=mask)
        writer.add("picture", image=Image.fromarray(pixels), mask=palette)
        writer.add("transparent", image=Image.fromarray(pixels).convert("RGBA"))
        writer.add("file", image=file.getvalue())
        writer.add(os.fsdecode(b"odd\xff"), image=pixels[..., 0])
        assert len(writer) == 5
    dataset = sluice.Dataset(tmp_path / "dataset")
    assert dataset[3].payload() == file.getvalue()
    assert dataset[4].key == os.fsdecode(b"odd\xff") and dataset[4].array("image").ndim == 2
    for number in 0, 1, 2:
        assert numpy.abs(dataset[number].array("image").astype(int) - pixels).mean() < 20
        assert dataset[number].payload()[:2] == b"\xff\xd8"
    assert (dataset[0].array("mask") == mask).all() and (dataset[1].array("mask") == mask).all()
    assert dataset[2]["mask"] is None


def test_several_threads_write_many_samples_in_order(tmp_path):
    with sluice.Writer(tmp_path / "dataset", FIELDS, image="packed") as writer:
        writer.add_all(((str(number), sample(number)) for number in range(60)), threads=3)
    dataset = sluice.Dataset(tmp_path / "dataset")
    assert [dataset[number].key for number in range(60)] == [str(number) for number in range(60)]


def test_values_that_do_not_fit_are_refused_and_the_writer_continues(tmp_path):
    with sluice.Writer(tmp_path / "dataset", FIELDS) as writer:
        for wrong, kind in [
            ({"image": numpy.full((4, 4, 3), 0.1)}, ValueError),
            ({"image": b"no jpeg"}, sluice.Error),
            ({"label": 1.5}, ValueError),
            ({"label": 2**40}, ValueError),
            ({"label": 7}, sluice.Error),
            ({"pose": [1.0, 2.0]}, sluice.Error),
            ({"depth": 1}, KeyError),
        ]:
            with pytest.raises(kind):
                writer.add("one", {**sample(1), **wrong})
        writer.add("one", sample(1))
    assert len(sluice.Dataset(tmp_path / "dataset")) == 1
    with pytest.raises(sluice.Error) as raised:
        sluice.Writer(tmp_path / "dataset", FIELDS)
    assert raised.value.code == "exists"


def test_the_error_for_an_invalid_text_or_json_names_field_and_sample(tmp_path):
    fields = [sluice.Field.bytes("caption", "text"), sluice.Field.bytes("facts", "json"), sluice.Field.bytes("blob")]
    with sluice.Writer(tmp_path / "data", fields) as writer:
        for field, content, reason in [
            ("caption", b"caf\xe9", "is not UTF-8 from byte 4"),
            ("caption", "half \ud800", "is not UTF-8 from byte 6"),
            ("facts", "{", "is not JSON"),
            ("facts", b'{"a": 1, "a": 2}', 'the member "a" twice'),
            ("facts", b"{}\0", "a zero byte"),
        ]:
            with pytest.raises(sluice.Error, match=f'sample "one": field "{field}" has the role .*{reason}'):
                writer.add("one", {field: content})
        writer.add("one", caption="café", facts='{"a": 1.5}', blob=b"caf\xe9\0")
    assert len(sluice.Dataset(tmp_path / "data")) == 1


def test_a_writer_names_the_shape_that_does_not_fit_and_the_key_that_is_none(tmp_path):
    writer = sluice.Writer(tmp_path / "made", [sluice.Field.image()])
    with pytest.raises(ValueError, match=r"not an array of shape \(3, 8, 9\) \(channels first: use pixels.transpose\(1, 2, 0\)\)"):
        writer.add("a", image=numpy.zeros((3, 8, 9), numpy.uint8))
    with pytest.raises(ValueError, match=r"not an array of shape \(2, 8, 9, 3\)$"):
        writer.add("a", image=numpy.zeros((2, 8, 9, 3), numpy.uint8))
    with pytest.raises(TypeError, match="a sample's key is a str or bytes, not 3$"):
        writer.add(3, image=numpy.zeros((8, 9, 3), numpy.uint8))


def test_a_misspelt_attribute_of_a_writer_is_refused(tmp_path):
    writer = sluice.Writer(tmp_path / "made", FIELDS)
    with pytest.raises(AttributeError, match="quality"):
        writer.quality = 80


def test_an_exception_leaves_no_dataset(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with sluice.Writer(tmp_path / "dataset", FIELDS) as writer:
            writer.add("one", sample(1))
            1 / 0
    with pytest.raises(sluice.Error) as raised:
        sluice.Dataset(tmp_path / "dataset")
    assert raised.value.code in ("not found", "unfinished")


def test_pillow_images_that_would_lose_information_are_refused(tmp_path):
    image = pytest.importorskip("PIL.Image")
    with sluice.Writer(tmp_path / "data", FIELDS[:1]) as writer:
        for mode in ("I", "F", "RGBA", "LA"):  # new() fills with zeros: transparent in the last two
            with pytest.raises(ValueError, match="image"):
                writer.add(mode, image=image.new(mode, (8, 8)))
        writer.add("cmyk", image=image.new("CMYK", (8, 8)))
    assert len(sluice.Dataset(tmp_path / "data")) == 1


def test_a_truncated_jpeg_is_refused(tmp_path):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.fromarray(picture(1)).save(file, "JPEG")
    with sluice.Writer(tmp_path / "data", FIELDS[:1]) as writer:
        with pytest.raises(sluice.Error, match="cut short"):
            writer.add("half", image=file.getvalue()[:-20])
        writer.add("whole", image=file.getvalue())


def test_a_new_writer_may_use_the_folder_after_an_exception(tmp_path):
    for _ in range(2):
        with pytest.raises(KeyError, match="no field"):
            with sluice.Writer(tmp_path / "data", FIELDS[:1]) as writer:
                writer.add("a", imag=picture(1))
        with pytest.raises(ValueError, match="create a new Writer"):
            writer.add("a", image=picture(1))


def test_several_threads_add_samples(tmp_path):
    with sluice.Writer(tmp_path / "data", FIELDS[:2], image=sluice.ImageCodec.RAW) as writer:
        def add(part):
            for number in range(part, 100, 4):
                writer.add(str(number), image=picture(number), label=0)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(4)))
    dataset = sluice.Dataset(tmp_path / "data")
    assert sorted(int(dataset[i].key) for i in range(len(dataset))) == list(range(100))


def test_numbers_and_truth_values_are_not_accepted_as_enumerators():
    for make in (lambda: sluice.OrderOptions(shuffle=False), lambda: sluice.OutputOptions(layout=1),
                 lambda: sluice.IntegrityOptions(on_fault=True)):
        with pytest.raises(TypeError):
            make()
    order = sluice.OrderOptions()
    with pytest.raises(TypeError):
        order.shuffle = False
    order.shuffle = sluice.Shuffle.RANDOM
    assert order.shuffle == sluice.Shuffle.RANDOM


UNMAPPED = """
import ctypes, platform, struct, sys, warnings
import numpy
import sluice

# From here on, mapping a file for reading fails with ENODEV, as on a file system that cannot map files.
MMAP = {"x86_64": 9, "aarch64": 222}[platform.machine()]
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
code = [(LOAD, 0, 0, 0), (EQUALS, 0, 5, MMAP), (LOAD, 0, 0, 32), (EQUALS, 0, 3, 1),  # PROT_READ
        (LOAD, 0, 0, 48), (EQUALS, 1, 0, 0xFFFFFFFF),  # anonymous memory
        (RETURN, 0, 0, 0x00050000 | 19), (RETURN, 0, 0, 0x7FFF0000)]  # ENODEV
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
program = struct.pack("H6xQ", len(code), ctypes.addressof(text))
prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) != 0 or prctl(22, 2, program) != 0:
    sys.exit(77)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    for _ in range(2):
        played = sum(len(batch.samples) for batch in sluice.Loader(sys.argv[1], 16).epoch(0))
print(played, [str(one.message).count("cannot map files") for one in caught])
"""


def test_where_no_file_can_be_mapped_a_warning_says_so_once(raw):
    played = subprocess.run([sys.executable, "-c", UNMAPPED, raw], stdout=subprocess.PIPE, text=True, timeout=300)
    if played.returncode == 77:
        pytest.skip("this system lets no process filter its system calls")
    assert played.stdout == f"{len(sluice.Dataset(raw))} [1]\n"


CUT = """
import os, sys, glob, sluice
dataset = sluice.Dataset(sys.argv[1])
read = {
    "label": lambda: dataset[30]["label"],
    "pose": lambda: dataset[30]["pose"],
    "boxes": lambda: dataset[31]["boxes"],
    "caption": lambda: dataset[31]["caption"],
    "image": lambda: dataset[30].array("image"),
    "payload": lambda: dataset[30].payload(),
    "column": lambda: dataset.column("label"),
    "key": lambda: dataset[30].key,
    "find": lambda: dataset.find("folder/30.png"),
}
for one in read.values():
    one()
for shard in glob.glob(os.path.join(sys.argv[1], "*.sluice")):
    os.truncate(shard, 0)
for name, one in read.items():
    try:
        one()
        print(name, "was read" if name not in ("key", "find") else "was cut short")  # these two may be kept in memory
    except sluice.Error as error:
        print(name, "was cut short" if "was cut short" in str(error) else error)
"""


def test_reading_a_truncated_shard_is_an_error(raw, tmp_path):
    shutil.copytree(raw, tmp_path / "cut")
    read = subprocess.run([sys.executable, "-c", CUT, tmp_path / "cut"], stdout=subprocess.PIPE, text=True, timeout=300)
    assert read.returncode == 0
    lines = read.stdout.splitlines()
    assert len(lines) == 9 and all(line.endswith("was cut short") for line in lines), lines


def test_truth_values_are_taken_for_a_mask_and_not_for_pixels(tmp_path):
    pixels = numpy.indices((8, 8)).sum(0) % 2 == 1
    with sluice.Writer(tmp_path / "made", [sluice.Field.image(), sluice.Field.mask("mask")], image="raw") as writer:
        with pytest.raises(TypeError, match=r"'image' is given truth values.* pixels \* numpy.uint8\(255\)"):
            writer.add("a", image=pixels, mask=pixels)
        writer.add("a", image=pixels * numpy.uint8(255), mask=pixels)
    stored = sluice.Dataset(tmp_path / "made")[0]
    assert (stored.array("image") == pixels * 255).all() and (stored.array("mask") == pixels).all()
