"""What the tests of the recipes of samples/cluster share: pictures, the dataset that one process makes of them, and a
command `sluice` whose first run of part 1 is stopped or killed in the middle."""

import filecmp
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
OPTIONS = ["--shard-bytes", "1MB", "--image", "raw"]


def skip(sentence):
    print("skipped:", sentence)
    sys.exit(SKIPPED)


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")


def wait_for(what, found, seconds=300):
    """Calls found() until its answer is true, and returns the answer; ends the test after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = found()
        if answer:
            return answer
        time.sleep(0.05)
    sys.exit(f"waited {seconds} s in vain for {what}")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Workplace:
    """A folder for a test, as a context manager. `action`: "stop" or "kill" (as in tests/interruption/file_record.h):
    what happens to the first run of part 1 while it writes."""

    def __init__(self, arguments, action=None):
        self.sluice, self.make_photos, self.seam, self.recipes = arguments[1:5]
        self.action = action

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-cluster-"))
        self.data = self.folder / "data with a 'quote"
        subprocess.run([self.make_photos, self.folder / "source", "3", "30", "200"], check=True,
                       stdout=subprocess.DEVNULL)
        (self.folder / "source/broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
        self._command()
        self.run("sluice", "convert", self.source, self.folder / "whole", "--labels", "none", *OPTIONS, codes=[3])
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def source(self):
        return self.folder / "source"

    def recipe(self, name):
        return str(Path(self.recipes) / name)

    def _command(self):
        commands = self.folder / "bin"
        commands.mkdir()
        first = f'case "$*" in *"--part 1/"*) if mkdir "{self.folder}/first" 2>/dev/null; then\n' \
                f'  export LD_PRELOAD="{self.seam}" SLUICE_SEAM_FOLDER="{self.data}"\n' \
                f'  export SLUICE_SEAM_DO="{self.action}:12"\nfi;; esac\n' if self.action else ""
        (commands / "sluice").write_text(f'#!/bin/sh\n{first}exec "{self.sluice}" "$@"\n')
        (commands / "sluice").chmod(0o755)
        os.environ["PATH"] = f"{commands}:{os.environ['PATH']}"

    def run(self, *words, codes=(0,), **options):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=self.folder,
                              **options)
        if done.returncode not in codes:
            sys.exit(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def stopped(self):
        """Waits for the process that stops in the middle of part 1, and returns its id."""
        return wait_for("a part that stopped", self._stopped)

    def _stopped(self):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                state = (process / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if os.fsencode(self.data) in words and words[0] == os.fsencode(self.sluice) and state[0] == "T":
                return int(process.name)
        return None

    def interrupted(self):
        return (self.folder / "first").exists()

    def check(self):
        """Checks that the dataset equals that of a single process, to the byte, and that there are no other files."""
        whole = self.folder / "whole"
        names = sorted(path.name for path in whole.iterdir())
        there = sorted(path.name for path in self.data.iterdir())
        if names != there:
            sys.exit(f"the files are {there} instead of {names}")
        _, different, unread = filecmp.cmpfiles(whole, self.data, names, shallow=False)
        if different or unread:
            sys.exit(f"files with different bytes: {different}; unreadable files: {unread}")
        if self.action and not self.interrupted():
            sys.exit("no part was interrupted")
        print(f"{len(names)} files, the same bytes")


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
