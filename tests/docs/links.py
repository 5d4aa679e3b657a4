"""links.py ROOT: links of all pages lead to existing files and headings; the first page is short."""
import re
import sys
from pathlib import Path

import pages

root = Path(sys.argv[1]).resolve()
faults = []


def anchors(path):
    """The headings' anchors, as on GitHub: lower case, no punctuation, hyphens for spaces, numbered if repeated."""
    seen, made = {}, set()
    for heading in re.findall(r"^#+ +(.+?) *$", pages.prose(path), flags=re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        made.add(anchor if count == 0 else f"{anchor}-{count}")
    return made


for page in pages.all_pages(root):
    for number, line in enumerate(pages.prose(page).splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            where = (page.parent / file).resolve() if file else page
            if not where.exists():
                faults.append(f"{page}:{number}: there is no {target}")
            elif anchor and anchor not in anchors(where):
                faults.append(f"{page}:{number}: {where.name} has no heading #{anchor}")

first = (root / "README.md").read_text(encoding="utf-8").splitlines()
if len(first) > 140:
    faults.append(f"README.md has {len(first)} lines; at most 140 are allowed")
faults += [f"README.md:{number}: {len(line)} characters; at most 120 are allowed"
           for number, line in enumerate(first, 1) if len(line) > 120]
pages.fail(faults)
