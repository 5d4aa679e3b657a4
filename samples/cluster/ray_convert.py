"""Converts on a Ray cluster: ray_convert.py PARTS SOURCE DATASET [OPTION...]

    RAY_ADDRESS=head:6379 python ray_convert.py 64 /data/photos /data/photos.sluice --image packed

Plans on this machine, converts each part as a Ray task, and finishes on this machine. If a node is lost, Ray runs
that node's parts again on others. SOURCE and DATASET are on a file system that all nodes see, or URLs; the OPTIONs are
those of `sluice plan`."""

import os
import subprocess
import sys

import ray

parts, source, dataset, *options = sys.argv[1:]
dataset = dataset if "://" in dataset else os.path.abspath(dataset)


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)
def convert(part):
    subprocess.run(["sluice", "convert", "--quiet", "--threads=1", "--part", f"{part}/{parts}", dataset], check=True)


subprocess.run(["sluice", "plan", source, dataset, *options], check=True)
ray.init()
ray.get([convert.remote(part) for part in range(int(parts))])
# Exit code 3: broken sources were left out, which is not a failure here.
sys.exit(subprocess.run(["sluice", "finish", dataset], check=False).returncode not in (0, 3))
