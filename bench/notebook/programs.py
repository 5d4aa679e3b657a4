"""Shared by mixed.py, sharing.py and tuning.py: the command line, datasets that are made once, and `sluice-bench epoch`."""
import argparse
import json
import pathlib
import subprocess
import sys


def arguments_of(doc, names, *, rounds, more=lambda parser: None):
    """Parses BUILD PHOTOS FOLDER [--only NAME,...] [--rounds N] [--epochs N]; `only` becomes a list of names.
    `more(parser)` may add options."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "photos", "folder"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--only", default=",".join(names), help="some of %(default)s, joined by commas")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--epochs", type=int, default=3)
    more(parser)
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(names):
        parser.error("there is no " + ", ".join(sorted(unknown)))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    return arguments


def dataset(arguments, name, options):
    """Returns the dataset `name` of the photos; if there is none yet, converts the photos with these options."""
    made = arguments.folder / name
    if not (made / "manifest.json").exists():
        done = subprocess.run([arguments.build / "tools/sluice", "convert", arguments.photos, made, "--quiet", *options],
                              stdout=sys.stderr)
        if done.returncode not in (0, 3):  # 3: some sources are broken and were left out
            sys.exit(f"{name}: the conversion failed")
    return made


def epoch(arguments, *words, **how):
    """Runs `sluice-bench epoch`; returns its result, and {name: median} of its measurements."""
    done = subprocess.run([str(word) for word in (arguments.build / "bench/sluice-bench", "epoch", *words, "--json")],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **how)
    result = json.loads(done.stdout)
    return result, {one["name"]: one["median"] for one in result["measurements"]}
