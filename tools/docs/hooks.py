"""A hook for MkDocs: pages with a diagram load Mermaid, from the site itself."""
from mkdocs.utils import get_relative_url


def on_post_page(output, page, config):
    if '<pre class="diagram">' not in output:
        return output
    scripts = "".join(f'<script src="{get_relative_url(f"assets/{name}", page.url)}"></script>'
                      for name in ("mermaid.min.js", "diagrams.js"))
    return output.replace("</body>", f"{scripts}</body>")
