"""samples/cluster/spark_convert.py on two workers of Spark on this machine; one dies in the middle of a part."""

import os
import subprocess
import sys

import cluster

cluster.need("java")
try:
    import pyspark  # noqa: F401
except ImportError:
    cluster.skip("pyspark is not installed for this Python")

with cluster.Workplace(sys.argv, "stop") as place:
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYSPARK_SUBMIT_ARGS="--master local-cluster[2,1,512] "
                      "--conf spark.executor.memory=512m --conf spark.ui.enabled=false pyspark-shell",
                      SPARK_LOCAL_IP="127.0.0.1", SPARK_WORKER_DIR=str(place.folder / "work"))
    recipe = subprocess.Popen([sys.executable, place.recipe("spark_convert.py"), "6", place.source, place.data,
                               "--labels", "none", *cluster.OPTIONS], cwd=place.folder)
    part = place.stopped()
    executor = part
    while b"java" not in open(f"/proc/{executor}/cmdline", "rb").read().split(b"\0")[0]:
        executor = cluster.parent_of(executor)
    cluster.kill(executor)
    cluster.kill(part)
    if recipe.wait() != 0:
        sys.exit("the recipe failed")
    place.check()
