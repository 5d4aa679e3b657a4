"""The code blocks of a page, and other things that the tests of the pages share."""
import re
import sys
from pathlib import Path


def blocks(path):
    """Returns (words after the fence, number of the first line, text) of each code block."""
    found, words, start = [], None, 0
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if words is None:
            words, start = line[3:].split(), number + 1
        else:
            found.append((words, start, "\n".join(lines[start - 1:number - 1])))
            words = None
    if words is not None:
        fail([f"{path}:{start}: a code block has no end"])
    return found


def prose(path):
    """The page without its code blocks; lines keep their numbers."""
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"),
                  path.read_text(encoding="utf-8"), flags=re.M | re.S)


def all_pages(root):
    return sorted(path for path in Path(root).rglob("*.md")
                  if path.relative_to(root).parts[0] not in ("build", ".git"))


def fail(faults):
    """Ends the test: with 1 if there are faults, otherwise with 0."""
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)
