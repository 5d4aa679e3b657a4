"""tables.py ROOT SLUICE: the pages' tables name everything that the headers and the help have, and nothing else.

reader/README.md: each member of LoaderOptions. reader/TRANSFORMS.md: each step. writer/README.md: the options of sluice
convert, the commands of sluice. samples/guides/errors.md: each code of errors.
"""
import re
import subprocess
import sys
from pathlib import Path

import pages

root, sluice = Path(sys.argv[1]), sys.argv[2]
headers = root / "reader" / "include" / "sluice"
faults = []


def rows(page, *, under=None):
    """The cells of the page's tables; if `under` is given, only of tables below that heading."""
    text = pages.prose(root / page)
    if under is not None:
        text = text[text.index(f"\n## {under}\n") + 1:]
        text = text[:(text + "\n## ").index("\n## ", 1)]
    for line in re.findall(r"^\|(.*)\|$", text, flags=re.M):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if not set(cells[0]) <= set("- "):
            yield cells


def compare(page, what, named, there):
    faults.extend(f"{page} does not name {what} {name}" for name in sorted(there - named))
    faults.extend(f"{page}: there is no {what} {name}" for name in sorted(named - there))


# The loader's options; the declarations have their defaults and ranges.
page = "reader/README.md"
body = re.search(r"^struct LoaderOptions \{(.*?)^\};", re.sub(r" *//.*", "", (headers / "loader_options.h").read_text(
    encoding="utf-8")), flags=re.M | re.S)[1]
named = {name for cells in rows(page, under="Options") for name in re.findall(r"`(\w+)`", cells[0])}
compare(page, "option", named, set(re.findall(r" (\w+)(?: = [^;]*)?;", body)))

# Steps of a transform.
page = "reader/TRANSFORMS.md"
variant = re.search(r"using Transform =\s*std::variant<([^>]*)>",
                    (headers / "transform.h").read_text(encoding="utf-8"))[1]
named = {name for cells in rows(page) for name in re.findall(r"`([A-Z]\w+)[({]", cells[0])}
compare(page, "step", named, set(re.findall(r"\w+", variant)))

# Options of sluice convert; page_names.py finds those that do not exist.
page = "writer/README.md"
help_text = subprocess.run([sluice, "convert", "--help"], capture_output=True, text=True, check=True).stdout
options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", help_text, flags=re.M)) - {"--help"}
text = (root / page).read_text(encoding="utf-8")
faults.extend(f"{page} does not name {option}" for option in sorted(options) if f"{option}" not in text)

# The codes of errors.
codes = re.findall(r'case ErrorCode::(k\w+): return "([^"]+)"', (root / "format/error.cpp").read_text(encoding="utf-8"))
compare("samples/guides/errors.md", "code",
        {f"{cells[0]} {cells[1]}" for cells in rows("samples/guides/errors.md", under="Catch them")
         if cells[1].startswith("`k")}, {f'`"{word}"` `{name}`' for name, word in codes})

# The tools around.
help_text = subprocess.run([sluice, "--help"], capture_output=True, text=True, check=True).stdout
commands = set(re.findall(r"^  (\w[\w-]*) ", help_text[:help_text.index("Examples:")], flags=re.M))
named = {command for cells in rows(page, under="The tools around")
         for command in re.findall(r"`sluice (\w[\w-]*)", cells[0])}
compare(page, "command", named | {"convert", "completion"}, commands | {"completion"})
pages.fail(faults)
