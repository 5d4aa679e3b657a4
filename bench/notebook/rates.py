"""Measures a dataset's epochs from nginx and from Ceph's radosgw, and bare transfers by curl to compare with.

    python3 bench/notebook/rates.py DATASET [--programs build/release] [--servers nginx,radosgw] [--rounds 5]
                                          [--at-once 16,64] [--skip delay,first] [--work FOLDER] [--link 5gbit]

DATASET is a local dataset. Use one of raw images, so that the link limits the rate and not decoding, of 1 to 1.5 GB
(radosgw's store in memory holds 2 GB): sluice convert PHOTOS DATASET --image raw --size 512. Needs nginx, curl, and for
radosgw the programs that tests/remote/radosgw.sh names. Everything runs on this machine, so the servers take CPU time
from the loader, as they do from curl.

Prints a table of rates for each server, one of delays, and one of first batches.

Rates, in MB/s that came over the link, measured alternately: curl with --at-once transfers at a time over the ranges
that an epoch requests (read from nginx's log); `sluice-bench io`, which only fetches; and `sluice-bench epoch`, whole
epochs after the first. Blocks that an epoch finds in memory, where the epoch before left them, do not count. Then
come the epoch's rate as a share of curl's best, and of the rate at which it decodes from memory; the goal for either is
0.95.
curl drops what it gets and leaves the CPUs to the server. If there are few CPUs, the last lines therefore say which
rate they allow: the number of CPUs, divided by the sum of two times per fetched byte: the CPU seconds that curl and the
server take for it, and those that decoding from memory takes for what is played meanwhile. io should repeat 0 requests.
With --link, nginx stands behind a link of that rate: a network namespace of its own, whose packets leave through a token
bucket (tc-tbf; needs root, ip, tc).

Delay: the same epochs through a simulated link without and with 100 ms to the first byte; the goal is a loss below 5%.

First batch: the time to it through a link of 100 MB/s and 50 ms, for several numbers of lanes, and from the local
dataset, where it is the time that the process takes in any case. Name a dataset with several samples per block
(--first): if a block has one sample, each row of a batch needs a block of its own, whatever the lanes.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KEY, SECRET, BUCKET = "testkey", "testsecret", "rates"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def median(values):
    return statistics.median(values) if values else 0.0


class Link:
    """A network namespace, and a link to it of that rate (in tc's notation)."""

    address, inside = "10.213.77.1", "10.213.77.2"

    def __init__(self, rate):
        self.name = f"rates{os.getpid()}"
        self.run("ip", "netns", "add", self.name)
        try:
            self.run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "there", "netns", self.name)
            self.run("ip", "addr", "add", f"{self.address}/30", "dev", self.name)
            self.run("ip", "link", "set", self.name, "up")
            for words in (f"ip addr add {self.inside}/30 dev there", "ip link set there up",
                          f"tc qdisc add dev there root tbf rate {rate} burst 1mb latency 20ms"):
                self.run(*self.prefix, *words.split())
        except subprocess.CalledProcessError:
            self.close()
            raise

    @property
    def prefix(self):
        return ["ip", "netns", "exec", self.name]

    @staticmethod
    def run(*command):
        subprocess.run(command, check=True)

    def close(self):
        self.run("ip", "netns", "del", self.name)


