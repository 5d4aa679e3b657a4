"""The commands of samples/cluster/kubernetes.yaml, run as its indexed Job runs them: some indexes twice at once, one
killed and tried again."""

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
        place_of = quoted if words[0] == "sh" else str(place.data)
        words[:] = [word.replace("/data/dataset", place_of).replace("/data/source", str(place.source))
                    for word in words]
    return completions, commands


with cluster.Workplace(sys.argv, "kill") as place:
    completions, (plan, part, finish) = commands_of(place)
    if not any(f"/{completions} " in word for word in part):
        sys.exit("the Job has another number of completions than its parts")
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
        sys.exit(f"{failed} indexes failed, and not the one that was killed")
    place.run(*finish)
    place.check()
