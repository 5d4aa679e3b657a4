"""Gathers the repository's pages in one folder for MkDocs.

Every page keeps its path, so links between pages stay as they are. A link to a source or a folder becomes a link to
the repository's address if one is given; otherwise, to a copy of that source in the site.
"""
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

FENCE = re.compile(r"^( *)(`{3,}|~{3,})(.*)$")
# A link of a line, or the end of one whose text begins on the line before.
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]|^[^\[\]]*\])\(([^)\s]+)\)")
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".cu": "cuda", ".py": "python", ".sh": "sh", ".cmake": "cmake",
             ".json": "json", ".toml": "toml", ".yml": "yaml", ".yaml": "yaml", ".txt": "text"}
PICTURES = (".jpg", ".png", ".svg")


def files_of(root):
    """Paths of all files of the repository as git lists them, including new files but not ignored ones. Without git,
    all files except those in build folders. GitHub's forms are no pages."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = [str(path.relative_to(root)) for path in root.rglob("*")]
    return sorted({name for name in listed if name and not re.match(r"build[/-]|\.git/|\.github/.*\.md$", name)
                   and (root / name).is_file()})


def outside_code(text, change):
    """Applies change() to each line that is not in a code block. Drops the words after a fence's language, which are
    for the tests of the pages."""
    lines, fence = [], None
    for line in text.splitlines():
        found = FENCE.match(line)
        if fence is not None:
            if found and found[2].startswith(fence) and not found[3].strip():
                fence = None
        elif found:
            fence = found[2]
            line = found[1] + found[2] + found[3].strip().split(" ")[0]
        else:
            line = change(line)
        lines.append(line)
    return "\n".join(lines) + "\n"


class Pages:
    def __init__(self, root, folder, sources_url):
        self.root, self.folder, self.sources_url = root, folder, sources_url.rstrip("/")
        self.files = files_of(root)
        self.known = set(self.files)
        self.folders = {str(parent) for name in self.files for parent in PurePosixPath(name).parents}
        self.copied = set()
        self.made = []

    def write(self, name, text):
        """Writes a page that the repository does not have."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.made.append(name)

    def gather(self):
        for name in self.files:
            if name.endswith(".md"):
                text = (self.root / name).read_text(encoding="utf-8")
                self.write(name, self.page(name, text))

    def page(self, name, text):
        """Returns a page of the repository in the form that the site needs; `name` is its path."""
        def links(line):
            # A link's text may be code, so whole links are matched, and only their targets are changed.
            return LINK.sub(lambda link: f"{link[1]}({self.target(name, link[2])})", line)

        lines = outside_code(text, links).splitlines()
        # Python's Markdown, unlike GitHub's, needs an empty line before a list.
        spaced, fenced = [], False
        for line in lines:
            fenced ^= bool(FENCE.match(line))
            before = spaced[-1] if spaced else ""
            if (not fenced and re.match(r"([-*]|\d+\.) ", line) and before.strip()
                    and not re.match(r"\s*([-*]|\d+\.) |\s|\||#", before)):
                spaced.append("")
            spaced.append(line)
        return "\n".join(spaced) + "\n"

    def target(self, page, target):
        """Returns where a link of `page` to `target` leads in the site."""
        path, mark, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return target
        up = "../" * page.count("/")
        parts = []
        for part in (PurePosixPath(page).parent / path).parts:
            if part == ".." and parts:
                parts.pop()
            else:
                parts.append(part)
        where = "/".join(parts) or "."
        if where.endswith(".md") or where in self.made:
            return target
        if where in self.folders and f"{where}/README.md" in self.known:
            return f"{up}{where}/README.md{mark}{anchor}"
        if where not in self.known and where not in self.folders:
            return target  # MkDocs reports that the target does not exist
        if where.endswith(PICTURES):
            (self.folder / where).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / where, self.folder / where)
            return target
        if self.sources_url:
            return f"{self.sources_url}/{where}"
        self.copied.add(where)
        return f"{up}{self.copy_of(where)}"

    def copy_of(self, where):
        name = f"source/{where}/folder.md" if where in self.folders else f"source/{where}.md"
        return name.replace("/.", "/")  # MkDocs leaves hidden folders out

    def copy_sources(self):
        """Writes pages with the sources to which links have led so far."""
        for where in sorted(self.copied):
            name = self.copy_of(where)
            head = f"---\ntitle: {where}\nsearch: {{exclude: true}}\n---\n# `{where}`\n\n"
            up = "../" * name.count("/")
            if where in self.folders:
                rows = []
                for entry in self.files:
                    if entry.startswith(f"{where}/") and "/" not in entry[len(where) + 1:]:
                        link = f"{up}{entry}" if entry.endswith(".md") else (
                            f"{up}{self.copy_of(entry)}" if entry in self.copied else "")
                        shown = f"`{entry[len(where) + 1:]}`"
                        rows.append(f"- [{shown}]({link})" if link else f"- {shown}")
                self.write(name, head + "\n".join(rows) + "\n")
            else:
                text = (self.root / where).read_text(encoding="utf-8", errors="replace")
                fence = "`" * max([3] + [len(run) + 1 for run in re.findall(r"^`{3,}", text, flags=re.M)])
                language = LANGUAGES.get(PurePosixPath(where).suffix) or (
                    "cmake" if where.endswith("CMakeLists.txt") else "sh" if text.startswith("#!/bin/") else "text")
                self.write(name, f"{head}{fence}{language}\n{text.rstrip()}\n{fence}\n")


def title_of(text):
    """The page's first heading, without Markdown's marks."""
    found = re.search(r"^# +(.+?) *$", text, flags=re.M)
    return re.sub(r"[`*]", "", found[1]) if found else ""
