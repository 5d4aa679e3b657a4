#!/usr/bin/env python3
"""How fast `sluice convert` is from each form that it takes, beside a folder of the same files.

    bench/notebook/forms.py SLUICE PHOTOS WORK [--rounds 5] [--threads N]

Makes a tar, TFRecord, RecordIO, .beton and (where pyarrow is) Parquet of the JPEGs below PHOTOS in WORK, unless they
are there, and converts each in turn: resized as by default, and kept as they are, where reading is what costs. Prints
the median images/s of the rounds and its ratio to the folder's of the same round. On a machine that does nothing else.
"""
import argparse
import io
import json
import os
import pathlib
import statistics
import struct
import subprocess
import tarfile
import tempfile
import time


def tar(files, path):
    with tarfile.open(path, "w") as out:
        for i, file in enumerate(files):
            data = file.read_bytes()
            info = tarfile.TarInfo(f"{i:07}.jpg")
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))


def crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def field(number, data):
    size, length = len(data), b""
    while size >= 128:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def tfrecord(files, path):
    with open(path, "wb") as out:
        for file in files:
            values = field(1, field(1, file.read_bytes()))
            data = field(1, field(1, field(1, b"image/encoded") + field(2, values)))
            length = struct.pack("<Q", len(data))
            out.write(length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data)))


def recordio(files, path):
    magic = struct.pack("<I", 0xCED7230A)
    with open(path, "wb") as out:
        for i, file in enumerate(files):
            data = struct.pack("<IfQQ", 0, 0, i, 0) + file.read_bytes()
            parts, begin = [], 0
            for at in range(0, len(data) - 3, 4):  # in parts where the magic number stands
                if data[at:at + 4] == magic:
                    parts.append(data[begin:at])
                    begin = at + 4
            parts.append(data[begin:])
            for k, part in enumerate(parts):
                kind = 0 if len(parts) == 1 else 1 if k == 0 else 3 if k == len(parts) - 1 else 2
                out.write(magic + struct.pack("<I", kind << 29 | len(part)) + part + b"\0" * (-len(part) % 4))


def beton(files, path):
    page = 1 << 23
    begin = -(-(24 + 1041 + 13 * len(files)) // page) * page
    rows, allocations, at = b"", b"", begin
    with open(path, "wb") as out:
        for i, file in enumerate(files):
            data = file.read_bytes()
            if at // page != (at + len(data) - 1) // page:
                at = -(-at // page) * page
            out.seek(at)
            out.write(data)
            rows += struct.pack("<BHHQ", 0, 0, 0, at)
            allocations += struct.pack("<QQQ", i, at, len(data))
            at += len(data)
        at = -(-at // page) * page
        out.seek(at)
        out.write(allocations)
        out.seek(0)
        out.write(struct.pack("<HHIQQ", 2, 1, page, len(files), at) + b"\2image".ljust(1041, b"\0") + rows)


def parquet(files, path):
    import pyarrow as pa
    import pyarrow.parquet as pq
    schema = pa.schema([("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
        for begin in range(0, len(files), 100):
            rows = [{"bytes": f.read_bytes(), "path": f"{begin + i}.jpg"}
                    for i, f in enumerate(files[begin:begin + 100])]
            out.write_table(pa.table({"image": pa.array(rows, schema.field("image").type)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sluice")
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    files = sorted(f for f in arguments.photos.rglob("*") if f.suffix.lower() in (".jpg", ".jpeg"))
    if not files:
        raise SystemExit(f"{arguments.photos}: no JPEGs")
    arguments.work.mkdir(parents=True, exist_ok=True)
    sources = {"folder": arguments.photos}
    for name, make in {"tar": tar, "parquet": parquet, "tfrecord": tfrecord, "rec": recordio, "beton": beton}.items():
        path = arguments.work / f"photos.{name}"
        try:
            if not path.exists():
                make(files, path.with_suffix(".part"))
                path.with_suffix(".part").rename(path)
            sources[name] = path
        except ImportError as error:
            print(f"without {name}: {error}")
    for title, options in {"resized to 500": [], "kept": ["--quality", "keep", "--no-resize"]}.items():
        rates = {name: [] for name in sources}
        for _ in range(arguments.rounds + 1):
            for name, source in sources.items():
                scratch = tempfile.TemporaryDirectory(dir=arguments.work)
                data = pathlib.Path(scratch.name) / "data"
                begin = time.monotonic()
                done = subprocess.run([arguments.sluice, "convert", source, data, "--json", "--no-labels", "--threads",
                                       str(arguments.threads), *options], capture_output=True, text=True)
                seconds = time.monotonic() - begin
                if done.returncode not in (0, 3):
                    raise SystemExit(f"{name}: {done.stderr}")
                rates[name].append(json.loads(done.stdout)["samples"] / seconds)
                scratch.cleanup()
        print(f"{title}: {len(files)} JPEGs, {arguments.threads} threads, {arguments.rounds} rounds after one to warm up")
        for name, rate in rates.items():
            ratio = statistics.median(a / b for a, b in list(zip(rate, rates["folder"]))[1:])
            print(f"  {name:10} {statistics.median(rate[1:]):9.1f} images/s   {ratio:5.2f} of the folder's")


if __name__ == "__main__":
    main()
