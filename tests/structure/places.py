"""Checks the notes in headers that say where else a new thing goes. Run as: places.py ROOT [HEADER NAME]

Such a note reads

    // ... It also goes into these files, where "WORD" shows how:
    //   path/from/the/root.cpp   a remark
    //   path/to/another.h
    //   not path/to/a/third.cpp  why a new thing of the kind has no place there
    //   not path/to/a/folder/    why

WORD is a name of the newest thing of the kind (a regular expression; case does not matter). Every file of
the list must be there and have WORD, and every file of the tree that has WORD must be in the list, except the header
itself, files whose path has WORD (they belong to that thing), and those of NEVER. If WORD is so common that the list
would be long, the note says "shows how, among others:"; then the files that are not in the list are only printed.
A file that CONTRIBUTING.md marks with a * must have such a note.

With HEADER and NAME, it checks a thing that you add: it prints the files of that header's lists that do not have NAME
(a regular expression, too) yet.
"""

import pathlib
import re
import sys

NOTE = re.compile(r'where "([^\n]+?)" shows how(, among others)?:\n((?://   \S.*\n)+)'.replace(" ", r"\s+(?://\s*)?", 5))
TOPS = (".ci", "bench", "format", "reader", "samples", "tests", "tools", "writer")
# Logs of changes and measurements, programs that measured, files that tests read, the tests of these lists, and the
# words that people search the site for.
# (check() also ignores .inc files, which scripts make.)
NEVER = ("CHANGELOG.md", "bench/MEASURED.md", "bench/PERFORMANCE.md", "bench/notebook/", "bench/peers/",
         "tests/fuzz/cases/", "tests/structure/", "tests/docs/searches.txt", "tools/docs/search_words.py")


def notes(root):
    """Yields (header, word, whether other files may have the word, files, exceptions) for each note. An exception is
    the list of the words after "not"."""
    for top in ("bench", "format", "reader", "tools", "writer"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp") or not file.is_file():
                continue
            for word, others, lines in NOTE.findall(file.read_text(errors="replace")):
                words = [line.split(maxsplit=3)[1:] for line in lines.splitlines()]
                yield (str(file.relative_to(root)), word, bool(others), [w[0] for w in words if w[0] != "not"],
                       [w[1:] for w in words if w[0] == "not"])


def tree(root):
    """The text, without lists of places, of each file that a new thing might go into, by its path."""
    files = [*root.glob("*.md"), root / "CMakeLists.txt", *(f for top in TOPS for f in sorted((root / top).rglob("*")))]
    return {str(f.relative_to(root)): NOTE.sub("", f.read_text(errors="replace"))
            for f in files if f.is_file() and f.parent.name != "__pycache__"}


def is_in(name, places):
    """Whether the file is one of `places`, or its path begins with one of them that ends in / or *."""
    return any(name == place or place[-1] in "/*" and name.startswith(place.rstrip("*")) for place in places)


def check(root):
    """Complaints, remarks, and how many files were looked at."""
    found, remarks, looked_at = [], [], 0
    texts = tree(root)
    marked = re.findall(r"`([^` ]+\.h)` \*", texts["CONTRIBUTING.md"])
    with_note = {header.replace("include/", "") for header, *_ in notes(root)}
    for name in marked:
        if not any(header.endswith(name) for header in with_note):
            found.append(f"CONTRIBUTING.md: {name} has no list of places")
    for header, word, others, files, exceptions in notes(root):
        has = {name for name, text in texts.items() if re.search(word, text, re.IGNORECASE)}
        for name in files:
            looked_at += 1
            if name not in texts:
                found.append(f"{header}: there is no {name}")
            elif name not in has:
                found.append(f'{header}: {name} does not have "{word}"')
        rest = has - {header} - set(files)
        for place, *reason in exceptions:
            if not reason or not any(is_in(name, [place]) for name in rest):
                found.append(f'{header}: "not {place}" has no reason, or nothing there has "{word}"')
        rest = sorted(name for name in rest
                      if not is_in(name, NEVER + tuple(e[0] for e in exceptions)) and not name.endswith(".inc") and
                      not re.search(word, name, re.IGNORECASE))
        if others:
            remarks.append(f'{header}: {len(rest)} more files have "{word}": {" ".join(rest)}')
        else:
            found += [f'{header}: {name} has "{word}": list it, or a line "not {name}" with a reason'
                      for name in rest]
    return found, remarks, looked_at


def places_without(root, header, word):
    """The files of that header's lists that do not have the word."""
    lists = [files for its, _, _, files, _ in notes(root) if its.endswith(header)]
    if not lists:
        sys.exit(f"{header} has no list of places")
    texts = tree(root)
    return [name for files in lists for name in files if not re.search(word, texts.get(name, ""), re.IGNORECASE)]


def main():
    if len(sys.argv) == 4:
        missing = places_without(pathlib.Path(sys.argv[1]), *sys.argv[2:])
        print("\n".join([*missing, f'{len(missing)} files of the list do not have "{sys.argv[3]}"']))
        return 1 if missing else 0
    found, remarks, looked_at = check(pathlib.Path(sys.argv[1]))
    print("\n".join(remarks + found + [f"{looked_at} files named, {len(found)} wrong"]))
    return 1 if found or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
