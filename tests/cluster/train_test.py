"""samples/cluster/train.py under every launcher of its page: each epoch plays all full batches, and a killed training
resumes from its checkpoint, also with a different number of processes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cluster

sys.path.append(str(Path(__file__).parent.parent / "importers"))
from importers import need  # noqa: E402

need("torch", "torchvision")
try:
    import sluice  # noqa: F401
except ImportError as error:
    cluster.skip(f"the package sluice is not built for this Python: {error}")

SMALL = ["--side", "32", "--batch-size", "8"]
IMAGES = 90  # pictures in a Workplace


def played(said, epoch, images, processes):
    if f"epoch {epoch}: {images} images by {processes} processes" not in said:
        sys.exit(f"epoch {epoch} is not {images} images by {processes} processes: {said}")


def torchrun(place, *words, processes=2):
    return [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}",
            f"--master-port={cluster.free_ports(1)[0]}", place.recipe("train.py"), place.data, *SMALL, *words]


def by_torchrun(place):
    checkpoint = place.folder / "run.pt"
    words = [str(word) for word in torchrun(place, "--batch-size", "2", "--checkpoint", checkpoint, "--every", "1")]
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    cluster.wait_for("a checkpoint", lambda: checkpoint.exists() or first.poll() is not None)
    for process in Path("/proc").glob("[0-9]*"):  # as when the machine is lost
        try:
            if os.fsencode(checkpoint) in (process / "cmdline").read_bytes().split(b"\0"):
                cluster.kill(int(process.name))
        except OSError:
            continue
    first.wait()
    said = place.run(*torchrun(place, "--batch-size", "2", "--checkpoint", checkpoint, "--epochs", "2"))
    if int(re.search(r"epoch 0: (\d+) images", said).group(1)) >= IMAGES - IMAGES % 4:
        sys.exit(f"the training began anew: {said}")
    played(said, 1, IMAGES - IMAGES % 4, 2)
    alone = place.run(sys.executable, place.recipe("train.py"), place.data, *SMALL, "--checkpoint", checkpoint,
                      "--epochs", "3")
    played(alone, 2, IMAGES - IMAGES % 8, 1)


def by_mpirun(place):
    cluster.need("mpirun")
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    played(place.run("mpirun", "-n", "3", "--oversubscribe", "-x", "MASTER_ADDR=127.0.0.1", "-x",
                     f"MASTER_PORT={cluster.free_ports(1)[0]}", sys.executable, place.recipe("train.py"), place.data,
                     *SMALL, "--epochs", "1"), 0, IMAGES - IMAGES % 24, 3)


def by_kubernetes(place):
    """Runs the pods' command, in two pods."""
    text = open(place.recipe("train_kubernetes.yaml")).read()
    pods = int(re.search(r"completions: (\d+)", text).group(1))
    words = json.loads(re.search(r"command: (\[.*\])", text).group(1))
    if f"--nnodes={pods}" not in words or f"parallelism: {pods}\n" not in text:
        sys.exit("the number of the Job's pods is not that for which torchrun waits")
    here = {"torchrun": None, f"--nnodes={pods}": "--nnodes=2", "--nproc-per-node=8": "--nproc-per-node=1",
            "--max-restarts=20": "--max-restarts=0",
            "/opt/train.py": place.recipe("train.py"), "s3://bucket/dataset": str(place.data),
            "/stage": str(place.folder / "stage"), "/runs/run1.pt": str(place.folder / "pods.pt"),
            "--rdzv-endpoint=sluice-train-0.sluice-train:29400":
                f"--rdzv-endpoint=127.0.0.1:{cluster.free_ports(1)[0]}"}
    if not here.keys() <= set(words):
        sys.exit(f"the command lacks words that this test replaces: {words}")
    words = [sys.executable, "-m", "torch.distributed.run"] + [here.get(word, word) for word in words[1:]]
    pods = [subprocess.Popen([*words, *SMALL, "--epochs", "1"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [pod.communicate()[0] for pod in pods]
    if any(pod.returncode for pod in pods):
        sys.exit(f"a pod failed: {said}")
    played("".join(said), 0, IMAGES - IMAGES % 16, 2)


def by_slurm(place):
    from slurm import Slurm

    os.environ.update(PYTHON=sys.executable, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(cluster.free_ports(1)[0]))
    with Slurm(place) as slurm:
        said = place.folder / "said"
        job = place.run("sh", place.recipe("train_slurm.sh"), "-n", "2", "-o", said, "--", place.data, *SMALL,
                        "--epochs", "1").strip()
        cluster.wait_for("the job", lambda: job not in slurm.ask("squeue", "-h", "-o", "%A").split())
        played(said.read_text(), 0, IMAGES - IMAGES % 16, 2)


with cluster.Workplace(sys.argv) as place:
    place.run("sluice", "convert", place.source, place.data, "--labels", "top", "--shard-bytes", "1MB", codes=[0, 3])
    for launch in by_torchrun, by_mpirun, by_kubernetes, by_slurm:
        launch(place)
        print(launch.__name__, "succeeded", flush=True)
