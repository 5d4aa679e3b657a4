"""commands.py ROOT PAGE WORK SLUICE SLUICE-BENCH MAKE-PHOTOS: the programs accept the commands of the page.

Blocks marked `sh run` are run unchanged, in a folder of pictures. In other blocks, each line that calls
sluice or sluice-bench is run in an empty folder: it may fail because files are missing, but not because its usage is
wrong (exit code 2).
"""
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pages

root, page, work = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
programs = {"sluice": sys.argv[4], "sluice-bench": sys.argv[5]}
make_photos = sys.argv[6]
parsing_seconds = 3  # a command that runs longer has accepted its options


def empty_folder(name):
    folder = work / (page.replace("/", "_") + name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def jpeg_size(path):
    data, at = path.read_bytes(), 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return width, height


def write_mask(path, width, height):
    """A grey PNG: class 1 on the left half, 0 on the right."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    row = b"\0" + bytes(int(x < width // 2) for x in range(width))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))


def make_sources(folder):
    """Makes photos/CLASS/*.jpg; copies of them as val/ and images/; masks/ for images/; labels.csv with boxes of two
    classes."""
    subprocess.run([make_photos, folder / "photos", "3", "12", "96"], check=True, stdout=subprocess.DEVNULL)
    for copy in ("val", "images"):
        shutil.copytree(folder / "photos", folder / copy)
    rows = ["path,bbox,category"]
    for image in sorted((folder / "images").rglob("*.jpg")):
        name = image.relative_to(folder / "images")
        write_mask((folder / "masks" / name).with_suffix(".png"), *jpeg_size(image))
        rows.append(f'images/{name},"4 4 20 30; 10 8 30 20",cat|hat')
    (folder / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


faults, to_run = [], []
nowhere = empty_folder("-nowhere")
for words, first, text in pages.blocks(root / page):
    if words[:1] != ["sh"]:
        continue
    if words[1:] == ["run"]:
        to_run.append(text)
        continue
    # Joins a line that ends with a backslash to the next one. Lines keep their numbers.
    joined = re.sub(r"\\\n *(.*)", r" \1\n", text)
    for number, line in enumerate(joined.splitlines(), first):
        command = shlex.split(line, comments=True)
        if not command:
            continue
        # A script of the project must exist; a built program or one of the user need not.
        program = root / command[0]
        if "/" in command[0] and not program.exists() and not command[0].startswith(("build/", "./trainer")):
            faults.append(f"{page}:{number}: there is no {command[0]}")
        if command[0] not in programs:
            continue
        try:
            done = subprocess.run([programs[command[0]]] + command[1:], cwd=nowhere, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=parsing_seconds)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode not in (0, 1, 3):
            faults.append(f"{page}:{number}: {done.returncode}: {done.stderr.decode()}")

if to_run:
    folder = empty_folder("-run")
    make_sources(folder)
    (folder / "bin").mkdir()
    for name, program in programs.items():
        (folder / "bin" / name).symlink_to(program)
    script = "set -eux\n" + "\n".join(to_run)
    environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    done = subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        faults.append(f"{page}: its blocks marked `sh run` ended with {done.returncode}:\n{done.stdout.decode()}")
    else:
        shutil.rmtree(folder)
shutil.rmtree(nowhere)
pages.fail(faults)
