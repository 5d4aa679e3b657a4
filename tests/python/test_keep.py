"""convert(pixels="keep"): the values of files as they are; stacks of files; columns of second images; export to TIFF."""

import io
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy
import pytest
import sluice

BITS = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32}


def bits(pixels):
    return numpy.ascontiguousarray(pixels).view(BITS[pixels.dtype.itemsize])


def command(*arguments, code=0):
    program = os.environ.get("SLUICE_COMMAND")
    if not program:
        pytest.skip("SLUICE_COMMAND does not name the command")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code in (0, 3) else done.stderr


def stored(dataset, field="image"):
    return {sample.key: sample.array(field) for sample in sluice.Dataset(dataset)}


def values(dtype, *shape, seed=0):
    draws = numpy.random.default_rng(seed)
    if numpy.dtype(dtype).kind == "f":
        pixels = (draws.normal(size=shape) * 100).astype(dtype)
        pixels.reshape(-1)[:4] = [numpy.nan, numpy.inf, -numpy.inf, -0.0][: pixels.size]
        return pixels
    info = numpy.iinfo(dtype)
    return draws.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def keep(source, dataset, **options):
    return sluice.convert(source, dataset, pixels="keep", progress=False, **options)


def same(found, expected):
    found, expected = numpy.atleast_3d(found), numpy.atleast_3d(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert (bits(found) == bits(expected)).all()


# Files that are composed from the formats' own pages.


def pfm(pixels, order="<"):
    channels = 3 if pixels.ndim == 3 else 1
    head = f"{'PF' if channels == 3 else 'Pf'}\n{pixels.shape[1]} {pixels.shape[0]}\n{'-' if order == '<' else ''}1.0\n"
    return head.encode() + pixels[::-1].astype(order + "f4").tobytes()


def pnm(pixels, most):
    kind = "P6" if pixels.ndim == 3 else "P5"
    return f"{kind}\n{pixels.shape[1]} {pixels.shape[0]}\n{most}\n".encode() + pixels.astype(">u2").tobytes()


def png16(pixels):
    import zlib

    channels = 1 if pixels.ndim == 2 else pixels.shape[2]

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


TYPES = {1: "B", 2: "s", 3: "H", 4: "I", 12: "d", 16: "Q"}


def tiff(pixels, tags=(), order="<", big=False, size=None):
    """One strip, interleaved, not compressed. `tags`: (number, type, values), which replace the usual ones."""
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    content = pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()
    kind = {"u": 1, "i": 2, "f": 3}[pixels.dtype.kind]
    entries = {
        256: (4, [width]), 257: (4, [height]), 258: (3, [8 * pixels.dtype.itemsize] * channels), 259: (3, [1]),
        262: (3, [1]), 273: (4, [0]), 277: (3, [channels]), 278: (4, [height]), 279: (4, [len(content)]),
        339: (3, [kind] * channels),
    }
    entries.update({number: (type, value) for number, type, value in tags})
    offset, count, entry = ("Q", "Q", 20) if big else ("I", "H", 12)
    room = 8 if big else 4
    start = 16 if big else 8
    at = start + struct.calcsize(order + count) + entry * len(entries) + room
    blobs = {}
    for number, (type, value) in sorted(entries.items()):
        blob = value if isinstance(value, bytes) else struct.pack(f"{order}{len(value)}{TYPES[type]}", *value)
        blobs[number] = (type, len(blob) if type == 2 else len(value), blob)
    outside = sum(len(blob) + len(blob) % 2 for _, _, blob in blobs.values() if len(blob) > room)
    first = at + outside
    blobs[273] = (4, 1, struct.pack(order + "I", first))
    mark = b"II" if order == "<" else b"MM"
    if big:
        head = mark + struct.pack(order + "HHHQ", 43, 8, 0, start)
    else:
        head = mark + struct.pack(order + "HI", 42, start)
    directory, after = struct.pack(order + count, len(blobs)), b""
    for number, (type, values_in, blob) in sorted(blobs.items()):
        directory += struct.pack(order + "HH" + offset, number, type, values_in)
        if len(blob) > room:
            directory += struct.pack(order + offset, at + len(after))
            after += blob + b"\0" * (len(blob) % 2)
        else:
            directory += blob.ljust(room, b"\0")
    return head + directory + b"\0" * room + after + content


def npy(pixels):
    file = io.BytesIO()
    numpy.save(file, pixels)
    return file.getvalue()


def folder(path, files):
    path.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


@pytest.mark.parametrize("channels", (1, 3))
def test_every_kind_of_file_keeps_its_values(tmp_path, channels):
    shape = (7, 5) if channels == 1 else (7, 5, 3)
    deep, floats = values("uint16", *shape), values("float32", *shape)
    files = {"a.png": png16(deep), "b.ppm": pnm(deep, 65535), "c.npy": npy(deep), "d.tif": tiff(deep)}
    summary = keep(folder(tmp_path / "deep", files), tmp_path / "kept")
    assert summary.samples == 4 and summary.pixels == f"{channels} x uint16"
    for pixels in stored(tmp_path / "kept").values():
        same(pixels, deep)
    files = {"a.pfm": pfm(floats), "b.pfm": pfm(floats, ">"), "c.npy": npy(floats), "d.tif": tiff(floats)}
    keep(folder(tmp_path / "floats", files), tmp_path / "kept-floats")
    found = stored(tmp_path / "kept-floats")
    assert sorted(found) == sorted(files)
    for pixels in found.values():
        same(pixels, floats)


@pytest.mark.parametrize("order, big", [*itertools.product("<>", (False, True))])
@pytest.mark.parametrize("dtype", ("uint8", "uint16", "int16", "float16", "float32"))
def test_tiffs_of_each_type_order_and_form(tmp_path, dtype, order, big):
    pixels = values(dtype, 9, 4, 6)
    folder(tmp_path / "in", {"x.tif": tiff(pixels, order=order, big=big)})
    keep(tmp_path / "in", tmp_path / "kept")
    same(stored(tmp_path / "kept")["x.tif"], pixels)


@pytest.mark.parametrize("dtype", ("int8", "uint32", "int32", "int64", "float64"))
def test_larger_numbers_become_those_that_hold_each_of_them_exactly(tmp_path, dtype):
    pixels = numpy.array([[0, 1, 100], [7, 99, 127]], dtype)
    kept = numpy.dtype("int16" if dtype == "int8" else "float32")
    odd = numpy.array([[1, 2, 0.1 if dtype == "float64" else 2**24 + 1]]).astype(dtype)
    files = {"a.npy": npy(pixels), "b.npy": npy(pixels.astype(pixels.dtype.newbyteorder(">")))}
    if dtype != "int8":
        files["c.npy"] = npy(odd)
    if dtype in ("uint32", "int32", "float64"):
        files["d.tif"] = tiff(pixels)
    summary = keep(folder(tmp_path / "in", files), tmp_path / "kept")
    for pixels_found in stored(tmp_path / "kept").values():
        same(pixels_found, pixels.astype(kept))
    assert [one.path for one in summary.skipped] == (["c.npy"] if dtype != "int8" else [])
    if summary.skipped:
        assert "which float32 does not hold exactly; round its values" in summary.skipped[0].reason


def test_an_array_in_columns_is_turned_into_rows(tmp_path):
    pixels = values("int16", 6, 4, 3)
    folder(tmp_path / "in", {"a.npy": npy(numpy.asfortranarray(pixels)), "b.npy": npy(pixels)})
    keep(tmp_path / "in", tmp_path / "kept")
    for found in stored(tmp_path / "kept").values():
        same(found, pixels)


def test_the_first_readable_source_decides_and_others_are_left_out_with_the_reason(tmp_path):
    files = {
        "a.tif": b"II*\0broken", "b.npy": npy(values("uint16", 4, 4, 5)), "c.npy": npy(values("uint16", 4, 4, 3)),
        "d.npy": npy(values("float32", 4, 4, 5)), "e.jpg": b"\xff\xd8\xff\xe0" + bytes(40),
        "f.npy": npy(values("uint16", 6, 3, 5)), "notes.txt": b"no image",
    }
    summary = keep(folder(tmp_path / "in", files), tmp_path / "kept", keep_order=True)
    assert sorted(stored(tmp_path / "kept")) == ["b.npy", "f.npy"]
    reasons = {one.path: one.reason for one in summary.skipped}
    assert sorted(reasons) == ["a.tif", "c.npy", "d.npy", "e.jpg"]
    assert "holds 3 x uint16, and the first source that can be read, whose form all have, 5 x uint16" in reasons["c.npy"]
    assert "holds 5 x float32" in reasons["d.npy"]
    assert "a JPEG image; pixels are kept of PNG, PPM, PFM, NPY and TIFF" in reasons["e.jpg"]
    assert [one.path for one in summary.passed_over] == ["notes.txt"]
    plan = json.loads((tmp_path / "kept" / "plan.json").read_text())
    assert plan["sources"]["pixels"] == {"image": "5 x uint16"} and plan["options"]["pixels"] == "keep"


def test_no_data_and_geographic_tags(tmp_path):
    pixels = values("float32", 8, 8)
    pixels[:3] = -9999
    geo = [
        (33550, 12, [10.0, 10.0, 0.0]), (33922, 12, [0.0, 0.0, 0.0, 600000.0, 5700000.0, 0.0]),
        (34735, 3, [1, 1, 0, 1, 3072, 0, 1, 32631]), (34737, 2, b"WGS 84|\0"), (42113, 2, b"-9999\0"),
    ]
    files = {"a.tif": tiff(pixels, geo), "b.tif": tiff(pixels), "c.tif": tiff(pixels, [(42113, 2, b"0\0")])}
    summary = keep(folder(tmp_path / "in", files), tmp_path / "kept")
    assert [one.path for one in summary.skipped] == ["c.tif"]
    assert "has 0 for no data, and the first source that can be read, whose form all have, -9999" in summary.skipped[0].reason
    dataset = sluice.Dataset(tmp_path / "kept")
    assert dataset.fields[0].attributes == {"no_data": "-9999"}
    samples = {sample.key: sample for sample in dataset}
    assert json.loads(samples["a.tif"]["geo"]) == {
        "ModelPixelScale": [10, 10, 0], "ModelTiepoint": [0, 0, 0, 600000, 5700000, 0],
        "GeoKeyDirectory": [1, 1, 0, 1, 3072, 0, 1, 32631], "GeoAsciiParams": "WGS 84|", "GDAL_NODATA": "-9999",
    }
    assert samples["b.tif"]["geo"] is None


def test_a_file_whose_geographic_tags_have_no_field_is_left_out_with_the_reason(tmp_path):
    files = {"a.tif": tiff(values("float32", 8, 8)), "b.tif": tiff(values("float32", 8, 8), [(33550, 12, [10.0, 10.0, 0.0])])}
    summary = keep(folder(tmp_path / "in", files), tmp_path / "kept")
    assert [one.path for one in summary.skipped] == ["b.tif"]
    assert "has geographic tags, and the first source that can be read, whose form all have, has none" in summary.skipped[0].reason


def test_tags_of_another_type_than_the_standards_are_not_read(tmp_path):
    pixels = values("uint16", 4, 4, 5)
    tags = [(33550, 3, [1, 2, 3]), (34735, 12, [1.0]), (42113, 3, [5]), (34737, 4, [1])]
    keep(folder(tmp_path / "in", {"a.tif": tiff(pixels, tags)}), tmp_path / "kept")
    fields = sluice.Dataset(tmp_path / "kept").fields
    assert [field.name for field in fields] == ["image"] and not fields[0].attributes


def test_a_number_for_no_data_that_the_type_lacks_means_nothing(tmp_path):
    files = {"a.tif": tiff(values("uint16", 4, 4, 5), [(42113, 2, b"-9999\0")])}
    keep(folder(tmp_path / "in", files), tmp_path / "kept")
    assert not sluice.Dataset(tmp_path / "kept").fields[0].attributes
    files = {"a.tif": tiff(values("float32", 4, 4, 5), [(42113, 2, b"-3.40282346638529e+38\0")])}
    keep(folder(tmp_path / "in2", files), tmp_path / "kept2")
    least = float(sluice.Dataset(tmp_path / "kept2").fields[0].attributes["no_data"])
    assert least == float(numpy.finfo("float32").min)


def header_of(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    "name, content, reason",
    [
        ("a.tif", tiff(numpy.zeros((1, 1), "u2"), [(256, 4, [2**31]), (257, 4, [2**31]), (278, 4, [2**31])]), "broken TIFF"),
        ("a.tif", tiff(numpy.zeros((1, 1), "u2"), [(number, 4, [2**20]) for number in (256, 257, 278)]), "more than the 178"),
        ("a.tif", tiff(numpy.zeros((1, 1), "f4"), [(256, 4, [1600]), (257, 4, [1000]), (278, 4, [1000])]), "broken TIFF"),
        ("a.tif", tiff(numpy.zeros((4, 4, 70), "u1")), "has 70 channels; images have at most 64"),
        ("a.npy", header_of((30000, 5000)) + bytes(100), "broken NPY: it is cut short"),
        ("a.npy", header_of((2**31, 2**31)) + bytes(100), "pixels, more than the"),
        ("a.npy", header_of((2, 3, 4, 5)) + bytes(480), "its array has 4 dimensions"),
        ("a.npy", header_of((10000, 10000, 60)) + bytes(100), "bytes as pixels, more than the 1073741824"),
        ("a.npy", header_of("(2, x)") + bytes(100), "its shape cannot be read"),
        ("a.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 60000) + b"{", "broken NPY: it is cut short"),
        ("a.npy", npy(numpy.zeros(3, [("x", "f4")])), "unsupported NPY"),
        ("a.npy", npy(numpy.zeros((2, 2), "c8")), "unsupported NPY"),
        ("a.pfm", b"Pf\n30000 5000\n-1.0\n" + bytes(100), "its pixels end early"),
        ("a.pfm", b"PF\n99999999999 9999999999\n-1.0\n" + bytes(100), "pixels, more than the"),
        ("a.pgm", b"P5\n30000 5000\n65535\n" + bytes(100), "its pixels end early"),
        ("a.tif", tiff(numpy.zeros((4, 4, 3), "u1"), [(262, 3, [6])]), "its colours are coded as YCbCr"),
        ("a.tif", tiff(numpy.zeros((4, 4), "u2"), [(339, 3, [5])]), "its values are complex numbers of 16 bits"),
    ],
)
def test_hostile_files_are_refused_with_the_reason(tmp_path, name, content, reason):
    folder(tmp_path / "in", {name: content})
    with pytest.raises(sluice.Error, match="none of its 1 images could be converted") as raised:
        keep(tmp_path / "in", tmp_path / "kept")
    assert reason in str(raised.value)


def test_every_cut_of_a_file_is_refused(tmp_path):
    pixels = values("uint16", 6, 5)
    for name, whole in {"a.npy": npy(pixels), "a.pfm": pfm(values("float32", 6, 5)), "a.tif": tiff(pixels)}.items():
        for end in {9, 40, len(whole) // 2, len(whole) - 1}:
            folder(tmp_path / f"{name}{end}", {name: whole[:end]})
            with pytest.raises(sluice.Error):
                keep(tmp_path / f"{name}{end}", tmp_path / f"{name}{end}-kept")


def test_options_that_do_not_go_with_keep_are_refused(tmp_path):
    folder(tmp_path / "in", {"a.npy": npy(values("uint16", 4, 4))})
    with pytest.raises(sluice.Error, match="stores images in their own sizes, so short_side and size do not"):
        keep(tmp_path / "in", tmp_path / "out", size=(4, 4))
    with pytest.raises(sluice.Error, match="stack.* needs pixels"):
        sluice.convert(tmp_path / "in", tmp_path / "out", stack=["a"], progress=False)
    with pytest.raises(sluice.Error, match="names a twice"):
        keep(tmp_path / "in", tmp_path / "out", stack=["a", "a"])
    with pytest.raises(sluice.Error, match="needs a conversion"):
        sluice.Source(tmp_path / "in", pixels="keep")
    for name, value in {"max_side": 64, "quality": 80, "image": "raw", "keep": True, "channels": 1}.items():
        with pytest.raises(sluice.Error, match=f"{'quality keep' if name == 'keep' else name} is for 8-bit pictures, and pixels keep"):
            keep(tmp_path / "in", tmp_path / "out", **{name: value})
    for flag in (["--max-side", "64"], ["--quality", "80"], ["--image", "raw"], ["--icc", "drop"]):
        message = command("convert", tmp_path / "in", tmp_path / "out", "--pixels", "keep", *flag, code=2)
        assert f"{flag[0]} is for 8-bit pictures" in message
    assert "--stack needs --pixels keep" in command("convert", tmp_path / "in", tmp_path / "o", "--stack", "a", code=2)


def test_without_keep_a_line_names_it_and_nothing_else_changes(tmp_path):
    files = {"a.png": png16(values("uint16", 8, 8, 3)), "b.npy": npy(values("uint16", 4, 4))}
    text = command("convert", folder(tmp_path / "in", files), tmp_path / "out")
    assert "rounded    1 image of more than 8 bits to 8; --pixels keep stores their values as they are" in text
    assert "NPY image, whose numbers are no 8-bit picture; --pixels keep stores them as they are" in text
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert not {"pixels", "stack", "stack_resize"} & set(plan["options"]) and "pixels" not in plan["sources"]
    message = command("convert", tmp_path / "in", tmp_path / "out", "--pixels", "keep", code=1)
    assert 'pixels was not set then and is "keep" now' in message


def test_a_conversion_in_parts_gives_the_same_bytes(tmp_path):
    geo = [(33550, 12, [10.0, 10.0, 0.0]), (42113, 2, b"7\0")]
    files = {f"{i}_{band}.tif": tiff(values("uint16", 20, 30 + i, seed=i), geo) for i in range(5) for band in ("r", "n")}
    folder(tmp_path / "in", files)
    options = ["--pixels", "keep", "--stack", "n,r"]
    command("convert", tmp_path / "in", tmp_path / "whole", *options)
    for name, resumes in ("parts", False), ("resumed", True):
        command("plan", tmp_path / "in", tmp_path / name, *options)
        command("convert", "--part", "0/2", tmp_path / name)
        if resumes:  # as after an interruption
            command("convert", tmp_path / "in", tmp_path / name, *options)
        else:
            command("convert", "--part", "1/2", tmp_path / name)
            command("finish", tmp_path / name)
        names = sorted(file.name for file in (tmp_path / "whole").iterdir())
        assert names == sorted(file.name for file in (tmp_path / name).iterdir())
        for file in names:
            assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / name / file).read_bytes(), file
    message = command("convert", tmp_path / "in", tmp_path / "whole", "--pixels", "keep", "--stack", "r,n", code=1)
    assert "stack was" in message


def test_files_of_bands_become_channels_in_the_given_order(tmp_path):
    bands = {name: values("uint16", 9, 7, seed=i) for i, name in enumerate(("B02", "B03", "B8A"))}
    files = {f"tile/one_{name}.tif": tiff(pixels) for name, pixels in bands.items()}
    files |= {"tile/two_B02.tif": tiff(bands["B02"]), "tile/two_B8A.tif": tiff(bands["B8A"])}
    files |= {"tile/three_B01.tif": tiff(bands["B02"])}
    summary = keep(folder(tmp_path / "in", files), tmp_path / "kept", stack=["B8A", "B02", "B03"])
    assert summary.pixels == "3 x uint16"
    found = stored(tmp_path / "kept")
    assert list(found) == ["tile/one"]
    same(found["tile/one"], numpy.stack([bands["B8A"], bands["B02"], bands["B03"]], -1))
    assert sluice.Dataset(tmp_path / "kept").fields[0].attributes["channels"] == "B8A,B02,B03"
    assert [(one.path, one.reason) for one in summary.skipped] == [
        ("tile/two", "has no file for the channel B03: tile/two_B03 with the ending of an image")
    ]
    assert [one.path for one in summary.passed_over] == ["tile/three_B01.tif"]
    loader = sluice.Loader(
        tmp_path / "kept", 1, output=sluice.OutputOptions(bands={"image": ["B03", "B8A"]}), order=sluice.OrderOptions("sequential")
    )
    batch = next(iter(loader.epoch(0)))
    assert (numpy.array(batch["image"])[0] == numpy.stack([bands["B03"], bands["B8A"]], -1)).all()


def test_bands_of_other_sizes_are_refused_or_resized(tmp_path):
    ten = values("float32", 20, 20, seed=1)
    ten[:] = numpy.arange(20)[None]
    twenty = numpy.repeat(numpy.arange(10, dtype="float32")[None], 10, 0)
    twenty[:, 5] = -1
    files = {"a_x.tif": tiff(ten, [(42113, 2, b"-1\0")]), "a_y.tif": tiff(twenty, [(42113, 2, b"-1\0")])}
    folder(tmp_path / "in", files)
    with pytest.raises(sluice.Error, match="its file a_y.tif has 10x10 pixels, and the first file of the sample 20x20"):
        keep(tmp_path / "in", tmp_path / "kept", stack=["x", "y"])
    keep(tmp_path / "in", tmp_path / "nearest", stack=["x", "y"], stack_resize="nearest")
    found = stored(tmp_path / "nearest")["a"]
    assert (found[..., 0] == ten).all() and (found[..., 1] == numpy.repeat(numpy.repeat(twenty, 2, 0), 2, 1)).all()
    keep(tmp_path / "in", tmp_path / "linear", stack=["x", "y"], stack_resize="linear")
    line = stored(tmp_path / "linear")["a"][4, :, 1]
    # The triangle filter gives each of two new pixels 3/4 of its own pixel and 1/4 of the next one.
    assert line[2] == 0.75 and line[3] == 1.25
    # No data has no weight: its neighbours keep their own values, and what it covers itself is no data.
    assert line[9] == 4 and line[10] == line[11] == -1 and line[12] == 6


def test_an_image_of_a_column_follows_the_crop(tmp_path):
    image = pytest.importorskip("PIL.Image")
    height, width = 60, 80
    y, x = numpy.mgrid[:height, :width]
    depth = (x + 100 * y).astype("float32")
    rgb = numpy.stack([x, y, x * 0], -1).astype("uint8")
    source = tmp_path / "in"
    source.mkdir()
    image.fromarray(rgb).save(source / "a.png")
    numpy.save(source / "a.npy", depth)
    (source / "a.tif").write_bytes(tiff(depth.astype("uint16")))
    (source / "labels.csv").write_text("path,depth,near\na.png,a.npy,a.tif\n")
    table = sluice.ConvertSource.table(source / "labels.csv")
    table.rows.columns = [sluice.Column("depth", "image"), sluice.Column("near", "image", nearest=True)]
    sluice.convert(table, tmp_path / "kept", image="raw", max_side=None, progress=False)
    fields = sluice.Dataset(tmp_path / "kept").fields
    assert [(field.name, field.follows) for field in fields] == [("image", ""), ("depth", "image"), ("near", "image")]
    same(stored(tmp_path / "kept", "depth")["a.png"], depth)
    same(stored(tmp_path / "kept", "near")["a.png"], depth.astype("uint16"))
    loader = sluice.Loader(tmp_path / "kept", 1, transform=[sluice.RandomCrop(32), sluice.HorizontalFlip()])
    for epoch in range(4):
        batch = next(iter(loader.epoch(epoch)))
        picture, deep, near = (numpy.array(batch[name])[0] for name in ("image", "depth", "near"))
        expected = picture[..., 0] + 100.0 * picture[..., 1]
        assert (deep[..., 0] == expected).all() and (near.reshape(32, 32) == expected).all()
    # Converted to half of the size: depths are mixed, and the nearest ones are not.
    sluice.convert(table, tmp_path / "half", image="raw", max_side=40, progress=False)
    mixed = stored(tmp_path / "half", "depth")["a.png"]
    assert mixed.shape == (30, 40) and mixed[5, 7] == pytest.approx(depth[10:12, 14:16].mean())
    nearest = stored(tmp_path / "half", "near")["a.png"]
    assert set(nearest.reshape(-1)) <= set(depth.astype("uint16").reshape(-1))
    command(
        "convert", "--table", source / "labels.csv", tmp_path / "same", "--image", "raw", "--no-resize",
        "--field", "depth=image", "--field", "near=image:nearest",
    )
    for name in ("shard-00000.sluice",):
        first = next((tmp_path / "same").glob("*.sluice"))
        assert first.read_bytes() == (tmp_path / "kept" / first.name).read_bytes()
    assert "is not a form of image" in command(
        "convert", "--table", source / "labels.csv", tmp_path / "x", "--field", "depth=image:cubic", code=2
    )


def test_an_image_of_a_column_that_does_not_fit_is_left_out(tmp_path):
    image = pytest.importorskip("PIL.Image")
    source = tmp_path / "in"
    source.mkdir()
    for name in "abcd":
        image.fromarray(numpy.zeros((6, 6, 3), "uint8")).save(source / f"{name}.png")
    numpy.save(source / "a.npy", values("float32", 6, 6))
    numpy.save(source / "b.npy", values("float32", 5, 6))
    numpy.save(source / "c.npy", values("int16", 6, 6))
    (source / "d.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(30))
    (source / "t.csv").write_text("path,depth\na.png,a.npy\nb.png,b.npy\nc.png,c.npy\nd.png,d.jpg\n")
    table = sluice.ConvertSource.table(source / "t.csv")
    table.rows.columns = [sluice.Column("depth", "image")]
    summary = sluice.convert(table, tmp_path / "kept", progress=False)
    reasons = {one.path: one.reason for one in summary.skipped}
    assert sorted(reasons) == ["b.png", "c.png", "d.png"] and summary.samples == 1
    assert "its depth is 6x5 and the image 6x6" in reasons["b.png"]
    assert "its depth holds 1 x int16" in reasons["c.png"]
    assert "the image d.jpg is not a PNG, PPM, PFM, NPY or TIFF" in reasons["d.png"]


def directory_of(file):
    """The tags of a little-endian classic TIFF: {number: values}."""
    (at,) = struct.unpack_from("<I", file, 4)
    (count,) = struct.unpack_from("<H", file, at)
    found = {}
    for i in range(count):
        number, type, many = struct.unpack_from("<HHI", file, at + 2 + 12 * i)
        size = struct.calcsize("<" + TYPES[type]) * many
        where = at + 10 + 12 * i if size <= 4 else struct.unpack_from("<I", file, at + 10 + 12 * i)[0]
        found[number] = struct.unpack_from(f"<{'' if type == 2 else many}{many if type == 2 else ''}{TYPES[type]}", file, where)
    return found


@pytest.mark.parametrize("dtype, channels", (("float32", 5), ("int16", 1), ("uint16", 3), ("float16", 2), ("uint8", 9)))
def test_an_export_to_tiff_holds_the_same_values(tmp_path, dtype, channels):
    pixels = values(dtype, 11, 6, channels)
    geo = [(33550, 12, [10.0, 10.0, 0.0]), (34735, 3, [1, 1, 0, 0]), (34737, 2, b"WGS 84|\0"), (42113, 2, b"5\0")]
    folder(tmp_path / "in", {"x/a.tif": tiff(pixels, geo)})
    keep(tmp_path / "in", tmp_path / "kept", keep_order=True)
    command("export", tmp_path / "kept", tmp_path / "files", "--wide", "tiff")
    file = (tmp_path / "files" / "images" / "x" / "a.tif").read_bytes()
    tags = directory_of(file)
    assert (tags[256], tags[257], tags[277]) == ((6,), (11,), (channels,))
    assert tags[339] == ({"u": 1, "i": 2, "f": 3}[pixels.dtype.kind],) * channels
    assert tags[33550] == (10, 10, 0) and tags[34735] == (1, 1, 0, 0) and tags[34737] == (b"WGS 84|\0",)
    assert tags[42113] == (b"5\0",)
    assert file[tags[273][0] :] == pixels.tobytes()
    keep(tmp_path / "files" / "images", tmp_path / "again", keep_order=True)
    same(stored(tmp_path / "again")["x/a.tif"], pixels)
    tifffile = pytest.importorskip("tifffile")
    assert tifffile.imread(tmp_path / "files" / "images" / "x" / "a.tif").tobytes() == pixels.tobytes()


# What tifffile writes, in every form. Each option of these has another value from file to file.
FORMS = {
    "byteorder": "<>", "bigtiff": (False, True), "planarconfig": ("contig", "separate"),
    "tile": (None, (16, 16), (256, 256)), "rowsperstrip": (1, 7, None),
    "compression": (None, "zlib", "lzw", "zstd", "packbits"), "predictor": (False, True),
    "channels": (1, 3, 5, 13, 64), "size": ((1, 1), (1, 257), (257, 1), (33, 35)),
}


@pytest.mark.parametrize("dtype", ("uint8", "uint16", "int16", "float16", "float32"))
def test_files_of_tifffile_in_every_form(tmp_path, dtype):
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("imagecodecs")
    draws = numpy.random.default_rng(len(dtype))
    by_form, count = {}, 0
    while count < 60:
        form = {name: choices[draws.integers(len(choices))] for name, choices in FORMS.items()}
        channels, size = form.pop("channels"), form.pop("size")
        if form["compression"] in (None, "packbits"):
            form["predictor"] = False
        if form["tile"] is not None:
            form["rowsperstrip"] = None
        pixels = values(dtype, *size, channels, seed=count)
        file = io.BytesIO()
        written = pixels if form["planarconfig"] == "contig" else pixels.transpose(2, 0, 1)
        options = {"photometric": "minisblack"}
        options.update({name: value for name, value in form.items() if name not in ("byteorder", "bigtiff")})
        if channels == 1:
            written, options["planarconfig"] = pixels[..., 0], None
        try:
            tifffile.imwrite(file, written, byteorder=form["byteorder"], bigtiff=form["bigtiff"], **options)
        except (ValueError, NotImplementedError):
            continue  # no such form
        count += 1
        by_form.setdefault(channels, {})[f"{count:03}.tif"] = (file.getvalue(), pixels)
    for channels, files in by_form.items():
        source = folder(tmp_path / f"{channels}", {name: content for name, (content, _) in files.items()})
        summary = keep(source, tmp_path / f"{channels}-kept")
        found = stored(tmp_path / f"{channels}-kept")
        assert not summary.skipped and sorted(found) == sorted(files)
        for name, (content, pixels) in files.items():
            again = tifffile.imread(io.BytesIO(content))
            if again.ndim == 3 and channels > 1 and again.shape[0] == channels and again.shape != pixels.shape:
                again = again.transpose(1, 2, 0)
            assert again.tobytes() == pixels.tobytes()
            same(found[name], pixels)


def test_geotiffs_that_gdal_writes(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    from rasterio.transform import from_origin

    pixels = values("int16", 200, 300, 4)
    profile = dict(
        driver="GTiff", height=200, width=300, count=4, dtype="int16", nodata=-32768, crs="EPSG:32631", tiled=True,
        transform=from_origin(600000, 5700000, 10, 10), blockxsize=64, blockysize=64, compress="deflate", sparse_ok=True,
    )
    pixels[:64, :64] = -32768
    (tmp_path / "in").mkdir()
    for name, interleave in (("a.tif", "band"), ("b.tif", "pixel")):
        with rasterio.open(tmp_path / "in" / name, "w", interleave=interleave, **profile) as file:
            file.write(pixels.transpose(2, 0, 1))
    keep(tmp_path / "in", tmp_path / "kept")
    for found in stored(tmp_path / "kept").values():
        same(found, pixels)
    dataset = sluice.Dataset(tmp_path / "kept")
    assert dataset.fields[0].attributes["no_data"] == "-32768"
    command("export", tmp_path / "kept", tmp_path / "files", "--wide", "tiff")
    with rasterio.open(tmp_path / "files" / "images" / "a.tif") as file:
        assert (file.read() == pixels.transpose(2, 0, 1)).all()
        assert file.crs.to_epsg() == 32631 and file.nodata == -32768 and file.transform.a == 10


@pytest.mark.parametrize("dtype", ["uint16", "int16", "float32"])
def test_a_mixed_value_never_becomes_the_number_for_no_data(tmp_path, dtype):
    first = numpy.full((16, 16), 7, dtype)
    coarse = numpy.where(numpy.arange(8) % 2 == 0, 98, 106).astype(dtype)[None].repeat(8, 0)  # mixed to 100 and 104
    folder(tmp_path / "in", {"a_x.tif": tiff(first, [(42113, 2, b"100\0")]), "a_y.tif": tiff(coarse, [(42113, 2, b"100\0")])})
    with pytest.raises(sluice.Error, match="16x16"):
        keep(tmp_path / "in", tmp_path / "refused", stack=["x", "y"])
    keep(tmp_path / "in", tmp_path / "kept", stack=["x", "y"], stack_resize="linear")
    line = stored(tmp_path / "kept")["a"][3, :, 1]
    above = numpy.nextafter(numpy.float32(100), numpy.float32(200)) if dtype == "float32" else 101
    assert list(line[1:5]) == [above, 104, 104, above]


def test_append_says_which_attribute_differs_and_what_to_do(tmp_path):
    pixels = values("float32", 8, 8)
    keep(folder(tmp_path / "in", {"a.tif": tiff(pixels, [(42113, 2, b"-9999\0")])}), tmp_path / "kept")
    folder(tmp_path / "more", {"b.tif": tiff(pixels, [(42113, 2, b"-1\0")])})
    message = command("append", tmp_path / "more", tmp_path / "kept", code=2)
    assert 'field "image" of the source has the no_data "-1", but the dataset has "-9999"; convert it to another' in message
    message = command("append", folder(tmp_path / "plain", {"c.npy": npy(pixels)}), tmp_path / "kept", code=2)
    assert 'has the no_data none, but the dataset has "-9999"; convert it to another' in message
    message = command("append", folder(tmp_path / "geo", {"d.tif": tiff(pixels, [(33550, 12, [9.0, 9.0, 0.0])])}), tmp_path / "kept", code=2)
    assert "the source has the fields image, geo, but the dataset has image; convert it to another" in message


def test_append_counts_deleted_samples_as_held_and_says_so(tmp_path):
    folder(tmp_path / "in", {name: npy(values("uint16", 6, 6, seed=i)) for i, name in enumerate(("a.npy", "b.npy"))})
    keep(tmp_path / "in", tmp_path / "kept")
    (tmp_path / "keys.txt").write_text("a.npy\n")
    command("delete", tmp_path / "kept", "--keys", tmp_path / "keys.txt")
    text = command("append", tmp_path / "in", tmp_path / "kept")
    assert "nothing was added" in text
    folder(tmp_path / "in", {"c.npy": npy(values("uint16", 6, 6, seed=9))})
    message = command("append", tmp_path / "in", tmp_path / "kept", code=2)
    assert "already holds 2 of the samples to add" in message
    assert "samples that were deleted (1) count as held, too: `sluice restore` brings them back" in message


def test_append_takes_the_datasets_pixels(tmp_path):
    first, second = values("uint16", 6, 6, 5, seed=1), values("uint16", 7, 6, 5, seed=2)
    keep(folder(tmp_path / "in", {"a.npy": npy(first)}), tmp_path / "kept")
    command("append", folder(tmp_path / "more", {"b.npy": npy(second)}), tmp_path / "kept")
    found = stored(tmp_path / "kept")
    same(found["a.npy"], first)
    same(found["b.npy"], second)


# Files for the guide's programs that read them by their own libraries: each function writes them and returns the data
# set that the program makes, and the values that it must have.


def dicom(place):
    import pydicom
    from pydicom.dataset import FileDataset, FileMetaDataset

    pixels = values("int16", 12, 9)
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = pydicom.uid.CTImageStorage
    meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    scan = FileDataset("a.dcm", {}, file_meta=meta, preamble=b"\0" * 128)
    scan.SOPClassUID, scan.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    scan.Rows, scan.Columns, scan.SamplesPerPixel, scan.PhotometricInterpretation = 12, 9, 1, "MONOCHROME2"
    scan.BitsAllocated = scan.BitsStored = 16
    scan.HighBit, scan.PixelRepresentation, scan.PixelData = 15, 1, pixels.tobytes()
    (place / "scans" / "p1").mkdir(parents=True)
    scan.save_as(place / "scans" / "p1" / "a.dcm", enforce_file_format=True)
    return "scans", {"scans/p1/a.dcm": pixels}


def exr(place):
    import OpenEXR

    pixels = numpy.random.default_rng(0).normal(size=(8, 6, 3)).astype("float16")
    (place / "renders").mkdir()
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"RGB": pixels}).write(str(place / "renders" / "a.exr"))
    return "renders", {"renders/a.exr": pixels}


def hdf5(place):
    import h5py

    patches = values("uint16", 3, 7, 5, 6)
    with h5py.File(place / "tiles.h5", "w") as file:
        file["patches"] = patches
    return "tiles", {str(number): patch for number, patch in enumerate(patches)}


def zarr_store(place):
    import zarr

    patches = values("float32", 3, 7, 5, 4)
    zarr.open(place / "cubes.zarr", mode="w").create_array("patches", data=patches)
    return "cubes", {str(number): patch for number, patch in enumerate(patches)}


@pytest.mark.parametrize("module, make", (("pydicom", dicom), ("OpenEXR", exr), ("h5py", hdf5), ("zarr", zarr_store)))
def test_the_guides_programs_keep_the_values_of_other_files(tmp_path, module, make):
    pytest.importorskip(module)
    page = (pathlib.Path(__file__).parents[2] / "samples/guides/many-bands.md").read_text()
    code = page.split(f"```python {module} program\n")[1].split("```")[0]
    assert len(code.splitlines()) <= 9  # eight lines, and one that is empty
    name, expected = make(tmp_path)
    (tmp_path / "data").mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    found = stored(tmp_path / "data" / name)
    assert sorted(found) == sorted(expected)
    for key, pixels in expected.items():
        same(found[key], pixels)
