"""environment.py ROOT: tools/ENVIRONMENT.md names each environment variable that programs, libraries and scripts read
(of shell scripts, only SLUICE_*), and no other."""
import re
import sys
from pathlib import Path

import pages

root = Path(sys.argv[1])
READS = re.compile(r"\bgetenv\(|\b(?:search\.|settings\.)?environment\(|ProcessEnvironment|\bEnvironment&")
# Variables that curl reads, by its own rules.
CURL = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}

read = {}
for top in ("bench", "format", "reader", "samples", "tools", "writer"):
    for file in sorted((root / top).rglob("*")):
        if not file.is_file():
            continue
        if file.suffix in (".cpp", ".h", ".cu"):
            text = file.read_text(encoding="utf-8")
            if "temp_directory_path()" in text:
                read.setdefault("TMPDIR", file)
            if READS.search(text):
                text = re.sub(r"//.*", "", text)
                for name in re.findall(r'"([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|RANK|HOME)"', text):
                    read.setdefault(name, file)
                for name in re.findall(r'(?:getenv|nvironment)\("(\w+)"', text):
                    read.setdefault(name, file)
        elif file.suffix == ".sh":
            for name in re.findall(r"\$\{?(SLUICE_\w+)", file.read_text(encoding="utf-8")):
                read.setdefault(name, file)
        elif file.suffix == ".py" and top in ("reader", "tools"):
            for name in re.findall(r'environ(?:\.get\(|\[)"(\w+)"', file.read_text(encoding="utf-8")):
                read.setdefault(name, file)
for file in [root / ".ci" / "run", *sorted((root / "tests").rglob("*.py")), *sorted((root / "tests").rglob("*.cpp"))]:
    for name in re.findall(r"\bSLUICE_TEST_(?:DATA|PYTHONS)\b", file.read_text(encoding="utf-8")):
        read.setdefault(name, file)

page = (root / "tools" / "ENVIRONMENT.md").read_text(encoding="utf-8")
named = {name for row in re.findall(r"^\| (`.*?) \|", page, flags=re.M) for name in re.findall(r"`(\w+)`", row)}
faults = [f"{read[name]} reads {name}, which tools/ENVIRONMENT.md does not name" for name in sorted(set(read) - named)]
faults += [f"tools/ENVIRONMENT.md names {name}, which nothing reads" for name in sorted(named - set(read) - CURL)]
pages.fail(faults)
