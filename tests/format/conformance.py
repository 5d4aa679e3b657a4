#!/usr/bin/env python3
"""Writes small datasets, valid and broken ones, with what a reader and a verifier must say of each.

    conformance.py FOLDER                  writes a folder for each case, and FOLDER/verdicts.json
    conformance.py FOLDER --check SLUICE   then compares the verdicts with those of `SLUICE verify --decode`

The bytes follow format/FORMAT.md alone, without any of the project's code. Needs the module `xxhash`; without it, the
exit code is 77. verdicts.json is a list of objects:

    name, page, what   the case's folder, the section of FORMAT.md that decides it, and what is special about it
    open               "valid", or "refused": no reader may open the dataset (check 1)
    verify             "sound", or "faults": a program that verifies must complain (also if "open" is "refused")
    samples            for each sample its "key" and its "values" by field. "fault" stands for what must not be
                       delivered, "any" for what a reader may deliver in any form or refuse, null for an absent value;
                       all else is hexadecimal. A value is its content after
                       decompression. That of an image is an object: width, height, channels, pixel_type, and pixels

An entry of CASES makes a default dataset (FIELDS, SAMPLES, blocks of four) and changes it: other arguments of Dataset,
or hooks, by the name of a stage (see Dataset.at). Each hook runs before the checksum over its bytes is taken, unless
its name says "after". So all checksums are right except where a case is about them.
"""

import concurrent.futures
import json
import pathlib
import struct
import subprocess
import sys

try:
    import xxhash
except ImportError:
    print("the module xxhash is not installed")
    sys.exit(77)

PAGE = 4096
SIZES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "float16": 2, "float32": 4,
         "float64": 8}
IMAGE = {"name": "image", "kind": "image", "role": "image"}
LABEL = {"name": "label", "kind": "array", "dtype": "int32", "shape": [], "role": "label", "classes": ["ant", "bee"]}
CAPTION = {"name": "caption", "kind": "bytes", "role": "text"}
POINTS = {"name": "points", "kind": "variable", "dtype": "float32", "shape": [2]}
FIELDS = [IMAGE, LABEL, CAPTION, POINTS]


def check64(data):
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(data)))


def digest(data):
    return xxhash.xxh3_128_hexdigest(bytes(data))


def padded(data, alignment):
    return bytes(data) + bytes(-len(data) % alignment)


def zstd(content, size=None, header=b""):
    """A frame that stores its content. `size`: what the frame declares instead of the content's size."""
    size = struct.pack("<Q", len(content) if size is None else size)
    block = len(content) << 3 | 1
    return b"\x28\xB5\x2F\xFD" + (header or b"\xE0" + size) + block.to_bytes(3, "little") + content


