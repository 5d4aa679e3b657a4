"""check_site.py SITE: checks that the built site can be read without a network: pages and styles load nothing from
elsewhere, and what pages load is there. (MkDocs has checked where links lead.)"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

site = Path(sys.argv[1]).resolve()


class Loads(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        names = ["src", "srcset", "data", "poster"]
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "preconnect", "modulepreload"):
            names.append("href")
        self.targets += [attributes[name] for name in names if attributes.get(name)]


faults, loads = [], 0
for path in sorted(site.rglob("*.html")):
    for target in Loads(path.read_text(encoding="utf-8")).targets:
        loads += 1
        parts = urlsplit(target)
        if parts.scheme not in ("", "data") or parts.netloc:
            faults.append(f"{path.relative_to(site)} loads {target}")
        # (The paths in 404.html begin at the server's root.)
        elif not parts.scheme and path.name != "404.html" and not (path.parent / unquote(parts.path)).exists():
            faults.append(f"{path.relative_to(site)} loads {target}, which is not there")
for style in site.rglob("*.css"):
    if "url(http" in style.read_text(encoding="utf-8"):
        faults.append(f"{style.relative_to(site)} loads from elsewhere")
print("\n".join(faults + [f"docs: {loads} things are loaded, {len(faults)} faults"]))
sys.exit(1 if faults or loads == 0 else 0)
