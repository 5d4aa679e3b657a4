"""check_site.py SITE: checks that every link in the built site leads to an existing page and anchor, and that no page
loads anything from elsewhere, so that the site can be read without a network."""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

site = Path(sys.argv[1]).resolve()


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(value for name in ("id", "name") if (value := attributes.get(name)))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        for name in ("src", "srcset", "data", "poster"):
            if attributes.get(name):
                self.loads.append(attributes[name])
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "preconnect", "modulepreload"):
            self.loads.append(attributes["href"])


pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
faults, links = [], 0
for path, page in pages.items():
    shown = path.relative_to(site)
    for target in page.loads:
        if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
            faults.append(f"{shown} loads {target}")
        elif not urlsplit(target).scheme and path.name != "404.html":
            if not (path.parent / unquote(urlsplit(target).path)).exists():
                faults.append(f"{shown} loads {target}, which is not there")
    for target in page.links:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or path.name == "404.html":  # links of 404.html start at the server's root
            continue
        links += 1
        where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if where.is_dir():
            where /= "index.html"
        if not where.exists():
            faults.append(f"{shown} has a link to {target}, which is not there")
        elif parts.fragment and where in pages and unquote(parts.fragment) not in pages[where].anchors:
            faults.append(f"{shown} has a link to {target}, whose anchor is not there")
for style in site.rglob("*.css"):
    if "url(http" in style.read_text(encoding="utf-8"):
        faults.append(f"{style.relative_to(site)} loads from elsewhere")
print("\n".join(faults + [f"docs: {len(pages)} pages, {links} links, {len(faults)} faults"]))
sys.exit(1 if faults or links == 0 else 0)
