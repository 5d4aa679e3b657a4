"""Checks the notes in headers that say where else a new thing goes: places.py ROOT

Such a note reads

    // ... It also goes into these files, where "WORD" shows how:
    //   path/from/the/root.cpp   a remark
    //   path/to/another.h

WORD is a name of the newest thing of the kind (a regular expression; case does not matter). Every file of
the list must be there and have it. A file that CONTRIBUTING.md marks with a * must have such a note.
"""

import pathlib
import re
import sys

NOTE = re.compile(r'where\s+(?://\s*)?"([^"\n]+)"\s+(?://\s*)?shows\s+(?://\s*)?how:\n((?://   \S.*\n)+)')


def notes(root):
    """(header, word, files) of each note."""
    for top in ("bench", "format", "reader", "tools", "writer"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp") or not file.is_file():
                continue
            for word, lines in NOTE.findall(file.read_text(errors="replace")):
                yield file.relative_to(root), word, [line.split()[1] for line in lines.splitlines()]


def check(root):
    """Complaints, and how many files were looked at."""
    found, looked_at = [], 0
    marked = re.findall(r"`([^` ]+\.h)` \*", (root / "CONTRIBUTING.md").read_text())
    with_note = {str(header).replace("include/", "") for header, _, _ in notes(root)}
    for name in marked:
        if not any(header.endswith(name) for header in with_note):
            found.append(f"CONTRIBUTING.md: {name} has no list of places")
    for header, word, files in notes(root):
        for name in files:
            looked_at += 1
            if not (root / name).is_file():
                found.append(f"{header}: there is no {name}")
            elif not re.search(word, (root / name).read_text(errors="replace"), re.IGNORECASE):
                found.append(f'{header}: {name} does not have "{word}"')
    return found, looked_at


def main():
    found, looked_at = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found + [f"{looked_at} files named, {len(found)} wrong"]))
    return 1 if found or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
