"""Checks which folders include which. Run as: layers.py ROOT

Prints every #include that violates the layers, as FILE:LINE, and fails if there is one. The layers
are those of CONTRIBUTING.md ("Where things are") and, inside reader/, of reader/README.md: a folder
may include itself and what its line below names.
"""

import pathlib
import re
import sys

# A top-level folder, and the folders whose private headers it may include. PUBLIC below covers public
# headers (<sluice/...>).
TOP = {
    "format": {"format"},
    "writer": {"format", "writer"},
    "reader": {"format", "reader"},
    "reader/python": {"reader/python"},
    "tools": {"tools"},
    "bench": {"format", "writer", "reader", "tools", "bench", "samples"},
    "samples": {"samples"},
    "tests": {"format", "writer", "reader", "tools", "bench", "samples", "tests"},
}
# The folders whose public headers a folder may include; a folder without an entry may include all.
PUBLIC = {
    "format": {"format"},
    "writer": {"format", "writer"},
    "reader": {"format", "reader"},
}
# A library of its own, based on the rest of format/.
REMOTE = "format/remote/"
# The Python binding of writer and reader. Like any program, it may use only their public headers.
PYTHON = "reader/python"
# Inside reader/, lowest first: each may include itself and those before it.
READER = ["order", "transform", "dataset", "reading", "batch", "decoding", "device", "upload", "loader"]
# The parts of these folders, lowest first, with the same rule. "" stands for the files that lie directly in the folder,
# except the headers named here.
ROOMS = {
    "writer/source": ["images", "list", "records", "labels", ""],
    "format/remote": ["object_store.h", "remote_manifest.h", "http", "credentials", "server", "cache", ""],
}
# Public headers that depend on all layers of the reader. Of the layers, only the last one may include them.
LOADER_ONLY = {"loader.h", "sluice.h"}
# <sluice/sluice.h> includes all public headers of the reader and its dependencies, except these. (The option lists are
# for programs that build command lines and the like from them.)
NOT_IN_ALL = {"sluice/sluice.h", "sluice/torch.h", "sluice/option_list.h", "sluice/loader_option_list.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(sluice/[^>]+)>)')
SOURCES = {".h", ".cpp", ".cu"}


def owners(root):
    """The folder that each public header belongs to: {"sluice/batch.h": "reader"}."""
    found = {}
    for top in PUBLIC:
        for header in (root / top / "include").rglob("*.h"):
            found[str(header.relative_to(root / top / "include"))] = top
    return found


def top_of(path):
    """The entry of TOP for a file."""
    return PYTHON if path.startswith(PYTHON + "/") else path.split("/")[0]


def layer(path):
    """The index in READER of the layer that a file lies in, or None if it lies in no layer (a public header)."""
    parts = pathlib.PurePath(path).parts
    return READER.index(parts[1]) if len(parts) > 2 and parts[1] in READER else None


def room(path):
    """(A folder of ROOMS, the index of the file's part in its list; None for a part that is not in the list), or None if
    the file lies in none of these folders."""
    for folder, rooms in ROOMS.items():
        if path.startswith(folder + "/"):
            inside = path.removeprefix(folder + "/")
            name = inside.split("/")[0] if "/" in inside or inside in rooms else ""
            return folder, rooms.index(name) if name in rooms else None
    return None


def complaint(path, quoted, public, owner):
    """The fault of an include of the file `path`, or None. `quoted` or `public`: what it includes, by "" or by <>."""
    top = top_of(path)
    if public:
        if public not in owner:
            return f"<{public}> is not a public header"
        if top in PUBLIC and owner[public] not in PUBLIC[top]:
            return f"{top}/ may not include public headers of {owner[public]}/"
        if layer(path) is not None and layer(path) < len(READER) - 1:
            if public.removeprefix("sluice/") in LOADER_ONLY:
                return f"<{public}> depends on all layers, so only reader/{READER[-1]}/ may include it"
        return None
    other = top_of(quoted)
    if other not in TOP:
        return None
    if other not in TOP[top]:
        return f"{top}/ may not include private headers of {other}/"
    if top == "format" and quoted.startswith(REMOTE) and not path.startswith(REMOTE):
        return f"{REMOTE} is based on the rest of format/, which may not include it"
    mine, its = room(path), room(quoted)
    if mine and its and mine[0] == its[0] and mine[1] is not None and its[1] is not None and its[1] > mine[1]:
        rooms = ROOMS[mine[0]]
        return f"{mine[0]}/{rooms[mine[1]]} is a lower layer than {its[0]}/{rooms[its[1]]}"
    if top == "reader" and other == "reader":
        if layer(quoted) is None:
            return f"{quoted} lies in no layer of reader/"
        if layer(path) is not None and layer(quoted) > layer(path):
            return f"reader/{READER[layer(path)]}/ is a lower layer than reader/{READER[layer(quoted)]}/"
    return None


def check(root):
    """All complaints, and how many includes were looked at."""
    owner = owners(root)
    found, looked_at = [], 0
    for top in TOP:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            path = str(file.relative_to(root))
            if top_of(path) != top:
                continue  # a folder inside it that has its own entry
            if top == "reader" and layer(path) is None and "/include/" not in path:
                found.append(f"{path}: lies in no layer of reader/")
            if (known := room(path)) and known[1] is None:
                found.append(f"{path}: is in an unknown folder of {known[0]}/")
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                if match := INCLUDE.match(line):
                    looked_at += 1
                    if wrong := complaint(path, match[1], match[2], owner):
                        found.append(f"{path}:{number}: {wrong}: {line.strip()}")
    return found, looked_at


def missing_in_all(root):
    """Complaints about public headers that <sluice/sluice.h> leaves out."""
    all_of_them = root / "reader" / "include" / "sluice" / "sluice.h"
    included = {match[2] for line in all_of_them.read_text().splitlines() if (match := INCLUDE.match(line))}
    wanted = {header for header, top in owners(root).items() if top in PUBLIC["reader"]} - NOT_IN_ALL
    return [f"<sluice/sluice.h> does not include <{header}>" for header in sorted(wanted - included)]


def main():
    root = pathlib.Path(sys.argv[1])
    found, looked_at = check(root)
    found += missing_in_all(root)
    print("\n".join(found + [f"{looked_at} includes, {len(found)} against the layers"]))
    return 1 if found or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
