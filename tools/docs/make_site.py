"""make_site.py ROOT WORK OUT --sluice PROGRAM --bench PROGRAM [...]: makes the folder of pages and MkDocs'
configuration in WORK; build.sh then calls MkDocs."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import commands
import cpp_reference
import json_examples
import options
import pages
import python_reference
import search_words

parser = argparse.ArgumentParser()
parser.add_argument("root", type=Path)
parser.add_argument("work", type=Path)
parser.add_argument("out", type=Path)
parser.add_argument("--sluice", type=os.path.abspath, required=True)
parser.add_argument("--bench", type=os.path.abspath, required=True)
parser.add_argument("--make-photos", type=os.path.abspath, required=True)
parser.add_argument("--doxygen", type=Path, required=True)
parser.add_argument("--options", type=Path, required=True)
parser.add_argument("--python", type=Path, help="the folder that holds the built package sluice")
parser.add_argument("--mermaid", type=Path, required=True)
given = parser.parse_args()

here = Path(__file__).resolve().parent
root = given.root.resolve()
folder = given.work / "pages"
shutil.rmtree(folder, ignore_errors=True)
shutil.copytree(here / "assets", folder / "assets")
shutil.copy(given.mermaid, folder / "assets" / "mermaid.min.js")
site = pages.Pages(root, folder, os.environ.get("SLUICE_REPOSITORY_URL", ""))
site.gather()


def write_commands():
    """Writes a page for each command of both programs; returns their entries for the navigation."""
    nav, found = [], set()
    for name, program in (("sluice", given.sluice), ("sluice-bench", given.bench)):
        index = f"reference/{name}/index.md"
        site.write(index, commands.summary(program, name))
        names = [command for command, _ in commands.commands_of(program)]
        # The search finds an option that several commands have at the one whose users ask for it most.
        for command in sorted(names, key=lambda command: command not in ("convert", "epoch")):
            site.write(f"reference/{name}/{command}.md", commands.page(program, name, command, found))
        nav.append({name: [{"All commands": index},
                           *({command: f"reference/{name}/{command}.md"} for command in names)]})
    return nav


def write_cpp(reference):
    """Writes a page for each public header."""
    made = cpp_reference.Pages(reference, lambda file: site.target("reference/cpp/index.md", f"../../{file}"), rest,
                               cpp_reference.examples(root))
    site.write("reference/cpp/index.md", made.index())
    nav = [{"All names": "reference/cpp/index.md"}]
    for title, files in made.parts():
        for file in files:
            site.write(f"reference/cpp/{made.page_of(file)}", made.header(file))
        if title:
            nav.append({title: [{file.split("/")[-1]: f"reference/cpp/{made.page_of(file)}"} for file in files]})
    return made, {"C++": nav}


def write_python(cpp, cpp_pages):
    """Writes the pages of the Python package, one for each subject."""
    if given.python is None:
        site.write("reference/python/index.md", "# Python\n\nThis site was built without the Python package.\n")
        return {"Python": "reference/python/index.md"}
    made = python_reference.Reference(given.python, cpp, cpp_pages)
    faults.extend(made.missing)
    site.write("reference/python/index.md", made.index())
    nav = [{"All names": "reference/python/index.md"}]
    for key, title, _ in python_reference.GROUPS:
        if made.pages[key]:
            site.write(f"reference/python/{key}.md", made.page(key))
            nav.append({title: f"reference/python/{key}.md"})
    site.write("reference/python/torch.md", made.torch_page())
    nav.append({"sluice.torch": "reference/python/torch.md"})
    return {"Python": nav}


def write_options(cpp_pages):
    flags = {}
    for name, program in (("sluice", given.sluice), ("sluice-bench", given.bench)):
        for command, _ in commands.commands_of(program):
            for flag in commands.flags_of(program, command):
                flags.setdefault(flag, []).append((f"{name} {command}", f"{name}/{command}.md"))
    declared = json.loads(given.options.read_text(encoding="utf-8"))
    site.write("reference/options.md", options.page(declared, flags, cpp_pages))
    return {"Options": "reference/options.md"}


def write_exit_codes(cpp, cpp_pages):
    """Writes the page of the programs' exit codes and of Error's codes."""
    rows = [f"| {code} | {commands.linked(meaning)} |" for code, meaning in commands.exit_codes(given.sluice).items()]
    codes = next(name for names in cpp.names.values() for name in names if name.full == "ErrorCode")
    text = (root / "format" / "error.cpp").read_text(encoding="utf-8")
    words = dict(re.findall(r'case ErrorCode::(k\w+): return "([^"]+)"', text))
    words = [f"| `{words[code.name]}` | [`{code.name}`](cpp/error.md#{code.anchor}) | "
             + cpp_pages.inline(code.text.strip(), "").replace("](../../", "](../") + " |"
             for code in codes.members]
    site.write("reference/exit-codes.md", "\n".join([
        "# Exit codes and errors", "", "Every command of `sluice` and `sluice-bench` ends with one of these:", "",
        "| exit code | |", "| --- | --- |", *rows, "",
        "With `--json`, a command that fails prints an object `error` with the members `code`, `message` and, if the "
        "error is about a file, `file`.", "",
        "## Codes of errors", "", "An error (`sluice::Error`, in Python `sluice.Error`) has a code for programs and a "
        "sentence for people.", "", "| code, also in Python | in C++ | |", "| --- | --- | --- |", *words, ""]))
    return {"Exit codes and errors": "reference/exit-codes.md"}


def write_json():
    text, missing = json_examples.page(given.sluice, given.make_photos)
    faults.extend(missing)
    site.write("reference/json.md", text)
    return {"JSON of sluice": "reference/json.md"}


rest = [name for name in site.files if name.endswith(".md")]  # pages that are not in the navigation yet
faults = []  # such as names without a text
cpp = cpp_reference.Reference(root, given.doxygen)
if not cpp.names:
    sys.exit(f"docs: {given.doxygen} has nothing that Doxygen wrote")
faults.extend(sorted(cpp.missing))
reference = write_commands()
cpp_pages, cpp_nav = write_cpp(cpp)
reference += [write_options(cpp_pages), write_python(cpp, cpp_pages), cpp_nav, write_exit_codes(cpp, cpp_pages),
              write_json()]


def titled(name, title=None):
    """An entry of the navigation. Its title is the page's heading, unless the page is a README."""
    return {title or pages.title_of((folder / name).read_text(encoding="utf-8")) or name: name}


