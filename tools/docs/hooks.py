"""MkDocs' hook: pages with a diagram load Mermaid, from the site itself."""
from mkdocs.utils import get_relative_url


def on_post_page(output, page, config):
    if '<pre class="mermaid">' not in output:
        return output
    script = get_relative_url("assets/mermaid.min.js", page.url)
    return output.replace("</body>", f'<script src="{script}"></script></body>')
