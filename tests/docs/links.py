"""links.py ROOT: links of all pages lead to existing files and headings; pictures and the first page are small."""
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
        faults += [f"{page}:{number}: {target} is shown without a text that describes it"
                   for text, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", line) if len(text.split()) < 5]
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
if len(first) > 144:
    faults.append(f"README.md has {len(first)} lines; at most 144 are allowed")
faults += [f"README.md:{number}: {len(line)} characters; at most 120 are allowed"
           for number, line in enumerate(first, 1) if len(line) > 120]

# Pictures are small, and each is on a page.
pictures = list((root / "samples/guides/pictures").iterdir())
shown = "".join(page.read_text(encoding="utf-8") for page in pages.all_pages(root))
faults += [f"{picture}: {picture.stat().st_size} bytes; at most 70,000 are allowed"
           for picture in pictures if picture.stat().st_size > 70_000]
faults += [f"{picture} is on no page" for picture in pictures if f"pictures/{picture.name})" not in shown]
pages.fail(faults)