def guides():
    """Entries of the guides, in the groups and the order of the tables below "All guides" on their page."""
    folder_name, groups = "samples/guides/", []
    text = (root / folder_name / "README.md").read_text(encoding="utf-8").partition("\n## All guides\n")[2]
    for table in re.findall(r"(?m)(?:^\|.*\n)+", text):
        title = table.split("|")[1].strip()
        groups.append({title[:1].upper() + title[1:]:
                       take(*(folder_name + link for link in re.findall(r"\]\(([\w-]+\.md)\)", table)))})
    left = [page for page in rest if page.startswith(folder_name)]
    faults.extend(f"samples/guides/README.md: no table lists {page}" for page in left)
    return groups


def take(*names):
    """Navigation entries of these pages, as far as they exist; a name such as "bench/" stands for all pages in the
    folder. Each page gets one entry only."""
    found = []
    for name in names:
        title = None
        if isinstance(name, tuple):
            name, title = name
        those = [page for page in rest if page.startswith(name)] if name.endswith("/") else [name]
        for page in those:
            if page in rest:
                rest.remove(page)
                found.append(titled(page, title))
    return found


nav = [
    {"Start": take(("README.md", "What Sluice is"), "reader/CONCEPTS.md", ("reader/python/README.md", "Python"))},
    {"Guides": [*take(("samples/guides/README.md", "All guides")), *guides(),
                *take(("samples/cluster/README.md", "Scripts for clusters"))]},
    {"Reference": [
        {"Subjects": take(("writer/README.md", "Converting"), ("reader/README.md", "The loader"),
                          "reader/SAMPLES.md", "reader/MEMORY.md", "reader/TRANSFORMS.md", "reader/GPU.md",
                          ("format/remote/README.md", "Datasets at URLs"), "format/remote/")},
        {"Programs": reference[:3]},
        *reference[3:5],
        {"Rules and formats": reference[5:] + take(
            "tools/ENVIRONMENT.md", "format/FORMAT.md", "reader/ORDER.md", "reader/DRAWS.md",
            ("bench/report/SCHEMA.md", "JSON of sluice-bench"))}]},
    {"Performance": take("bench/PERFORMANCE.md", ("bench/README.md", "How to measure"), "bench/MEASURED.md",
                         "bench/")},
    {"Developers": take("CONTRIBUTING.md", ("tests/README.md", "Tests"), "SECURITY.md", "CHANGELOG.md")},
]
nav[2]["Reference"][0]["Subjects"] += take("reader/", "writer/")
nav[-1]["Developers"] += take(*list(rest))
site.copy_sources()

search_words.mark(folder)
words = subprocess.run([given.sluice, "--version"], check=True, capture_output=True, text=True).stdout.split()
version = words[1].rstrip(",")

config = {
    "INHERIT": os.path.relpath(here / "mkdocs.yml", given.work),
    "docs_dir": str(folder.resolve()),
    "site_dir": str(given.out.resolve()),
    "hooks": [str(here / "hooks.py")],
    "site_name": f"Sluice {version}",
    "nav": [part for part in nav if next(iter(part.values()))],
    "not_in_nav": "\n".join(["/source/", *(f"/reference/cpp/{cpp_pages.page_of(file)}"
                                          for file in cpp_pages.internal())]),
}
(given.work / "mkdocs.yml").write_text(json.dumps(config, indent=1), encoding="utf-8")

if faults:
    print("\n".join(faults), file=sys.stderr)
    sys.exit(f"docs: {len(faults)} faults; each public name needs a text")
