"""samples/cluster/slurm.sh on a cluster of four nodes on this machine, one of which dies in the middle of a part."""

import sys

import cluster
from slurm import Slurm

with cluster.Workplace(sys.argv, "stop") as place, Slurm(place) as slurm:
    last = place.run("sh", place.recipe("slurm.sh"), "--", "6", place.source, place.data, "--labels", "none",
                     *cluster.OPTIONS).strip()
    slurm.lose_node(place.stopped())

    def ended():
        # Slurm waits two minutes before it restarts a job that lost its node.
        for job in slurm.ask("squeue", "-h", "-t", "PD", "-o", "%A %r").split("\n"):
            if job.endswith("BeginTime"):
                slurm.ask("scontrol", "update", f"JobId={job.split()[0]}", "StartTime=now")
        return last not in slurm.ask("squeue", "-h", "-o", "%A").split()

    cluster.wait_for("the last job", ended)
    place.check()
