"""Hooks for MkDocs: pages with a diagram load Mermaid, from the site itself; words for the search go where they
belong."""
from mkdocs.plugins import event_priority
from mkdocs.utils import get_relative_url


def on_post_page(output, page, config):
    if '<pre class="diagram">' not in output:
        return output
    scripts = "".join(f'<script src="{get_relative_url(f"assets/{name}", page.url)}"></script>'
                      for name in ("mermaid.min.js", "diagrams.js"))
    return output.replace("</body>", f"{scripts}</body>")


@event_priority(100)  # before the index is written
def on_post_build(config):
    """A page's words (search_words.py) find the page, but not each of its sections. A section of an option has the
    word that iframe-worker.js makes of a search for the option."""
    for entry in config.plugins["material/search"].search_index.entries:
        anchor = entry["location"].partition("#")[2]
        if anchor.startswith("--"):
            entry["tags"] = ["option" + anchor.replace("-", "")]
        elif anchor:
            entry.pop("tags", None)
