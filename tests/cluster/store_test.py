"""samples/cluster/parallel.sh from and to an object store: Ceph's gateway, if it is installed."""

import os
import subprocess
import sys
from pathlib import Path

import cluster

cluster.need("parallel", "curl")
gateway = Path(__file__).parent.parent / "remote/radosgw.sh"
if subprocess.run(["sh", gateway, "--can"], check=False).returncode != 0:
    cluster.skip("radosgw is not installed")

with cluster.Workplace(sys.argv) as place:
    port, monitor = cluster.free_ports(2)
    server = subprocess.Popen(["sh", gateway, place.folder / "store", str(port), str(monitor)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    def request(path, *words, codes=(0,)):
        """Runs a request by curl, which signs by itself."""
        return place.run("curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "testkey:testsecret",
                         "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", *words, f"{url}/bucket/{path}", codes=codes)

    try:
        if server.stdout.readline() != b"ready\n":
            cluster.skip("radosgw does not run here")
        cluster.wait_for("radosgw", lambda: subprocess.run(["curl", "-s", url], capture_output=True,
                                                           check=False).returncode == 0, 60)
        request("", "-X", "PUT")
        for picture in place.source.rglob("*.jpg"):
            request(f"source/{picture.relative_to(place.source)}", "-T", picture)
        os.environ.update(AWS_ENDPOINT_URL=url, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="testkey",
                          AWS_SECRET_ACCESS_KEY="testsecret", PARALLEL_HOME=str(place.folder / "parallel"))
        (place.folder / "parallel").mkdir()
        (place.folder / "parallel/will-cite").touch()
        place.run("sh", place.recipe("parallel.sh"), "-j", "2", "--", "6", "s3://bucket/source", "s3://bucket/dataset",
                  "--labels", "none", *cluster.OPTIONS)
        place.data.mkdir()
        for path in (place.folder / "whole").iterdir():
            request(f"dataset/{path.name}", "-o", place.data / path.name)
        place.check()
    finally:
        server.stdin.close()
        server.wait()
