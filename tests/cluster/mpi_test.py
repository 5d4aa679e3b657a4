"""samples/cluster/mpi.sh: a rank is killed in the middle of its part, which ends all ranks; the next run resumes."""

import os
import sys

import cluster

cluster.need("mpirun")

with cluster.Workplace(sys.argv, "kill") as place:
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    recipe = ["sh", place.recipe("mpi.sh"), "-n", "4", "--oversubscribe", "--", place.source, place.data,
              "--labels", "none", *cluster.OPTIONS]
    place.run(*recipe, codes=range(1, 256))
    if not place.interrupted() or (place.data / "manifest.json").exists():
        sys.exit("the first run was not interrupted")
    place.run(*recipe)
    place.check()
