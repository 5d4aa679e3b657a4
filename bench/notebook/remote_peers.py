"""Compares Sluice with other loaders of remote data, which load the same photos from the same local servers.

    bench/peers/setup.sh ~/peers                      # and: ~/peers/main/bin/pip install s3torchconnector
    python3 bench/notebook/remote_peers.py PHOTOS --python ~/peers/main/bin/python [--programs build/release]
                                  [--rounds 3] [--threads 2] [--seconds 10] [--only sluice,mds] [--work FOLDER]

PHOTOS is a folder of pictures. It is converted once, and every loader gets the dataset's JPEGs in its own format, from
radosgw (S3, with signatures) and, for WebDataset's pipe:curl and for Sluice, from nginx. In each round, the loaders
play one after another, each in a process of its own: random-resized-crop to 224 and flip, whole epochs after one that is not
counted; every epoch is fetched from the server again. Prints images per second over the measured epochs (the median of
the rounds), and the time from a process's start to its first batch. If a loader is not installed, a line says so.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rates import BUCKET, Bench, Nginx, Radosgw

PEERS = pathlib.Path(__file__).resolve().parent.parent / "peers"
UPLOAD = """
import os, pathlib, sys
import boto3
client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
root, bucket, prefix = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
for path in sorted(root.rglob("*")):
    if path.is_file():
        client.upload_file(str(path), bucket, prefix + "/" + path.relative_to(root).as_posix())
"""
# The modules of contend/ that read from a URL: (whether it packs a format of its own, whether it reads from S3 instead
# of nginx).
OTHERS = {"mds": (True, True), "litdata": (True, True), "s3torchconnector": (False, True), "webdataset": (True, False)}
CROP = ["--transform", "rrc:224,flip"]


def say(text):
    print(text, flush=True)


def contend(arguments, environment, *words):
    """Runs bench/peers/contend.py and returns the events that it prints, each with the seconds since the start as "at".
    Returns None if it fails."""
    begin, events = time.perf_counter(), []
    log = open(arguments.work / f"{words[0]}.log", "a", encoding="utf-8")
    process = subprocess.Popen([arguments.python, PEERS / "contend.py", *map(str, words)], stdout=subprocess.PIPE,
                               stderr=log, text=True, env={**os.environ, **environment})
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        event["at"] = time.perf_counter() - begin
        events.append(event)
    return events if process.wait() == 0 else None


def prepare(arguments, sluice):
    work = arguments.work
    data, jpegs = work / "data", work / "www/jpegs"
    subprocess.run([sluice, "convert", arguments.photos, data, "--quiet"], check=True)
    exported = work / "exported"
    subprocess.run([sluice, "export", data, exported, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    jpegs.mkdir(parents=True)
    lines = []
    for number, path in enumerate(sorted(one for one in exported.rglob("*") if one.suffix.lower() in (".jpg", ".jpeg"))):
        shutil.copy(path, jpegs / f"{number}.jpg")
        lines.append(f"{number}\t{jpegs / f'{number}.jpg'}\n")
    (work / "list.txt").write_text("".join(lines))
    say(f"{len(lines)} photos")
    return data


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--programs", type=pathlib.Path, default=PEERS.parent.parent / "build/release")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--threads", default=os.cpu_count(), type=int)
    parser.add_argument("--seconds", default=10, type=float)
    parser.add_argument("--batch-size", default=64, type=int)
    parser.add_argument("--only", default="", help="sluice,mds,litdata,s3torchconnector,webdataset")
    parser.add_argument("--work", type=pathlib.Path, help="an empty folder that stays")
    arguments = parser.parse_args()
    stays = arguments.work is not None
    arguments.work = pathlib.Path(arguments.work or tempfile.mkdtemp(prefix="sluice-peers-")).resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    sluice = arguments.programs / "tools/sluice"
    bench = Bench(arguments.programs / "bench/sluice-bench", arguments.work)
    wanted = [name for name in ("sluice", *OTHERS) if not arguments.only or name in arguments.only.split(",")]
    data = prepare(arguments, sluice)
    work, servers = arguments.work, []
    try:
        servers.append(Nginx(work / "www", work))
        shutil.copytree(data, work / "www/data")
        servers.append(Radosgw(data, work, sluice))
        nginx, gateway = servers
        players = {}  # {name: function that returns (images per second, seconds to the first batch)}
        if "sluice" in wanted:
            def sluice_player(url, environment):
                result = bench.run("epoch", url, *CROP, "--threads", str(arguments.threads), "--batch-size",
                                   str(arguments.batch_size), "--epochs", "3", environment=environment)
                return (statistics.median(bench.values(result, "images_per_second")), result["first_batch_seconds"])
            players["sluice, S3"] = lambda: sluice_player(gateway.url, gateway.environment)
            players["sluice, nginx"] = lambda: sluice_player(f"{nginx.url}/data", {})
        for name in wanted:
            if name == "sluice":
                continue
            packs, by_s3 = OTHERS[name]
            folder = work / "www" / (name if packs else "jpegs")
            if packs:
                folder.mkdir()
                if contend(arguments, {}, name, "pack", work / "list.txt", folder, arguments.threads) is None:
                    say(f"left out: {name}; see {work / name}.log")
                    continue
            (folder / "names.txt").write_text("\n".join(sorted(one.name for one in folder.iterdir())))
            if by_s3:
                upload = subprocess.run([arguments.python, "-c", UPLOAD, folder, BUCKET, folder.name],
                                        env={**os.environ, **gateway.environment})
                if upload.returncode != 0:
                    say(f"left out: {name}: boto3 could not upload its files")
                    continue
            url = f"s3://{BUCKET}/{folder.name}" if by_s3 else f"{nginx.url}/{folder.name}"
            environment = {**gateway.environment, "S3_ENDPOINT_URL": gateway.endpoint} if by_s3 else {}

            def play(player=name, url=url, environment=environment):
                events = contend(arguments, environment, player, "play", work / "list.txt", url, arguments.threads,
                                 arguments.batch_size, 224, arguments.seconds)
                epochs = [one for one in events or [] if one["event"] == "epoch"]
                if not epochs:
                    return None
                return (sum(one["images"] for one in epochs) / sum(one["seconds"] for one in epochs),
                        next(one["at"] for one in events if one["event"] == "first"))
            players[f"{name}, {'S3' if by_s3 else 'nginx'}"] = play
        results = {name: [] for name in players}
        for turn in range(arguments.rounds):
            for name, player in players.items():
                say(f"round {turn + 1}: {name}")
                result = player()
                if result is not None:
                    results[name].append(result)
        say(f"\n{'loader':<26} {'images/s':>9} {'first batch':>12}")
        for name, values in results.items():
            if not values:
                say(f"{name:<26} failed; see {work} (with --work, it stays)")
                continue
            rate, first = (statistics.median(column) for column in zip(*values))
            say(f"{name:<26} {rate:9.0f} {first:10.2f} s")
    finally:
        for server in servers:
            server.close()
        if not stays:
            shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
