"""A dataset on a network file system that is slow and whose files go stale: its statistics are those of the local
files; once files are stale, `sluice verify` reports an error of the file system, and no signal ends it."""

import subprocess
import sys
import time
from pathlib import Path

import cluster

sys.path.append(str(Path(__file__).parent.parent / "importers"))
from importers import need  # noqa: E402

need("fuse")
cluster.need("fusermount")


def mounted(place, seconds):
    mount = place.folder / "mount"
    mount.mkdir(exist_ok=True)
    server = subprocess.Popen([sys.executable, Path(__file__).parent / "network_disk.py", place.folder / "whole",
                               mount, str(seconds)], stderr=subprocess.DEVNULL)
    cluster.wait_for("the mount", lambda: mount.is_mount() or server.poll() is not None)
    if server.poll() is not None:
        cluster.skip("nothing can be mounted here")
    return mount, server


def unmount(mount, server):
    subprocess.run(["fusermount", "-u", "-z", mount], check=True)
    server.wait()


with cluster.Workplace(sys.argv) as place:
    for form in "raw", "jpeg":
        subprocess.run(["rm", "-r", place.folder / "whole"], check=True)
        place.run("sluice", "convert", place.source, place.folder / "whole", "--labels", "none", "--shard-bytes", "1MB",
                  "--image", form, codes=[3])
        local = place.run("sluice", "stats", "--json", place.folder / "whole")
        mount, server = mounted(place, 0.002)
        remote = place.run("sluice", "stats", "--json", mount)
        place.run("sluice", "verify", mount)
        unmount(mount, server)
        if local.split('"samples"')[1] != remote.split('"samples"')[1]:
            sys.exit(f"different statistics: {local} and {remote}")

        mount, server = mounted(place, 0.1)
        verifying = subprocess.Popen(["sluice", "verify", "--decode", mount], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        stale = Path(f"{place.folder / 'whole'}.stale")
        stale.touch()
        said = verifying.communicate(timeout=120)[0]
        stale.unlink()
        unmount(mount, server)
        if verifying.returncode != 1 or "the disk or file system reported an error" not in said:
            sys.exit(f"ended with {verifying.returncode}: {said}")
    print("faults where files went stale")
