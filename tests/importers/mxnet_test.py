"""RecordIO from MXNet: images and labels equal those that MXNet reads, also if labels are several numbers or boxes."""

import importers

importers.need("mxnet")

import json
import struct

import mxnet

KEEP = ["--quality", "keep", "--no-resize"]


def decoded(content):
    return mxnet.image.imdecode(content).asnumpy()


def written(place, name, labels):
    """Writes a file with a record for each picture. labels[i] is the label of picture i: a number, or an array. Returns
    the file's path, and the records as MXNet reads them."""
    file = place.folder / f"{name}.rec"
    out = mxnet.recordio.MXIndexedRecordIO(str(file.with_suffix(".idx")), str(file), "w")
    for i, (path, _) in enumerate(place.files):
        content = path.read_bytes()
        if i % 2:  # the magic number after the picture, at which MXNet cuts a record into parts
            content += b"\0" * (-len(content) % 4) + struct.pack("<I", 0xCED7230A) * 3
        out.write_idx(i, mxnet.recordio.pack(mxnet.recordio.IRHeader(0, labels[i], i, 0), content))
    out.close()
    back = mxnet.recordio.MXRecordIO(str(file), "r")
    return file, [mxnet.recordio.unpack(back.read()) for _ in place.files]


with importers.Workplace() as place:
    file, samples = written(place, "train", [float(label) for _, label in place.files])
    names = place.folder / "names.txt"
    names.write_text("\n".join(place.classes) + "\n")
    rows = place.convert([file], *KEEP, "--classes", names)
    importers.check("samples", len(rows), len(samples))
    for i, (row, (header, content)) in enumerate(zip(rows, samples)):
        importers.check_pixels(f"image {i}", decoded, row["image"], content)
        importers.check(f"label {i}", row["label"], place.classes[int(header.label)])
    file, samples = written(place, "several", [[i, i / 2, -1.5] for i in range(len(place.files))])
    for i, (row, (header, _)) in enumerate(zip(place.convert([file], *KEEP, name="several"), samples)):
        importers.check(f"labels {i}", json.loads(row["labels"]), header.label.tolist())
    # As MXNet's im2rec.py writes with --pack-label: a head of two numbers, then five numbers for each object.
    file, samples = written(place, "detection", [
        [2, 5] + [v for k in range(i % 3) for v in (k % 2, .125, .25 * k, .5, .75)] for i in range(len(place.files))])
    rows = place.convert([file], *KEEP, name="detection")
    for i, (row, (header, content)) in enumerate(zip(rows, samples)):
        height, width, _ = decoded(content).shape
        objects = header.label[2:].reshape(-1, 5).tolist()
        importers.check(f"boxes {i}", json.loads(row["boxes"]),
                        [[a * width, b * height, c * width, d * height] for _, a, b, c, d in objects])
        importers.check(f"kinds {i}", row["classes"].replace("[]", ""), "|".join(f"{o[0]:.0f}" for o in objects))
