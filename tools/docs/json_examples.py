"""Makes the page with the output of `sluice`'s commands with --json, by running each on a few small pictures."""
import subprocess
import tempfile
from pathlib import Path

import commands

# (heading, command line), run in this order in a folder that has photos/. With the heading None, the output follows
# that of the line above; with --quiet, it is left out.
RUNS = [
    ("convert", "convert photos data"),
    ("inspect", "inspect data"),
    ("stats", "stats data"),
    ("when", "when data --sample 3 --batch-size 4"),
    ("preview", "preview data page.html"),
    ("verify", "verify data"),
    ("subset", "subset data few --count 4"),
    ("merge", "merge data few all --duplicates drop"),
    ("transcode", "transcode data packed --image packed"),
    ("export", "export data files"),
    ("copy", "copy data copied"),
    ("repair", "repair data repaired"),
    ("append", "append photos data"),
    ("column", "column replace data label --from data --note mended"),
    ("delete", "delete data --samples gone.txt"),
    ("log", "log data"),
    ("restore", "restore data v1"),
    ("gc", "gc data --keep-days 0"),
    ("cache", "cache ."),
    ("plan", "plan photos planned"),
    (None, "convert --part 0/2 planned"),
    ("status", "status planned"),
    (None, "convert --part 1/2 planned --quiet"),
    ("finish", "finish planned"),
]


def page(sluice, make_photos):
    """Returns the page, and a list of faults."""
    missing = [f"tools/docs/json_examples.py runs no `sluice {command} --json`"
               for command, _ in commands.commands_of(sluice)
               if "--json" in commands.flags_of(sluice, command) and command not in dict(RUNS)]
    out = ["# JSON of sluice", "",
           "With `--json`, a command of `sluice` prints one JSON object to standard output. These were printed while this "
           "site was built, for twelve small pictures in two class folders. [Exit codes and errors](exit-codes.md) has "
           "the object of a command that fails; `sluice-bench` has a [schema](../bench/report/SCHEMA.md).", ""]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_photos, Path(folder) / "photos", "2", "6", "96"], check=True, stdout=subprocess.DEVNULL)
        (Path(folder) / "gone.txt").write_text("3\n")
        for command, line in RUNS:
            if command == "column":
                subprocess.run([sluice, "tag", "data", "v1"], cwd=folder, check=True)
            done = subprocess.run([sluice, *line.split(), "--json"], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                missing.append(f"sluice {line} --json ended with {done.returncode}: {done.stderr}")
            if "--quiet" not in line:
                if command:
                    out += [f"## {command}", ""]
                out += ["```sh", f"sluice {line} --json", "```", "", "```json", done.stdout.rstrip(), "```", ""]
    return "\n".join(out), missing
