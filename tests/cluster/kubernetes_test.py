"""The commands of samples/cluster/kubernetes.yaml, run as its indexed Job runs them: each index in two pods at once,
one of which is killed and tried again."""

import json
import os
import re
import subprocess
import sys

import cluster


def commands_of(place):
    """The commands of the three Jobs, with the paths of this test. A YAML list on one line is a JSON list."""
    text = open(place.recipe("kubernetes.yaml")).read()
    completions = int(re.search(r"completions: (\d+)", text).group(1))
    commands = [json.loads(line) for line in re.findall(r"command: (\[.*\])", text)]
    quoted = "'" + str(place.data).replace("'", "'\\''") + "'"
    for words in commands:
        dataset = quoted if words[0] == "sh" else str(place.data)
        words[:] = [word.replace("/data/dataset", dataset).replace("/data/source", str(place.source))
                    for word in words]
    return completions, commands


with cluster.Workplace(sys.argv, "kill") as place:
    completions, (plan, part, finish) = commands_of(place)
    if not any(f"/{completions} " in word for word in part):
        sys.exit("the number of the Job's completions is not that of the parts")
    place.run(*plan, "--labels", "none", *cluster.OPTIONS)
    failed = 0
    for index in range(completions):
        environment = {**os.environ, "JOB_COMPLETION_INDEX": str(index)}
        for attempt in range(2):  # two at once, and again if one failed
            pods = [subprocess.Popen(part, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for _ in range(2)]
            if all([pod.wait() == 0 for pod in pods]):
                break
            failed += 1
    if failed != 1:
        sys.exit(f"{failed} attempts failed, instead of the one that was killed")
    place.run(*finish)
    place.check()
