"""snippets.py ROOT PAGE[,PAGE...] WORK COMPILER [--torch INCLUDES]: every C++ block of the pages compiles. A page may
also be a public header: then its comments' code compiles (indented lines that end in ; but those with "...").

All blocks go into one translation unit, each as the body of a function. With --torch, only the blocks that use
LibTorch are compiled (INCLUDES: the folders of its headers, separated by colons); without it, only the rest.
"""
import re
import subprocess
import sys
from pathlib import Path

import pages

root, names, work, compiler = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
torch = sys.argv[6].split(":") if "--torch" in sys.argv else None


def blocks(name):
    """The blocks of a page; of a header, those of its comments, as if they were on a page."""
    if not name.endswith(".h"):
        yield from pages.blocks(root / name)
        return
    text = (root / name).read_text(encoding="utf-8")
    for found in re.finditer(r"(?m)(?:^ *//(?:   .*|)\n)+", text):
        code = re.sub(r"(?m)^ *//(   )?", "", found[0]).rstrip("\n")
        if re.search(r";\s*(//.*)?$", code) and "..." not in code:
            yield ["cpp"], text.count("\n", 0, found.start()), f"#include <{name[name.index('sluice/'):]}>\n{code}"


includes, functions = ['#include "tests/docs/preamble.h"'], []
if torch is not None:
    includes += ['#include "tests/docs/torch_preamble.h"']
for page, (words, line, text) in [(page, block) for page in names.split(",") for block in blocks(page)]:
    if words[:1] != ["cpp"] or (words[1:] == ["torch"]) != (torch is not None):
        continue
    includes += re.findall(r"^#include .*$", text, flags=re.M)
    body = re.sub(r"^#include .*$", "", text, flags=re.M)
    result = "int" if re.search(r"^ *return \w+;", text, flags=re.M) else "void"
    functions.append(f"{result} Snippet{len(functions)}(SNIPPET_NAMES) {{ {{\n#line {line} \"{page}\"\n{body}\n}} }}\n")

if not functions:
    print(f"{names} has no such blocks")
    sys.exit(0)
first, _, others = names.partition(",")
unit = work / (re.sub("/", "_", first) + (f"_and_{others.count(',') + 1}_others" if others else "") +
               f".{Path(compiler).name}" + (".torch" if torch is not None else "") + ".cpp")
unit.write_text("\n".join(dict.fromkeys(includes)) + "\n\n" + "\n".join(functions), encoding="utf-8")
command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter"]
command += [f"-I{root}/{folder}" for folder in (".", "format/include", "writer/include", "reader/include")]
for folder in torch or []:
    command += ["-isystem", folder]
sys.exit(subprocess.run(command + [str(unit)]).returncode)
