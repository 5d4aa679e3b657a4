"""Converts on a Spark cluster: spark_convert.py PARTS SOURCE DATASET [OPTION...]

    spark-submit --master spark://head:7077 spark_convert.py 64 /data/photos /data/photos.sluice --image packed

Plans on this machine, converts each part as a Spark task, and finishes on this machine. If a worker is lost, Spark
runs that worker's parts again on others. SOURCE and DATASET are on a file system that all workers see, or URLs; the
OPTIONs are those of `sluice plan`."""

import os
import subprocess
import sys

from pyspark.sql import SparkSession

parts, source, dataset, *options = sys.argv[1:]
dataset = dataset if "://" in dataset else os.path.abspath(dataset)


def convert(part):
    subprocess.run(["sluice", "convert", "--quiet", "--threads=1", "--part", f"{part}/{parts}", dataset], check=True)


subprocess.run(["sluice", "plan", source, dataset, *options], check=True)
context = SparkSession.builder.appName("sluice convert").getOrCreate().sparkContext
context.parallelize(range(int(parts)), int(parts)).foreach(convert)
# Exit code 3: broken sources were left out, which is not a failure here.
sys.exit(subprocess.run(["sluice", "finish", dataset], check=False).returncode not in (0, 3))