class Nginx:
    """nginx serving a folder, with a log of the requested ranges."""

    def __init__(self, dataset, work, link=None):
        self.port, self.folder = free_port(), work / "nginx"
        address, prefix = (link.inside, link.prefix) if link else ("127.0.0.1", [])
        self.folder.mkdir()
        temporary = "".join(f"{name}_temp_path tmp_{name};\n"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(
            f"daemon off; master_process off; pid nginx.pid; error_log error.log;\n{user}"
            "events { worker_connections 1024; }\n"
            f"http {{ {temporary} sendfile on; tcp_nodelay on; keepalive_requests 1000000;\n"
            "log_format ranges '$uri $http_range'; access_log access.log ranges;\n"
            f"server {{ listen {address}:{self.port}; location /data/ {{ alias {dataset}/; }} }} }}\n")
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        if program is None:
            sys.exit("rates: nginx is not installed")
        self.process = subprocess.Popen(
            [*prefix, program, "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", "error.log"])
        self.url, self.environment = f"http://{address}:{self.port}/data", {}
        for _ in range(100):
            with socket.socket() as one:
                if one.connect_ex((address, self.port)) == 0:
                    return
            time.sleep(0.05)
        sys.exit("rates: nginx did not start; see " + str(self.folder / "error.log"))

    def forget_log(self):
        (self.folder / "access.log").write_bytes(b"")
        self.process.send_signal(signal.SIGUSR1)  # nginx opens its log again
        time.sleep(0.2)

    def ranges(self):
        """(file, first byte, last byte) of each requested range, once: reading ahead continues into the next epoch, and
        may request a range again for it."""
        found = {}
        for line in (self.folder / "access.log").read_text().splitlines():
            match = re.match(r"/data/(\S+) bytes=(\d+)-(\d+)$", line)
            if match:
                found.setdefault((match[1], int(match[2]), int(match[3])))
        return list(found)

    def object_url(self, name):
        return f"{self.url}/{name}"

    curl_options = []

    def close(self):
        self.process.terminate()
        self.process.wait()


class Radosgw:
    """radosgw with the dataset in a bucket. It checks signatures."""

    def __init__(self, dataset, work, sluice):
        self.port = free_port()
        script = HERE.parent.parent / "tests/remote/radosgw.sh"
        self.process = subprocess.Popen(["sh", script, work / "radosgw", str(self.port), str(free_port())],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            sys.exit("rates: radosgw did not start; see " + str(work / "radosgw/log"))
        endpoint = f"http://127.0.0.1:{self.port}"
        self.environment = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": KEY,
                            "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
        self.curl_options = [f'user = "{KEY}:{SECRET}"', 'aws-sigv4 = "aws:amz:us-east-1:s3"',
                             'header = "x-amz-content-sha256: UNSIGNED-PAYLOAD"']
        self.endpoint, self.url = endpoint, f"s3://{BUCKET}/data"
        make = ["curl", "-sf", "-X", "PUT", "--user", f"{KEY}:{SECRET}", "--aws-sigv4", "aws:amz:us-east-1:s3", "-H",
                "x-amz-content-sha256: UNSIGNED-PAYLOAD", f"{endpoint}/{BUCKET}"]
        for _ in range(100):
            if subprocess.run(make).returncode == 0:
                break
            time.sleep(0.2)
        else:
            sys.exit("rates: the bucket could not be made")
        subprocess.run([sluice, "copy", dataset, self.url, "--quiet"], check=True,
                       env={**os.environ, **self.environment})

    def object_url(self, name):
        return f"{self.endpoint}/{BUCKET}/data/{name}"

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    def __init__(self, program, work):
        self.program, self.out = program, work / "result.json"

    def run(self, command, url, *options, environment=None):
        subprocess.run([self.program, command, url, *options, "--json-file", self.out, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        return json.loads(self.out.read_text())

    @staticmethod
    def values(result, name):
        return next(one["values"] for one in result["measurements"] if one["name"] == name)

    def epoch(self, url, *options, environment=None):
        """Measures whole epochs after the first, in which memory is still cold."""
        return Epochs(self.run("epoch", url, "--transform", "none", "--warm-up", "1", "--epochs", "2", *options,
                               environment=environment))


class Epochs:
    """The result of measured epochs: rates of the bytes played, and of those that were fetched."""

    def __init__(self, result):
        epochs = result["epochs"]
        seconds, cpu = (sum(one[name] for one in epochs) for name in ("seconds", "cpu_seconds"))
        fetched = sum(one["fetched_bytes"] for one in epochs) / 1e6
        played = sum(one["images"] for one in epochs) * result["dataset_bytes"] / result["samples"] / 1e6
        self.played, self.fetched = played / seconds, fetched / seconds  # MB/s
        self.cpu = cpu / played  # CPU seconds per MB
        self.cpu_fetched = cpu / fetched if fetched else 0.0


def cpu_of(process):
    """Returns the CPU seconds that a process has used."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def curl_rate(server, ranges, at_once, work):
    """Fetches the ranges by one curl with `at_once` transfers at a time, on connections that are kept. Returns MB/s, and
    the CPU seconds that curl and the server took per MB."""
    config = work / "curl.txt"
    blocks = []
    for name, first, last in ranges:
        blocks.append("\n".join([f'url = "{server.object_url(name)}"', f'range = "{first}-{last}"',
                                 'output = "/dev/null"', "silent", "fail", *server.curl_options]))
    config.write_text("\nnext\n".join(blocks) + "\n")
    def used():
        mine = os.times()
        return mine.children_user + mine.children_system + cpu_of(server.process)

    before, begin = used(), time.perf_counter()
    subprocess.run(["curl", "--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max", str(at_once),
                    "--config", config], check=True)
    seconds, cpu = time.perf_counter() - begin, used() - before
    megabytes = sum(last - first + 1 for _, first, last in ranges) / 1e6
    return megabytes / seconds, cpu / megabytes


def spread(values):
    return f"{median(values):8.0f}  ({min(values):.0f} to {max(values):.0f})"


def rates(arguments, servers, bench, dataset, work):
    local = [bench.epoch(dataset) for _ in range(min(arguments.rounds, 3))]
    decoding, decoding_cpu = median([one.played for one in local]), median([one.cpu for one in local])
    print(f"decoding, from memory: {decoding:.0f} MB/s, {1000 * decoding_cpu:.2f} CPU s/GB")
    nginx = next((one for one in servers if isinstance(one, Nginx)), None)
    if nginx is None:
        sys.exit("rates: nginx is needed: its log says which ranges an epoch asks for")
    nginx.forget_log()
    bench.run("epoch", nginx.url, "--transform", "none", "--warm-up", "0", "--epochs", "1")
    ranges = nginx.ranges()
    print(f"an epoch asks for {len(ranges)} ranges, {sum(b - a + 1 for _, a, b in ranges) / 1e6:.0f} MB")
    for server in servers:
        name = type(server).__name__.lower()
        curls = {at_once: [] for at_once in arguments.at_once}
        fetches, epochs, repeated = [], [], 0
        curl_cpus = {at_once: [] for at_once in arguments.at_once}
        for _ in range(arguments.rounds):
            for at_once, values in curls.items():
                rate, cpu = curl_rate(server, ranges, at_once, work)
                values.append(rate)
                curl_cpus[at_once].append(cpu)
            fetched = bench.run("io", server.url, "--rounds", "1", environment=server.environment)
            fetches += [value / 1e6 for value in bench.values(fetched, "blocks_bytes_per_second")]
            repeated += fetched["repeated_requests"]
            epochs.append(bench.epoch(server.url, environment=server.environment))
        best = max(median(values) for values in curls.values())
        reached, played = median([one.fetched for one in epochs]), median([one.played for one in epochs])
        print(f"\n{name:<28}     MB/s")
        for at_once, values in curls.items():
            print(f"  curl, {at_once:3} at once         {spread(values)}")
        print(f"  sluice-bench io            {spread(fetches)}   {repeated} requests repeated")
        print(f"  sluice-bench epoch         {spread([one.fetched for one in epochs])}   {reached / best:.3f} of curl's "
              f"best, {played / decoding:.3f} of decoding from memory; "
              f"{1000 * median([one.cpu_fetched for one in epochs]):.2f} CPU s/GB, the server's not counted")
        print(f"  ... and blocks in memory   {played:8.0f}")
        if isinstance(server, Nginx):  # (radosgw is several processes)
            bare_cpu = min(median(values) for values in curl_cpus.values())
            bound = os.cpu_count() / (bare_cpu + decoding_cpu * played / reached)
            print(f"  {os.cpu_count()} CPUs allow              {bound:8.0f}   (curl and nginx take {1000 * bare_cpu:.2f} "
                  f"CPU s/GB); the epoch reaches {reached / min(best, bound):.3f} of what bounds it")


def delays(arguments, bench, dataset):
    print("\nthrough a simulated link of 100 MB/s: MB/s of epochs")
    found = {}
    for delay in ("1us", "100ms"):
        found[delay] = [bench.epoch(dataset, "--store-rate", "100MB/s", "--store-delay", delay).fetched
                        for _ in range(min(arguments.rounds, 3))]
        print(f"  {delay:>6} to the first byte     {spread(found[delay])}")
    print(f"  with the delay {median(found['100ms']) / median(found['1us']):.3f} of without")


def first_batches(bench, dataset):
    result = bench.run("epoch", dataset, "--transform", "none", "--warm-up", "0", "--epochs", "1", "--batches", "1",
                       "--batch-size", "64")
    print("\nfirst batch through a simulated link of 100 MB/s and 50 ms, after the process's start; local, it comes after "
          f"{result['first_batch_seconds']:.2f} s")
    for lanes in (192, 96, 48, 24, 12):
        result = bench.run("epoch", dataset, "--transform", "none", "--warm-up", "0", "--epochs", "1", "--store-rate",
                           "100MB/s", "--store-delay", "50ms", "--lanes", str(lanes), "--batches", "1",
                           "--batch-size", "64")
        print(f"  {lanes:3} lanes {result['first_batch_seconds']:8.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, default=HERE.parent.parent / "build/release")
    parser.add_argument("--servers", default="nginx,radosgw")
    parser.add_argument("--at-once", default="16,64", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--link", metavar="RATE", help="nginx behind a link of this rate, such as 5gbit (tc's words)")
    parser.add_argument("--first", type=pathlib.Path, help="the dataset for the table of first batches")
    parser.add_argument("--skip", default="", help="rates, delay, first")
    parser.add_argument("--work", type=pathlib.Path, help="a folder that stays")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work or tempfile.mkdtemp(prefix="sluice-rates-")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    dataset = arguments.dataset.resolve()
    bench = Bench(arguments.programs / "bench/sluice-bench", work)
    skipped = arguments.skip.split(",")
    servers = []
    link = Link(arguments.link) if arguments.link else None
    try:
        if "rates" not in skipped:
            servers.append(Nginx(dataset, work, link))
            if "radosgw" in arguments.servers.split(","):
                servers.append(Radosgw(dataset, work, arguments.programs / "tools/sluice"))
            rates(arguments, servers, bench, dataset, work)
        if "delay" not in skipped:
            delays(arguments, bench, dataset)
        if "first" not in skipped:
            first_batches(bench, (arguments.first or dataset).resolve())
    finally:
        for server in servers:
            server.close()
        if link:
            link.close()
        if arguments.work is None:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