def jpeg(progressive=False, width=8, sampling=None):
    """A picture whose values are all 144 (DC 8 with steps of 16): a grey one of 8 x 8, or one of 16 x 16 in Y Cb Cr,
    whose first component has these sampling factors."""
    def segment(marker, content):
        return bytes([255, marker]) + struct.pack(">H", len(content) + 2) + content
    across, down = sampling or (1, 1)
    size, ids = (16, 16) if sampling else (8, width), b"\1\2\3" if sampling else b"\1"
    components = [bytes([1, across << 4 | down, 0]), b"\2\x11\0", b"\3\x11\0"][:len(ids)]
    dc = b"\x00\x01\x01" + bytes(14) + b"\x00\x04"  # the code 0 for a difference of 0, 10 for one of 4 bits
    ac = b"\x10\x01" + bytes(15) + b"\x00"  # the code 0 for the end of a block
    mcus = -(-size[1] // (8 * across)) * -(-size[0] // (8 * down))
    blocks = mcus * (across * down + len(ids) - 1)
    scan = bytes([len(ids), *(byte for one in ids for byte in (one, 0)), 0, 0 if progressive else 63, 0])
    bits = "101000" + ("" if progressive else "0" + "00" * (blocks - 1))
    bits += "1" * (-len(bits) % 8)
    return (b"\xFF\xD8" + segment(0xDB, b"\x00" + b"\x10" * 64)
            + segment(0xC2 if progressive else 0xC0, struct.pack(">BHHB", 8, *size, len(ids)) + b"".join(components))
            + segment(0xC4, dc) + (b"" if progressive else segment(0xC4, ac))
            + segment(0xDA, scan) + int(bits, 2).to_bytes(len(bits) // 8, "big") + b"\xFF\xD9")


def packed(dc=(8, -8), form=1):
    """A grey picture of 16 x 8 pixels: with these DC coefficients, a block of 144 and one of 112."""
    row = struct.pack("<IBBhh", 0, 0, 0, *dc)
    head = bytes([form, 1, 0x11, 1]) + struct.pack("<HH", 16, 8) + bytes(3) + b"\x00\x01\x00\x01\x00\x01\x01" + bytes(6)
    head += b"\x10" * 64
    return head + struct.pack("<I", len(head) + 4 + len(row)) + row + bytes(16)


TYPES = (("uint8", 1), ("uint16", 2), ("int16", 2), ("float16", 2), ("float32", 4))  # pixel types and their bytes


def tiled(value, tile=lambda t: t):
    """The same image, of at most 128 x 128 pixels, as tiled: a plain tile of each channel."""
    width, height, channels, kind = value.size
    size = TYPES[kind][1]
    pixels = [value.content[i:i + size] for i in range(0, len(value.content), size)]
    if kind > 2:  # floats are put in order: all bits are inverted if the sign is set, else the sign alone
        top = 1 << (8 * size - 1)
        numbers = (int.from_bytes(pixel, "little") for pixel in pixels)
        pixels = [(n ^ (2 * top - 1) if n & top else n | top).to_bytes(size, "little") for n in numbers]
    tiles = [bytes(4) + b"".join(pixels[c::channels]) for c in range(channels)]
    low = lambda data: xxhash.xxh3_64_intdigest(data) & 0xFFFFFFFF
    end, directory = 20 + 8 * channels, b""
    for data in tiles:
        end += len(data)
        directory += struct.pack("<II", end, low(data))
    covered = struct.pack("<BBHHHII", 1, 0, 128, 128, 0, 0, 0) + directory
    return u32(low(covered)) + covered + tile(b"".join(tiles)) + bytes(32)


class Value:
    """A value of a bytes, variable or image field. `fault`: whether it must not be delivered."""

    def __init__(self, content, codec=1, payload=None, size=None, fault=False, flags=0):
        self.content, self.codec, self.fault, self.flags = content, codec, fault, flags
        self.payload = content if payload is None else payload
        self.size = size  # of an image: width, height, channels, pixel type

    def expected(self):
        if self.fault or self.size is None:
            return "fault" if self.fault else self.content.hex()
        width, height, channels, kind = self.size
        return {"width": width, "height": height, "channels": channels, "pixel_type": TYPES[kind][0],
                "pixels": self.content.hex()}


def image(width=2, height=1, channels=3, kind=0, **more):
    content = bytes(i * 7 % 256 for i in range(width * height * channels * TYPES[kind][1]))
    return Value(**{"content": content, "size": (width, height, channels, kind), **more})


def sample(key, label=0, caption="a", points=((1, 2),), **fields):
    if isinstance(caption, str):
        caption = Value(caption.encode())
    if isinstance(points, tuple):
        points = Value(b"".join(struct.pack("<ff", *point) for point in points))
    return {"key": key, "image": image(), "label": struct.pack("<i", label), "caption": caption, "points": points,
            **fields}


SAMPLES = [sample(b"a/0.png"), sample("ä".encode(), 1, "später", image=image(3, 2)), sample(b"2", 1, points=()),
           sample(b"3", 0, "", image=image(1, 1)), sample(b"", 1, points=((0, 0), (-1, 0.5)))]


def with_fields(*fields, **values):
    """Arguments of Dataset: the default fields and further ones, with the same value in each sample."""
    return {"fields": FIELDS + list(fields), "samples": [{**s, **values} for s in SAMPLES]}


def with_value(number, **values):
    """The default samples, of which one has other values."""
    return {"samples": [{**s, **values} if n == number else s for n, s in enumerate(SAMPLES)]}


class Dataset:
    def __init__(self, fields=None, samples=None, shards=(5,), block_samples=(4,), files=None, chunk=4096, sums=True,
                 broken=(), keys_broken=(), free=(), hooks=()):
        self.fields, self.samples = fields or FIELDS, SAMPLES if samples is None else samples
        self.shards, self.block_samples, self.chunk, self.sums = shards, block_samples, chunk, sums
        self.files = files or [f"shard-{n:05}.sluice" for n in range(len(shards))]
        self.broken, self.keys_broken = set(broken), set(keys_broken)  # samples without values; without a key
        self.free = set(free)  # values that are "any": sample and field
        self.hooks = dict(hooks)

    def at(self, stage, data, *where):
        """Gives `data` to the stage's hook, which changes it or returns other data."""
        hook = self.hooks.get(stage.replace(" ", "_"))
        changed = hook(data, *where) if hook else None
        return data if changed is None else changed

    def entry_bytes(self, field):
        if field["kind"] != "array":
            return 40 if field["kind"] == "image" else 24
        size = SIZES.get(field["dtype"], 4)
        for extent in field["shape"]:
            size *= extent
        return size

    def block(self, number, first, samples, shard_id, record_bytes):
        at = 64 + len(samples) * record_bytes
        payloads, places = bytearray(), {}
        at += -at % 64
        for field in self.fields:
            for n, each in enumerate(samples):
                value = each[field["name"]]
                if isinstance(value, Value):
                    payloads += bytes(-len(payloads) % 64)
                    places[n, field["name"]] = at + len(payloads)
                    payloads += value.payload
        table = b""
        for n, each in enumerate(samples):
            record = bytearray()
            for field in self.fields:
                value = each[field["name"]]
                if value is None:
                    entry = bytes(self.entry_bytes(field))
                elif isinstance(value, bytes):
                    entry = value
                else:
                    entry = struct.pack("<Q", places[n, field["name"]]) + check64(value.payload)
                    entry += struct.pack("<IHH", len(value.payload), value.codec, value.flags)
                    if field["kind"] == "image":
                        entry += struct.pack("<IIBB6x", *value.size)
                record += padded(entry, 8)
            table += self.at("record", record, first + n)
        size = len(padded(bytes(-(64 + len(table)) % 64 + 64 + len(table)) + payloads, PAGE))
        head = bytearray(struct.pack("<4sIQQII", b"SBLK", number, size, first, len(samples), record_bytes))
        head = self.at("block", head + shard_id + check64(table), number)
        data = padded(bytes(head) + check64(head) + table, 64) + payloads
        return self.at("after block", bytearray(padded(data, PAGE)), number)

    def keys(self, samples):
        frames, sizes = b"", b""
        for begin in range(0, len(samples), self.chunk):
            keys = [each["key"] for each in samples[begin:begin + self.chunk]]
            ends = [sum(map(len, keys[:i + 1])) for i in range(len(keys))]
            content = struct.pack(f"<{len(ends)}I", *ends) + b"".join(keys)
            frame = zstd(content)
            frames += frame
            sizes += struct.pack("<II", len(frame), len(content))
        return struct.pack("<II", self.chunk, len(sizes) // 8) + sizes + frames

    def shard(self, number, first, samples):
        """The file's bytes, and the manifest's object for it."""
        each, shard_id = self.block_samples[number % len(self.block_samples)], bytes([number + 1]) * 16
        shard_id = self.at("id", shard_id, number)
        text = self.at("schema", json.dumps({"fields": self.fields}).encode())
        length = len(padded(bytes(64) + text, PAGE))
        head = self.at("header", bytearray(struct.pack("<8sII16sIIQ", b"SLUICESH", 1, length, shard_id, each,
                                                       len(text), 0) + check64(text)))
        header_sum = check64(head)
        data = self.at("after header", bytearray(padded(bytes(head) + header_sum + text, PAGE)))
        record_bytes, entries = sum(-(-self.entry_bytes(f) // 8) * 8 for f in self.fields), b""
        blocks = range(0, len(samples), each)
        for n, begin in enumerate(blocks):
            block = self.block(n, begin, samples[begin:begin + each], shard_id, record_bytes)
            count = min(each, len(samples) - begin)
            entries += struct.pack("<QQII", len(data), len(block), count, 0) + bytes(block[56:64])
            data += block
        sections = self.at("sections", [(1, 0, self.at("keys", bytearray(self.keys(samples))))])
        for kind, flags, content in sections:
            data += bytes(-len(data) % 64)
            entries += struct.pack("<IIQQ", kind, flags, len(data), len(content)) + check64(content)
            data += self.at("after section", bytearray(content))
        data += bytes(-len(data) % 64)
        columns = [f for f in self.fields if f["kind"] == "array" and f["shape"] == []]
        tables = b"".join(padded(b"".join(each[f["name"]] for each in samples), 64) for f in columns)
        size = len(padded(bytes(64) + entries, 64)) + len(tables)
        directory = struct.pack("<8sIIQII16sQ", b"SLUICEDR", len(blocks), len(sections), len(samples), len(columns), 0,
                                shard_id, size) + header_sum + entries
        directory = self.at("directory", bytearray(padded(directory, 64) + tables))
        tail = bytearray(struct.pack("<8sII16sQQ", b"SLUICEND", 1, 0, shard_id, len(data), len(directory)))
        tail = self.at("tail", tail + check64(directory))
        tail = bytes(tail) + check64(tail)
        data += directory + bytes(-(len(data) + len(directory) + 64) % PAGE) + tail
        about = {"file": self.files[number], "id": shard_id.hex(), "digest": digest(bytes(directory) + tail),
                 "samples": len(samples), "blocks": len(blocks), "block_samples": each, "bytes": len(data)}
        return self.at("after file", data), about

    def manifest(self, shards):
        images, values = [], []
        for field in self.fields:
            found = [each[field["name"]] for each in self.samples if isinstance(each[field["name"]], Value)]
            if field["kind"] == "image":
                sizes = list(zip(*(value.size for value in found))) or [(0,)] * 4
                images.append({"present": len(found), "payload_bytes": sum(len(v.payload) for v in found),
                               "max_payload_bytes": max([len(v.payload) for v in found] or [0]),
                               **{name: [min(s), max(s)] for name, s in zip(("width", "height", "channels"), sizes)},
                               "pixel_type": TYPES[max(sizes[3])][0]})
            elif field["kind"] != "array":
                bytes_ = [len(value.content) for value in found]
                values.append({"present": len(found), "bytes": sum(bytes_), "max_bytes": max(bytes_ or [0])})
        counts = []
        if LABEL in self.fields:
            labels = [struct.unpack("<i", each["label"])[0] for each in self.samples]
            counts = [labels.count(number) for number in range(len(LABEL["classes"]))]
        manifest = {"format": "sluice-dataset", "version": 1, "name": "case", "samples": len(self.samples),
                    "schema": {"fields": json.loads(json.dumps(self.fields))}, "images": images, "values": values,
                    "class_counts": counts, "made": {}, "shards": shards}
        if any(field["channels"][1] > 4 or field["pixel_type"] not in ("uint8", "uint16") for field in images):
            manifest["requires"] = ["wide-pixels"]
        if not self.sums:
            del manifest["values"]
        return self.at("manifest", manifest)

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        shards, first = [], 0
        for number, count in enumerate(self.shards):
            data, about = self.shard(number, first, self.samples[first:first + count])
            (folder / self.files[number]).write_bytes(data)
            shards.append(about)
            first += count
        text = self.at("text", json.dumps(self.manifest(shards))[1:].encode())
        text = self.at("after text", b'{"id":"' + digest(b'",' + text).encode() + b'",' + text)
        (folder / "manifest.json").write_bytes(text)

    def expected(self):
        def of(n, field):
            value, in_column = self.samples[n][field["name"]], field["kind"] == "array" and field["shape"] == []
            if n in self.broken:  # a column may still have what a block has lost
                return "any" if in_column and n not in self.keys_broken else "fault"
            if (n, field["name"]) in self.free:
                return "any"
            return value.expected() if isinstance(value, Value) else value and value.hex()
        return [{"key": "fault" if n in self.keys_broken else each["key"].hex(),
                 "values": {field["name"]: of(n, field) for field in self.fields}}
                for n, each in enumerate(self.samples)]


# --- Hooks

def put(offset, content, where=None):
    """Writes bytes at an offset (from the end, if it is negative), of the block or record with that number only."""
    def change(data, number=None):
        if where is None or number == where:
            at = offset % len(data)
            data[at:at + len(content)] = content
    return change


def flip(offset, where=None):
    def change(data, number=None):
        if where is None or number == where:
            data[offset] ^= 0x10
    return change


def member(*path, value):
    """Sets a member of the manifest: names and numbers of a path, and its value."""
    def change(manifest):
        at = manifest
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
    return change


def several(*changes):
    def change(manifest):
        for one in changes:
            one(manifest)
    return change


def in_schema(field, name, value):
    return member("schema", "fields", field, name, value=value)


def text(old, new):
    def change(content):
        assert content.count(old) == 1, old
        return content.replace(old, new)
    return change


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


# --- The cases: name, section of the page, what is special, verdicts, and the arguments of Dataset.

CASES = []


def case(name, page, what, *, opens=True, sound=False, arguments=(), **more):
    own = {key: more.pop(key) for key in list(more) if key in Dataset.__init__.__code__.co_varnames}
    CASES.append((name, page, what, opens, sound, Dataset(**dict(arguments), **own, hooks=more)))


def valid(name, page, what, **more):
    case(name, page, what, sound=True, **more)


def refused(name, page, what, **more):
    case(name, page, what, opens=False, **more)


ALL, LAST = range(5), (4,)  # the second block has the last sample

valid("plain", "shards", "a shard of five samples in two blocks")
valid("no-samples", "manifest", "a dataset without samples", samples=[], shards=())
valid("absent", "payloads", "absent values and empty ones",
      samples=[sample(b"0", image=None, caption=None, points=None), sample(b"1", points=Value(b"")), *SAMPLES[2:]])
valid("several-shards", "manifest", "shards that differ in block samples, with names of the writer's choice",
      samples=SAMPLES * 2, shards=(3, 1, 6), block_samples=(2, 9, 1), files=["one.bin", "zwei Ä.x", "plan-3"])
valid("dtypes", "schema", "scalars and arrays of all dtypes",
      arguments=with_fields(*({"name": f"{kind} {dtype}", "kind": kind, "dtype": dtype, "shape": shape}
                              for dtype in SIZES for kind, shape in (("array", [2, 3]), ("variable", [3]))),
                            *({"name": dtype, "kind": "array", "dtype": dtype, "shape": []} for dtype in SIZES),
                            **{f"array {dtype}": bytes(range(6)) * size for dtype, size in SIZES.items()},
                            **{f"variable {dtype}": Value(bytes(range(9)) * size) for dtype, size in SIZES.items()},
                            **{dtype: bytes(range(size)) for dtype, size in SIZES.items()}))
valid("chunks", "keys", "two keys in a chunk", chunk=2)
valid("unknown-members", "what-a-reader-does-with-what-it-does-not-know", "members that the page does not have",
      manifest=lambda m: {**m, "note": [1.5, None, -2e300], "schema": {**m["schema"], "note": {}},
                          "shards": [{**m["shards"][0], "note": 1}]},
      schema=lambda s: s.replace(b'"kind": "image"', b'"note": null, "kind":\n"im\\u0061ge"'))
valid("meta-of-another-type", "manifest", "`meta` that is not an object of strings", manifest=member("meta", value=3))
valid("without-values", "manifest", "no member `values`", sums=False)
valid("role", "what-a-reader-does-with-what-it-does-not-know", "a role that is not known",
      arguments=with_fields({**CAPTION, "name": "depth", "role": "depth"}, depth=Value(b"\xFF")))
valid("sections", "sections", "an origin, and a private section that is not required",
      sections=lambda s: [*s, (2, 0, b"{}"), (0x80000001, 0, b"mine")])
valid("largest-number", "conventions", "the largest number that a float64 holds, and 32 levels of JSON",
      manifest=lambda m: {**m, "made": {"n": 2**1024 - 2**970 - 1, "deep": json.loads("[" * 30 + "]" * 30)}})
valid("equal-classes", "schema", "two classes of one name",
      arguments=with_fields({**LABEL, "name": "other", "classes": ["crane", "fox", "crane"]}, other=u32(2)))
valid("other-numbers", "schema", "numbers that are not classes, in a field of several values",
      arguments=with_fields({**LABEL, "name": "tags", "kind": "variable"}, tags=Value(u32(1) + u32(7))))
valid("boxes-of-integers", "boxes-key-points-masks", "boxes that break the section: numbers all the same",
      arguments=with_fields({**POINTS, "name": "boxes", "dtype": "int32", "shape": [4], "role": "boxes",
                             "follows": "image", "coordinates": "xyxy-furlongs"}, boxes=Value(bytes(range(16)))))
valid("boxes-alone", "boxes-key-points-masks", "boxes that follow no image, with classes",
      arguments=with_fields({**POINTS, "name": "boxes", "shape": [4], "role": "boxes"},
                            {**LABEL, "name": "of", "kind": "variable"}, boxes=Value(bytes(16)), of=Value(u32(1))))
valid("two-fields-of-boxes", "boxes-key-points-masks", "two fields of boxes of one image",
      arguments=with_fields(*({**POINTS, "name": name, "shape": [4], "role": "boxes", "follows": "image"}
                              for name in ("ignore", "boxes")), ignore=Value(b""), boxes=Value(bytes(32))))
valid("pixels", "codecs", "raw and zstd images of one to four channels and 8 and 16 bits",
      samples=[sample(b"%d%d" % (c, k), image=image(3, 2, c, k, **({"codec": 3, "payload": zstd(
          image(3, 2, c, k).content)} if k else {}))) for c in (1, 2, 3, 4) for k in (0, 1)], shards=(8,))
for kind, (name, _) in enumerate(TYPES):
    valid(f"wide-{name}", "tiled", f"raw, zstd and tiled images of {name} with five channels", samples=[
        sample(b"raw", image=image(3, 2, 5, kind)),
        sample(b"zstd", image=image(3, 2, 5, kind, codec=3, payload=zstd(image(3, 2, 5, kind).content))),
        sample(b"tiled", image=image(3, 2, 5, kind, codec=5, payload=tiled(image(3, 2, 5, kind))))], shards=(3,))
valid("zstd", "codecs", "zstd payloads, also an empty one, and a frame with a window instead of a single segment",
      samples=[sample(b"0", caption=Value(b"long", 3, zstd(b"long"))), sample(b"1", points=Value(b"", 3, zstd(b""))),
               sample(b"2", caption=Value(b"w", 3, zstd(b"w", header=b"\xC0\x00" + u64(1))))], shards=(3,))
valid("jpeg", "codecs", "a baseline JPEG and a progressive one",
      samples=[sample(b"%d" % p, image=image(8, 8, 1, content=b"\x90" * 64, codec=2, payload=jpeg(p)))
               for p in (False, True)], shards=(2,))
valid("sampling", "codecs", "JPEGs in Y Cb Cr of several sampling factors",
      samples=[sample(b"%d%d" % f, image=image(16, 16, 3, content=b"\x90" * 768, codec=2, payload=jpeg(sampling=f)))
               for f in ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2))], shards=(6,))
valid("packed", "packed", "a packed image of two blocks",
      arguments=with_value(2, image=image(16, 8, 1, content=(b"\x90" * 8 + b"\x70" * 8) * 8, codec=4,
                                          payload=packed())))

# Check 1: the manifest.
refused("first-bytes", "manifest", "a blank before the id", after_text=lambda t: t.replace(b'{"id"', b'{ "id"'))
refused("capital-id", "manifest", "an id in capital letters", after_text=lambda t: t[:7] + b"A" + t[8:])
refused("id", "manifest", "the id is not the digest", after_text=lambda t: t + b" ")
refused("format", "manifest", "another format", manifest=member("format", value="sluice-data"))
refused("version", "versions", "version 2", manifest=member("version", value=2))
refused("requires", "manifest", "a feature that is required", manifest=member("requires", value=["label-maps"]))
refused("columns-alone", "columns-and-versions", "columns that `requires` does not name",
        manifest=member("columns", value=[]))
refused("deleted-alone", "columns-and-versions", "deleted samples that `requires` does not name",
        manifest=member("deleted", value=[[0, 1]]))
refused("hidden-nothing", "columns-and-versions", "a dropped field that is not there",
        manifest=several(member("requires", value=["columns"]), member("hidden", value=["nobody"])))
refused("deleted-twice", "columns-and-versions", "runs of deleted samples that touch",
        manifest=several(member("requires", value=["deleted"]), member("deleted", value=[[0, 1], [1, 1]])))
refused("column-in-column", "columns-and-versions", "a column that has columns",
        manifest=several(member("requires", value=["columns"]), member("columns", value=[
            {"schema": {"fields": [POINTS]}, "samples": 5, "images": [], "values": [], "class_counts": [],
             "shards": [], "columns": []}])))
refused("after-the-end", "conventions", "text after the JSON's end", text=lambda t: t + b" {}")
refused("null", "conventions", "null for an optional member", manifest=in_schema(0, "role", None))
refused("fraction", "conventions", "a number with a fraction", text=text(b'5, "schema"', b'5.0, "schema"'))
refused("exponent", "conventions", "a number with an exponent", text=text(b'"version": 1', b'"version": 1e0'))
refused("too-large-number", "conventions", "a number that no float64 holds",
        manifest=member("made", "n", value=2**1024 - 1))
refused("deep", "conventions", "33 levels of JSON",
        manifest=member("made", "n", value=json.loads("[" * 31 + "]" * 31)))
refused("surrogate", "conventions", "half of a surrogate pair", text=text(b'"case"', b'"\\ud800"'))
refused("not-utf8", "conventions", "a name that is not UTF-8", text=text(b'"case"', b'"\xFF"'))
refused("twice", "conventions", "a member twice in an object", text=text(b'"made": {}', b'"made": {}, "made": {}'))
refused("samples", "checking", "samples that are not the shards' sum", manifest=member("samples", value=6))
refused("blocks", "manifest", "blocks that do not fit the samples", manifest=member("shards", 0, "blocks", value=3))
refused("few-bytes", "manifest", "no room for the blocks", manifest=member("shards", 0, "bytes", value=8192))
refused("no-room-for-records", "manifest", "no room for the records",
        manifest=lambda m: {**m, "samples": 65536, "shards": [{**m["shards"][0], "samples": 65536, "blocks": 1,
                                                               "block_samples": 65536}]})
refused("large-shard", "limits", "a shard above the limit", manifest=member("shards", 0, "bytes", value=128_004_096))
refused("folder", "manifest", "a file in another folder", manifest=member("shards", 0, "file", value="../a.sluice"))
refused("hidden", "manifest", "a file name that begins with a dot", manifest=member("shards", 0, "file", value=".a"))
refused("same-file", "checking", "two shards in one file",
        manifest=lambda m: {**m, "samples": 10, "class_counts": [4, 6], "shards": m["shards"] * 2})
refused("images", "checking", "sums of fewer image fields than there are", manifest=member("images", value=[]))
refused("present", "checking", "more images than samples", manifest=member("images", 0, "present", value=6))
refused("least", "checking", "a least width above the greatest", manifest=member("images", 0, "width", value=[4, 3]))
refused("bytes", "checking", "a sum of bytes above all values of the largest size",
        manifest=member("images", 0, "payload_bytes", value=99))
refused("type-of-nothing", "manifest", "a pixel type without images", samples=[], shards=(),
        manifest=member("images", 0, "pixel_type", value="uint16"))
refused("counts", "checking", "class counts of three classes", manifest=member("class_counts", value=[2, 3, 0]))
refused("kind", "schema", "a kind that is not known", manifest=in_schema(3, "kind", "tensor"))
refused("dtype", "schema", "a dtype that is not known", manifest=in_schema(3, "dtype", "float8"))
refused("no-fields", "schema", "a schema without fields", manifest=member("schema", "fields", value=[]))
refused("equal-names", "schema", "two fields of one name", manifest=in_schema(3, "name", "caption"))
refused("follows", "schema", "a field that follows one that is not an image",
        manifest=in_schema(3, "follows", "caption"))
refused("extent", "schema", "an extent of 0", manifest=in_schema(3, "shape", [0]))
refused("record", "schema", "records above the limit", manifest=in_schema(1, "shape", [16384]))
refused("role-of-another-kind", "schema", "a mask that is not an image", manifest=in_schema(2, "role", "mask"))

# Check 2: a shard.
case("shard-size", "checking", "a file without its last page", broken=ALL, keys_broken=ALL,
     after_file=lambda d: d[:-PAGE])
for place, stage, offset, content in (("magic", "header", 0, b"X"), ("version", "header", 8, b"\2"),
                                      ("feature", "header", 40, b"\1"), ("id", "header", 16, b"\7"),
                                      ("magic", "tail", 0, b"X"), ("version", "tail", 8, b"\2"),
                                      ("id", "tail", 16, b"\7"), ("offset", "tail", 32, u64(64)),
                                      ("magic", "directory", 0, b"X"), ("id", "directory", 32, b"\7"),
                                      ("blocks", "directory", 8, u32(3)), ("size", "directory", 48, u64(320)),
                                      ("header", "directory", 56, b"\0"), ("overlap", "directory", 96, u64(PAGE))):
    case(f"{stage}-{place}", stage, f"{place} of the {stage}: wrong, with right checksums", broken=ALL, keys_broken=ALL,
         **{stage: put(offset, content)})
case("header-checksum", "header", "the header's checksum", broken=ALL, keys_broken=ALL, after_header=flip(56))
case("schema-checksum", "header", "the schema's checksum", broken=ALL, keys_broken=ALL, after_header=flip(70))
case("other-schema", "header", "a schema that is not the manifest's", broken=ALL, keys_broken=ALL,
     schema=text(b'"caption"', b'"Caption"'))
case("directory-checksum", "tail", "the directory's checksum", broken=ALL, keys_broken=ALL, tail=flip(48))
case("shard-digest", "tail", "a digest that is not the manifest's", broken=ALL, keys_broken=ALL,
     manifest=member("shards", 0, "digest", value="0" * 32))
case("required-section", "sections", "a section that is required and not known", broken=ALL, keys_broken=ALL,
     sections=lambda s: [*s, (3, 1, b"new")])

# Check 3: a block.
for place, offset, content in (("magic", 0, b"X"), ("number", 4, u32(7)), ("size", 8, u64(2 * PAGE)),
                               ("first", 16, u64(5)), ("count", 24, u32(2)), ("record-size", 28, u32(104)),
                               ("id", 32, b"\7")):
    case(f"block-{place}", "blocks", f"{place} of the second block: wrong, with right checksums", broken=LAST,
         block=put(offset, content, 1))
case("block-checksum", "blocks", "the checksum of the second block's header", broken=LAST, after_block=flip(56, 1))
case("table-checksum", "blocks", "the checksum of the second block's table", broken=LAST, after_block=flip(48, 1))

# Check 4: a value. In a record, the image's entry begins at 0, the label's at 40, the caption's at 48, the points' at 72.
BAD = {"fault": True}
case("codec", "codecs", "a codec that is not assigned", arguments=with_value(1, caption=Value(b"x", 6, **BAD)))
case("private-codec", "codecs", "a private codec", arguments=with_value(1, image=image(codec=0x8000, **BAD)))
case("flag", "records", "a flag of an entry", arguments=with_value(1, caption=Value(b"x", flags=1, **BAD)))
case("pixel-type", "records", "a pixel type that is not known", arguments=with_value(1, image=image(**BAD)),
     record=put(33, b"\5", 1))
case("tiled-text", "codecs", "a text with the codec tiled", arguments=with_value(
    1, caption=Value(tiled(image(3, 2, 5, 1)), 5, **BAD)))
case("tiled-picture", "codecs", "a tiled image of 8 bits and three channels", arguments=with_value(
    1, image=image(codec=5, payload=tiled(image()), **BAD)))
case("tiled-checksum", "tiled", "the checksum of a tile", samples=[
    sample(b"0", image=image(3, 2, 5, 1, codec=5, payload=tiled(image(3, 2, 5, 1)))),
    sample(b"1", image=image(3, 2, 5, 1, codec=5, payload=tiled(
        image(3, 2, 5, 1), lambda tiles: tiles[:-1] + bytes([tiles[-1] ^ 1])), **BAD))], shards=(2,))
case("beyond", "checking", "a payload beyond its block", record=put(48, u64(1 << 40), 1),
     arguments=with_value(1, caption=Value(b"x", **BAD)))
case("overflow", "checking", "an offset and size whose sum overflows", record=put(48, u64((1 << 64) - 64), 1),
     arguments=with_value(1, caption=Value(b"x" * 64, **BAD)))
case("payload-checksum", "checking", "a payload's checksum", record=flip(56, 1),
     arguments=with_value(1, caption=Value(b"x", **BAD)))
case("no-width", "records", "an image of width 0", record=put(24, u32(0), 1), arguments=with_value(1, image=image(**BAD)))
case("wider", "checking", "an image wider than the manifest says", manifest=member("images", 0, "width", value=[1, 2]),
     arguments=with_value(1, image=image(3, 2, **BAD)))
case("raw-size", "codecs", "raw pixels of another size than the entry's", arguments=with_value(
    1, image=image(2, 2, payload=bytes(13), **BAD)))
case("jpeg-of-two-channels", "records", "a JPEG of two channels", arguments=with_value(
    1, image=image(8, 8, 2, codec=2, payload=jpeg(), **BAD)))
case("jpeg-size", "codecs", "a JPEG of another size than the entry's", arguments=with_value(
    1, image=image(8, 8, 1, codec=2, payload=jpeg(width=16), **BAD)))
case("no-jpeg", "codecs", "a JPEG without an image", arguments=with_value(
    1, image=image(8, 8, 1, codec=2, payload=b"\xFF\xD8\xFF\xD9", **BAD)))
case("jpeg-text", "codecs", "a text with the codec jpeg", arguments=with_value(1, caption=Value(jpeg(), 2, **BAD)))
case("packed-form", "packed", "form 2 of packed", arguments=with_value(
    1, image=image(16, 8, 1, codec=4, payload=packed(form=2), **BAD)))
case("packed-short", "packed", "a packed image that is cut off", arguments=with_value(
    1, image=image(16, 8, 1, codec=4, payload=packed()[:-17], **BAD)))
case("packed-size", "packed", "a packed image of another size than the entry's", arguments=with_value(
    1, image=image(8, 8, 1, codec=4, payload=packed(), **BAD)))
case("packed-range", "packed", "a coefficient that no JPEG file can hold", free=[(1, "image")], arguments=with_value(
    1, image=image(16, 8, 1, codec=4, payload=packed(dc=(1025, 0)))))
case("zstd-size", "codecs", "zstd pixels of another size than the entry's", arguments=with_value(
    1, image=image(codec=3, payload=zstd(bytes(7)), **BAD)))
case("zstd-without-size", "codecs", "a frame that declares no size", arguments=with_value(
    1, image=image(codec=3, payload=zstd(bytes(6), header=b"\0\0"), **BAD)))
case("zstd-cut", "codecs", "a frame without its end", arguments=with_value(
    1, image=image(codec=3, payload=zstd(bytes(6))[:-1], **BAD)))
case("zstd-and-more", "codecs", "a byte after the frame", arguments=with_value(
    1, image=image(codec=3, payload=zstd(bytes(6)) + b"\0", **BAD)))
case("longer", "checking", "a zstd text longer than the manifest says",
     manifest=member("values", 0, value={"present": 5, "bytes": 22, "max_bytes": 10}),
     arguments=with_value(1, caption=Value(b"x" * 20, 3, zstd(b"x" * 20), **BAD)))
case("part-of-an-entry", "schema", "half an entry of a variable field", arguments=with_value(
    1, points=Value(bytes(12), **BAD)))

# Check 5: keys.
case("keys-checksum", "keys", "the checksum of the keys' section", keys_broken=ALL, after_section=flip(60))
case("key-order", "keys", "a key that ends before it begins", keys_broken=ALL, keys=put(33, u32(60)))
case("keys-chunks", "keys", "one chunk too many", keys_broken=ALL, keys=put(4, u32(2)))

# What only verifying finds: readers deliver everything.
case("no-keys", "sections", "a shard without section 1", keys_broken=ALL, sections=lambda s: [])
for name, page, what, hook in (
        ("padding-of-the-schema", "header", "padding that is not zero", {"after_header": put(-1, b"\1")}),
        ("padding-of-a-record", "records", "padding that is not zero", {"record": put(44, b"\1", 1)}),
        ("padding-of-a-block", "blocks", "padding that is not zero", {"after_block": put(-1, b"\1", 0)}),
        ("padding-before-the-tail", "tail", "padding that is not zero", {"after_file": put(-65, b"\1")}),
        ("reserved-of-an-entry", "records", "a reserved byte that is not zero", {"record": put(39, b"\1", 1)}),
        ("reserved-of-the-directory", "directory", "a reserved byte that is not zero", {"directory": put(28, b"\1")}),
        ("reserved-of-the-tail", "tail", "a reserved byte that is not zero", {"tail": put(12, b"\1")}),
        ("section-flag", "sections", "a reserved flag", {"sections": lambda s: [*s, (2, 2, b"{}")]}),
        ("section-twice", "sections", "a section twice", {"sections": lambda s: [*s, (9, 0, b""), (9, 0, b"")]}),
        ("count", "manifest", "class counts that are not the samples'",
         {"manifest": member("class_counts", value=[3, 2])}),
        ("sum", "manifest", "a sum that is not the samples'",
         {"manifest": member("images", 0, "payload_bytes", value=41)}),
        ("not-the-greatest", "manifest", "a greatest width that no image has",
         {"manifest": member("images", 0, "width", value=[1, 9])})):
    case(name, page, what, **hook)
case("label", "schema", "a label that is not a class", arguments=with_value(1, label=u32(2)))
case("text", "schema", "a text that is not UTF-8", free=[(1, "caption")],
     arguments=with_value(1, caption=Value(b"\xFF")))
case("column", "directory", "a column that is not the records'", free=[(0, "label")], directory=put(192, u32(1)))
case("json", "schema", "a JSON text with a member twice", arguments=with_fields(
    {**CAPTION, "name": "facts", "role": "json"}, facts=Value(b'{"a": 1, "a": 2}')))
case("same-ids", "checking", "two shards of one id", samples=SAMPLES * 2, shards=(5, 5), id=lambda i, n: b"\1" * 16)


# --- Programs

def write_all(folder):
    verdicts = []
    for name, page, what, opens, sound, dataset in CASES:
        dataset.write(folder / name)
        verdicts.append({"name": name, "page": page, "what": what, "open": "valid" if opens else "refused",
                         "verify": "sound" if sound else "faults", "samples": dataset.expected() if opens else []})
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1))
    return verdicts


def check(folder, verdict, sluice):
    """What differs from the verdict, or an empty text."""
    done = subprocess.run([*sluice, "verify", "--decode", "--json", "--threads", "1", folder / verdict["name"]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    faults = json.loads(done.stdout).get("faults") if done.stdout.startswith("{") else None
    told = {fault["sample"] for fault in faults or () if "sample" in fault}
    right = {("valid", "sound"): done.returncode == 0 and faults == [],
             ("valid", "faults"): done.returncode == 1 and bool(faults),
             ("refused", "faults"): done.returncode == 1 and not faults}[verdict["open"], verdict["verify"]]
    few = {n for n, each in enumerate(verdict["samples"])
           if any(value in ("fault", "any") for value in each["values"].values())}
    if right and (len(few) != 1 or not told or told == few):
        return ""
    return (f"{verdict['name']}: {verdict['what']}: {verdict['open']}, {verdict['verify']}, samples {sorted(few)}; "
            f"exit code {done.returncode}, {done.stdout} {done.stderr}")


if __name__ == "__main__":
    if len(sys.argv) != 2 and sys.argv[2:3] != ["--check"]:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    made = write_all(target)
    problems = []
    if sys.argv[3:]:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            problems = list(filter(None, pool.map(lambda verdict: check(target, verdict, sys.argv[3:]), made)))
    print("\n".join(problems) or f"{len(made)} cases")
    sys.exit(1 if problems else 0)
