#!/usr/bin/env python3
"""Reads a dataset by format/FORMAT.md alone, without any of the project's code.

    read_from_spec.py DATASET                  prints every sample
    read_from_spec.py DATASET --compare FILE   compares with FILE; exit code 1 if they differ

Only the standard library is needed. Checksums are compared if the module `xxhash` is installed, and
keys are decompressed by the module `zstandard`, Python's own compression.zstd or the command zstd;
without any of these three, compressed keys are printed as "?" and match anything.
"""

import json
import os
import shutil
import struct
import subprocess
import sys

try:
    import xxhash
except ImportError:
    xxhash = None

PAGE = 4096
DTYPES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "float16": 2, "float32": 4,
          "float64": 8}
ROLES = ("none", "image", "mask", "label", "boxes", "keypoints", "text", "json")
DEFAULTS = {"role": "none", "follows": "", "coordinates": "", "classes": [], "attributes": {}}


class Broken(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Broken(what)


def align(value, alignment):
    return (value + alignment - 1) // alignment * alignment


def check64(data, expected, what):
    if xxhash is not None:
        require(xxhash.xxh3_64_intdigest(data) == expected, "checksum of " + what)


def zero(data, what):
    require(not any(data), what + " is not zero")


# --- zstd ---

def stored_blocks(frame):
    """The content of a single-segment frame whose blocks are stored or repeat one byte; None for other frames."""
    descriptor = frame[4]
    if descriptor & 0x2F != 0x20:  # single segment, no checksum, no dictionary
        return None
    size_bytes = (1, 2, 4, 8)[descriptor >> 6]
    at, content = 5 + size_bytes, b""
    while True:
        header = int.from_bytes(frame[at:at + 3], "little")
        at += 3
        kind, size = header >> 1 & 3, header >> 3
        if kind == 0:
            content += frame[at:at + size]
            at += size
        elif kind == 1:
            content += frame[at:at + 1] * size
            at += 1
        else:
            return None
        if header & 1:
            return content if at == len(frame) else None


def inflate(frame):
    """The content of one zstd frame, or None where nothing here can decompress it."""
    require(frame[:4] == b"\x28\xB5\x2F\xFD", "a zstd frame begins with its magic number")
    content = stored_blocks(frame)
    if content is not None:
        return content
    try:
        import zstandard
        return zstandard.ZstdDecompressor().decompress(frame)
    except ImportError:
        pass
    try:
        from compression import zstd
        return zstd.decompress(frame)
    except ImportError:
        pass
    if shutil.which("zstd"):
        return subprocess.run(["zstd", "-dc"], input=frame, stdout=subprocess.PIPE,
                              check=True).stdout
    return None


# --- schema and manifest ---

def entry_bytes(field):
    if field["kind"] == "image":
        return 40
    if field["kind"] in ("bytes", "variable"):
        return 24
    require(field["kind"] == "array", "an unknown kind of field")
    size = DTYPES[field["dtype"]]
    for extent in field["shape"]:
        size *= extent
    return size


def meaning(schema):
    """The fields of a schema, with defaults for members that are absent and without members that the format does not
    know. Two schemas mean the same if and only if these lists are equal."""
    fields = []
    for field in schema["fields"]:
        shaped = field["kind"] in ("array", "variable")
        members = ("name", "kind") + (("dtype", "shape") if shaped else ())
        members = {**{name: field[name] for name in members},
                   **{name: field.get(name, default) for name, default in DEFAULTS.items()}}
        fields.append({**members, "role": members["role"] if members["role"] in ROLES else "none"})
    return fields


def layout(schema):
    """Returns [(field, offset of its entry in a record, bytes of the entry)] and the bytes of a record."""
    fields, at = [], 0
    for field in schema["fields"]:
        fields.append((field, at, entry_bytes(field)))
        at += align(entry_bytes(field), 8)
    return fields, at


def read_manifest(folder):
    with open(os.path.join(folder, "manifest.json"), "rb") as file:
        data = file.read()
    require(data[:7] == b'{"id":"', "the manifest's first bytes")
    if xxhash is not None:
        require(xxhash.xxh3_128_hexdigest(data[39:]) == data[7:39].decode(), "the dataset's id")
    manifest = json.loads(data)
    require(manifest["format"] == "sluice-dataset", "format")
    require(manifest["version"] == 1, "version")
    features = manifest.get("requires", [])
    require(set(features) <= {"columns", "deleted"}, "features that are not known")
    for member, feature in ("columns", "columns"), ("hidden", "columns"), ("deleted", "deleted"):
        require(member not in manifest or feature in features, member + " without its feature")
    return manifest


# --- shards ---

class Shard:
    def __init__(self, path, entry, schema):
        with open(path, "rb") as file:
            self.data = file.read()
        require(len(self.data) == entry["bytes"], "the shard's size")
        self.id = bytes.fromhex(entry["id"])
        self.block_samples = entry["block_samples"]
        self.samples = entry["samples"]
        self.fields, self.record_bytes = layout(schema)
        require(entry["bytes"] >= PAGE * (entry["blocks"] + 1), "room for the header and the blocks")
        require(entry["bytes"] >= self.samples * self.record_bytes, "room for the records")
        self.read_header(schema)
        self.read_tail(entry)
        self.read_directory(entry)

    def read_header(self, schema):
        magic, version, header_bytes, shard_id, block_samples, schema_bytes, required, schema_sum, \
            header_sum = struct.unpack_from("<8sII16sIIQQQ", self.data, 0)
        require(magic == b"SLUICESH", "the header's magic")
        require(version == 1, "the header's version")
        check64(self.data[:56], header_sum, "header")
        require(required == 0, "features that are not known")
        require(shard_id == self.id and block_samples == self.block_samples, "id or block samples")
        text = self.data[64:64 + schema_bytes]
        check64(text, schema_sum, "schema")
        require(meaning(json.loads(text)) == meaning(schema), "the shard's schema is the dataset's")
        require(header_bytes == align(64 + schema_bytes, PAGE), "the header's length")
        zero(self.data[64 + schema_bytes:header_bytes], "padding after the schema")
        self.header_bytes = header_bytes

    def read_tail(self, entry):
        tail = self.data[-64:]
        magic, version, reserved, shard_id, self.directory_at, self.directory_bytes, \
            directory_sum, tail_sum = struct.unpack("<8sII16sQQQQ", tail)
        require(magic == b"SLUICEND" and version == 1 and reserved == 0, "the tail's magic")
        check64(tail[:56], tail_sum, "tail")
        require(shard_id == self.id, "the tail's id")
        directory = self.data[self.directory_at:self.directory_at + self.directory_bytes]
        check64(directory, directory_sum, "directory")
        if xxhash is not None:
            require(xxhash.xxh3_128_hexdigest(directory + tail) == entry["digest"], "the digest")
        zero(self.data[self.directory_at + self.directory_bytes:-64], "padding before the tail")

    def read_directory(self, entry):
        at = self.directory_at
        magic, blocks, sections, samples, columns, reserved, shard_id, size, header_sum = \
            struct.unpack_from("<8sIIQII16sQQ", self.data, at)
        require(magic == b"SLUICEDR" and shard_id == self.id, "the directory's magic and id")
        require(samples == entry["samples"] and blocks == entry["blocks"], "counts")
        require(size == self.directory_bytes and reserved == 0, "directory")
        require(header_sum == struct.unpack_from("<Q", self.data, 56)[0], "the header's checksum")
        at += 64
        self.blocks = [struct.unpack_from("<QQIIQ", self.data, at + 32 * i) for i in range(blocks)]
        at += 32 * blocks
        self.sections = {}
        for i in range(sections):
            number, flags, offset, length, checksum = \
                struct.unpack_from("<IIQQQ", self.data, at + 32 * i)
            require(number in (1, 2) or not flags & 1, "a section that is not known is required")
            require(flags <= 1 and number not in self.sections, "a section's flags and number")
            content = self.data[offset:offset + length]
            check64(content, checksum, "section")
            self.sections[number] = content
        require(1 in self.sections, "the section of keys")
        at += 32 * sections
        self.columns = {}
        for field, _, size in self.fields:
            if field["kind"] == "array" and not field["shape"]:
                at = align(at, 64)
                self.columns[field["name"]] = self.data[at:at + size * samples]
                at += size * samples
        require(len(self.columns) == columns, "the number of columns")
        require(align(at, 64) == self.directory_at + self.directory_bytes, "the directory's length")

    def keys(self):
        section = self.sections[1]
        chunk_samples, chunks = struct.unpack_from("<II", section, 0)
        require(chunks == -(-self.samples // chunk_samples), "the number of chunks")
        at, keys = 8 + 8 * chunks, []
        for i in range(chunks):
            frame_bytes, content_bytes = struct.unpack_from("<II", section, 8 + 8 * i)
            count = min(chunk_samples, self.samples - i * chunk_samples)
            content = inflate(section[at:at + frame_bytes])
            at += frame_bytes
            if content is None:
                keys += [None] * count
                continue
            require(len(content) == content_bytes, "a chunk's size")
            ends = struct.unpack_from("<%dI" % count, content, 0)
            text = content[4 * count:]
            require(ends[-1] == len(text), "keys fill their chunk")
            keys += [text[begin:end] for begin, end in zip((0,) + ends, ends)]
        require(at == len(section), "the frames fill the section")
        return keys

    def records(self):
        """Yields (bytes of the block, bytes of the record) for each sample."""
        expected_offset = self.header_bytes
        for number, (offset, size, count, reserved, checksum) in enumerate(self.blocks):
            require(offset == expected_offset and offset % PAGE == 0, "a block's place")
            expected_offset += size
            block = self.data[offset:offset + size]
            magic, found, length, first, found_count, record_bytes, shard_id, table_sum, header_sum = \
                struct.unpack_from("<4sIQQII16sQQ", block, 0)
            require(magic == b"SBLK" and found == number and length == size, "a block's header")
            require(first == number * self.block_samples and found_count == count, "block counts")
            require(record_bytes == self.record_bytes and shard_id == self.id, "a block's shard")
            require(header_sum == checksum and reserved == 0, "a block's entry")
            check64(block[:56], header_sum, "block header")
            table = block[64:64 + count * record_bytes]
            check64(table, table_sum, "table")
            for i in range(count):
                yield block, table[i * record_bytes:(i + 1) * record_bytes]

    def payload(self, block, entry):
        offset, checksum, size, codec, flags = struct.unpack_from("<QQIHH", entry, 0)
        if codec == 0:
            zero(entry, "an absent value's entry")
            return 0, b""
        require(flags == 0 and offset % 64 == 0 and offset + size <= len(block), "an entry")
        payload = block[offset:offset + size]
        check64(payload, checksum, "payload")
        return codec, payload


def rows(folder, dataset):
    """Yields (key, {name of a field: a line of text}) for each sample of a dataset or a column."""
    number = 0
    for entry in dataset["shards"]:
        shard = Shard(os.path.join(folder, entry["file"]), entry, dataset["schema"])
        for i, (key, (block, record)) in enumerate(zip(shard.keys(), shard.records())):
            lines = {}
            for field, offset, size in shard.fields:
                value = record[offset:offset + size]
                if field["kind"] == "array":
                    column = shard.columns.get(field["name"])
                    require(column is None or column[i * size:(i + 1) * size] == value, "a column")
                    lines[field["name"]] = "  %s %s" % (field["name"], value.hex())
                    continue
                codec, payload = shard.payload(block, value)
                text = "  %s codec %d" % (field["name"], codec)
                if codec and field["kind"] == "image":
                    width, height, channels, pixel_type = struct.unpack_from("<IIBB", value, 24)
                    text += " %dx%dx%d %s" % (width, height, channels,
                                              ("uint8", "uint16", "int16", "float16", "float32")[pixel_type])
                lines[field["name"]] = text + (" " + (payload.hex() or "-") if codec else "")
            yield key, lines
            number += 1
    require(number == dataset["samples"], "the number of samples")


def print_samples(folder, out):
    manifest = read_manifest(folder)
    sources = [manifest] + manifest.get("columns", [])
    source_of = {}  # by name, in the order that users see
    for number, source in enumerate(sources):
        require(source["samples"] == manifest["samples"], "a column's number of samples")
        for field in source["schema"]["fields"]:
            source_of[field["name"]] = number
    for name in manifest.get("hidden", []):
        del source_of[name]
    deleted = {n for first, count in manifest.get("deleted", []) for n in range(first, first + count)}
    for number, sample in enumerate(zip(*(rows(folder, source) for source in sources))):
        if number in deleted:
            continue
        key = sample[0][0]
        out("sample %d" % number)
        out("  key " + ("?" if key is None else key.hex() or "-"))
        for name, source in source_of.items():
            out(sample[source][1][name])


def main(arguments):
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--compare"):
        print(__doc__, file=sys.stderr)
        return 2
    lines = []
    print_samples(arguments[0], lines.append)
    if len(arguments) == 1:
        print("\n".join(lines))
        return 0
    with open(arguments[2]) as file:
        expected = file.read().splitlines()
    if len(lines) != len(expected):
        print("%d lines instead of %d" % (len(lines), len(expected)))
        return 1
    for found, wanted in zip(lines, expected):
        if found != wanted and found != "  key ?":
            print("found    %s\nexpected %s" % (found, wanted))
            return 1
    print("%d lines agree; checksums %s" % (len(lines), "compared" if xxhash else "not compared"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
