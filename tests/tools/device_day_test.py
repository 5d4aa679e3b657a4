"""Runs bench/notebook/device_day.sh without a card: on a simulated one (cuda_double), with stubs for slow programs.

    device_day_test.py REPOSITORY SLUICE_BENCH_DOUBLE SLUICE MAKE_PHOTOS

setUp makes the folder that `device_day.sh pack` would make. Its sluice-bench is the one with the simulated card, and
each part plays a batch or two. The card's tests, stream_cuda and nvidia-smi are stubs that succeed.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REPOSITORY, DOUBLE, SLUICE, MAKE_PHOTOS = map(pathlib.Path, sys.argv[1:5])

# Stands for sluice-bench: drops --repeat and shortens epochs, because the simulated card runs a kernel's threads one
# after the other.
SHORT = """#!/bin/sh
short= skip=
for word; do
  shift
  case $skip$word in
    yes*) skip= ;;
    --repeat | --epochs | --batch-size) skip=yes ;;
    *) set -- "$@" "$word" ;;
  esac
done
case $1 in
  epoch) short="--batches 1 --epochs 1 --warm-up 0 --batch-size 12" ;;
  upload) short="--batches 2 --rounds 1 --batch-size 4 --side 32" ;;
esac
exec "%s" "$@" $short
"""


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


def summary(out):
    return {line.split("\t")[0]: line.split("\t")[1] for line in (out / "summary.tsv").read_text().splitlines()}


class DeviceDay(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.folder, self.out, self.path = self.root / "packed", self.root / "out", self.root / "path"
        stage = self.root / "stage"
        for made in (self.folder / "zstd", stage / "bin", stage / "lib", stage / "peers", self.path):
            made.mkdir(parents=True)
        script(stage / "bin/sluice-bench", SHORT % DOUBLE)
        shutil.copy(SLUICE, stage / "bin/sluice")
        # Photos with a fifth of the usual sides: a simulated card takes long for each pixel.
        script(stage / "bin/make_photos", f'#!/bin/sh\nexec "{MAKE_PHOTOS}" "$1" "$2" "$3" 100\n')
        for name in ("sluice_cuda_tests", "stream_cuda"):
            script(stage / "bin" / name, "#!/bin/sh\necho 'All tests passed'\n")
        script(self.path / "nvidia-smi", "#!/bin/sh\necho '    Product Name  : A double'\n")
        script(self.path / "nproc", "#!/bin/sh\necho 2\n")
        # A Python that has neither torch nor torchvision.
        script(self.path / "python3", '#!/bin/sh\n[ "$1" != -c ] || [ -z "$2" ] || exit 1\nexec "%s" "$@"\n' % sys.executable)
        tar = subprocess.run(["tar", "-C", stage, "-cf", "-", "."], check=True, capture_output=True).stdout
        subprocess.run(["zstd", "-q", "-o", self.folder / "programs.tar.zst"], check=True, input=tar)
        shutil.copy(shutil.which("zstd"), self.folder / "zstd/zstd")
        for name in ("device_day.sh", "device_day_table.py"):
            shutil.copy(REPOSITORY / "bench/notebook" / name, self.folder)
        self.script = self.folder / "device_day.sh"

    def start(self, *stages, **environment):
        return subprocess.Popen(
            [self.script, "run", self.out, *stages], stdout=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}", "DEVICE_DAY_PHOTOS": "1", **environment})

    def table(self, *options, out=None):
        return subprocess.run([sys.executable, self.folder / "device_day_table.py", out or self.out, *options], check=True,
                              capture_output=True, text=True).stdout

    def test_stages_measure_what_the_table_shows(self):
        self.assertEqual(self.start("check", "decode", "nvjpeg", "cores_decode", "upload").wait(), 0)
        found = summary(self.out)
        self.assertEqual(found.pop("nvjpeg"), "skipped: python3 has no torchvision")
        self.assertEqual(found.pop("torch_copy"), "skipped: python3 has no torch")
        self.assertEqual(set(found.values()), {"0"})
        for part in ("cuda_tests", "same_bytes_packed", "decode_jpeg_2_256", "decode_packed_2_768", "decode_raw_2_256",
                     "decode_step", "stored_device_jpeg_2_256",
                     "cores_decode_jpeg", "cores_decode_packed", "upload_bf16"):
            self.assertIn(part, found)
        result = json.loads((self.out / "parts/decode_jpeg_2_256.json").read_text())
        self.assertGreaterEqual(result["device_use"]["decoded_images"], 10)
        table = self.table()
        archive = pathlib.Path(f"{self.out}.tar.gz")  # the only file that must come back
        self.assertEqual(self.table(out=archive), table)
        for words in ("A double", "| cuda_tests | passed |", "### Decoded by the card", "| jpeg, 2 threads, batches of 256 |",
                      "| jpeg, decoded by the card |", "### Copies to the card", "A pretend step of 25 ms"):
            self.assertIn(words, table)
        row = next(line for line in table.splitlines() if line.startswith("| jpeg, 2 threads, batches of 256 |")).split("|")
        self.assertEqual(row[3].strip(), "100%")
        self.assertGreater(float(row[4]), 0)

    def test_results_are_kept_when_a_stage_is_cut_off_and_the_next_run_resumes(self):
        running = self.start("check", "decode")
        log = self.out / "parts/decode_jpeg_2_768.log"
        while not log.exists():
            self.assertIsNone(running.poll())
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        found = summary(self.out)
        self.assertEqual(found["decode_jpeg_2_256"], "0")
        self.assertNotIn("decode_jpeg_2_768", found)
        self.assertIn("decode_jpeg_2_768 (cut off)", self.table())
        begun = (self.out / "parts/decode_jpeg_2_256.log").stat().st_mtime_ns
        self.assertEqual(self.start("decode").wait(), 0)
        self.assertEqual(summary(self.out)["decode_jpeg_2_768"], "0")
        self.assertEqual((self.out / "parts/decode_jpeg_2_256.log").stat().st_mtime_ns, begun)

    def test_parts_without_time_left_are_named(self):
        self.assertEqual(self.start("upload", DEVICE_DAY_SECONDS="3").wait(), 1)
        self.assertEqual(summary(self.out)["upload_bf16"], "skipped: no time left")

    def test_savings_are_shown_in_seconds_and_money(self):
        parts = self.out / "parts"
        parts.mkdir(parents=True)
        for part, seconds in (("train_jpeg", 4.0), ("train_torch", 10.0)):
            (parts / f"{part}.log").write_text("".join(f"epoch {n}  loss 1.0  {seconds:.3f} s\n" for n in range(3)))
        (self.out / "summary.tsv").write_text("train_jpeg\t0\t12\ntrain_torch\t0\t30\n")
        table = self.table("--price", "7.5", "--plot", self.root / "plot.svg")
        # 24 epochs save 6 s each. At 7.5 an hour, a second costs 0.00208.
        self.assertIn("save 144.0 s of 240.0 s, 0.3000 of 0.5000 at 7.5 an hour: 60% (goal 50%)", table)
        self.assertIn("0.2000", (self.root / "plot.svg").read_text())
        self.assertIn("save 144.0 s of 240.0 s: 60%", self.table())

    def test_an_unknown_stage_is_wrong_usage(self):
        self.assertEqual(self.start("decoding").wait(), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
