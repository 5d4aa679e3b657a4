"""page_names.py ROOT SLUICE SLUICE-BENCH: the options that pages name in their text and tables exist.

Each `--option` is one of a command of sluice or sluice-bench, of a script of the project, or of a program of others
that is listed here. After the name of a command, it is an option of that command. Each `group.member` and
`Struct::member` of the loader's options is a member that compiles as `options.group.member`.
tests/python/test_pages.py does the same for names and keywords of the Python package. (Code blocks are compiled and
run by other tests.)
"""
import re
import subprocess
import sys
from pathlib import Path

import pages

root = Path(sys.argv[1])
programs = {"sluice": sys.argv[2], "sluice-bench": sys.argv[3]}

# Options of programs that are not the project's.
OTHERS = {"--cflags", "--libs", "--static", "--prefix", "--preset", "--nproc-per-node", "--rdzv-backend", "--env",
          "--overlay-ports", "--no-binarycaching", "--recipe", "--shm-size"}


def flags_of(*command):
    text = subprocess.run([programs[command[0]], *command[1:], "--help"], capture_output=True, text=True).stdout
    return text, set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


flags = {}  # "sluice convert": its options
for program in programs:
    text, flags[program] = flags_of(program)
    for name in re.findall(r"^  (\w+)  ", text[text.index("Subcommands:"):], flags=re.M):
        flags[f"{program} {name}"] = flags_of(program, name)[1]
ours = set.union(*flags.values())
for folder in ("bench", "samples", "tests", "tools", ".ci"):
    for file in (root / folder).rglob("*"):
        if file.suffix in (".sh", ".py", "") and file.is_file():
            ours |= set(re.findall(r"--[a-z][a-z0-9-]+", file.read_text(encoding="utf-8", errors="replace")))

header = re.sub(r" *//.*", "", (root / "reader/include/sluice/loader_options.h").read_text(encoding="utf-8"))
structs = {name: dict((member, kind) for kind, member in re.findall(r"^  ([\w:<>*, ]+?) (\w+)(?: = [^;]*)?;", body, flags=re.M))
           for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", header, flags=re.M | re.S)}
groups = {member: kind for member, kind in structs["LoaderOptions"].items()
          if re.sub(r"^std::optional<(\w+)>$", r"\1", kind) in structs}
assert {"order", "ranks", "ring", "stage", "keep"} <= set(groups) and "lanes" in structs["OrderOptions"]
# Attributes of other things that are called as a group is: of a batch, a sample, a schema.
ELSEWHERE = {"output.csv", "stage.md", "order.h", "ring.h"}

faults = []
for page in pages.all_pages(root):
    name = page.relative_to(root).as_posix()
    if name.startswith("bench/MEASURED"):
        continue  # it names options as they were when it was measured
    for number, line in enumerate(pages.prose(page).splitlines(), 1):
        for code in re.findall(r"`+([^`]+)`+", line):
            command = re.match(r"(sluice(?:-bench)?(?: [a-z]+)?)\b", code)
            known = flags.get(command[1] if command else "", ours | OTHERS)
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", code):
                if flag not in known:
                    faults.append(f"{name}:{number}: there is no option {flag}" + (f" of {command[1]}" if command else ""))
            for group, member in re.findall(r"(?<![\w.:-])(?:options\.)?([a-z_]+)\.([a-z_]+)\b(?!\()", code):
                if group not in groups or f"{group}.{member}" in ELSEWHERE:
                    continue
                kind = groups[group]
                if kind.startswith("std::optional<"):
                    faults.append(f"{name}:{number}: {group}.{member} does not compile: {group} is optional; write "
                                  f"{kind[14:-1]}::{member}, or {group} = {kind[14:-1]}{{...}}")
                elif member not in structs[kind]:
                    faults.append(f"{name}:{number}: there is no {group}.{member}")
            for struct, member in re.findall(r"\b([A-Z]\w+)::([a-z_]\w*)\b(?!\()", code):
                if struct in structs and member not in structs[struct]:
                    faults.append(f"{name}:{number}: there is no {struct}::{member}")
pages.fail(faults)
