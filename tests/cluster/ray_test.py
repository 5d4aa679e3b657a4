"""samples/cluster/ray_convert.py on three nodes of Ray on this machine, one of which dies in the middle of a part."""

import os
import subprocess
import sys

import cluster

try:
    from ray.cluster_utils import Cluster
except ImportError:
    cluster.skip("ray is not installed for this Python")

with cluster.Workplace(sys.argv, "stop") as place:
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        for _ in range(3):
            nodes.add_node(num_cpus=1)
        os.environ["RAY_ADDRESS"] = nodes.address
        recipe = subprocess.Popen([sys.executable, place.recipe("ray_convert.py"), "6", place.source, place.data,
                                   "--labels", "none", *cluster.OPTIONS])
        part = place.stopped()
        worker = cluster.parent_of(part)
        for process in [cluster.parent_of(worker), worker, part]:
            cluster.kill(process)
        if recipe.wait() != 0:
            sys.exit("the recipe failed")
    finally:
        nodes.shutdown()
    place.check()
