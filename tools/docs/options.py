"""Makes the reference of options from their declarations, which options.cpp prints."""
from commands import begun, linked

EFFECTS = {"order": "Changes which samples come, and where.", "content": "Changes what batches hold.", "speed": ""}
TITLES = [
    ("loader", "Of a Loader", "Their JSON and Python names are the same. In Python, groups are keywords of "
     "`sluice.Loader`: `ring=sluice.RingOptions(hold=2)`. Options that change neither the order nor what batches hold "
     "change only speed and memory."),
    ("convert", "Of a conversion", "In Python, all of them are keywords of `sluice.convert`."),
    ("source", "Of a conversion's source", ""),
    ("transcode", "Of another form of the images", ""),
]


def value_of(value):
    return {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value


def option(group, one, flags, cpp):
    """An option's entry. `flags` gives the pages of the commands that have the option."""
    full = f"{group}::{one['name']}"
    head = f"`{one['name']}`"
    if full in cpp.reference.known:
        file, anchor = cpp.reference.known[full]
        head = f"[{head}](cpp/{cpp.page_of(file)}#{anchor})"
    if one.get("groups"):
        links = ", ".join(f"[`{name}`](#{name})" for name in one["groups"])
        return f"{head}{{: #{group}.{one['name']} }}\n:   {linked(begun(one['help']))}: {links}\n"
    facts = [linked(begun(one["help"])) + "."]
    if one.get("words"):
        words = "; ".join(f"`{word}`" + (f": {linked(text)}" if text else "") for word, text in one["words"])
        facts.append(f"One of {words}.")
    if one.get("range"):
        facts.append(f"{begun(one['range'])}.")
    if one["default"] not in (None, ""):
        facts.append(f"Default: `{value_of(one['default'])}`.")
    effect = EFFECTS[one["changes"]]
    if effect:
        facts.append(effect)
    where = flags.get(one["flag"], [])
    if where:
        links = ", ".join(f"[`{name}`]({page}#{one['flag']})" for name, page in where)
        facts.append(f"`{one['flag']}` of {links}.")
    return f"{head}{{: #{group}.{one['name']} }}\n:   {' '.join(facts)}\n"


def page(declared, flags, cpp):
    out = ["# Options", "", "Every option of the loader and of conversions, as it is declared. A name leads to its full "
           "description.", ""]
    seen = set()
    for key, title, text in TITLES:
        out += [f"## {title}", "", text, ""]
        programs = "sluice-bench" if key == "loader" else "sluice"
        own = {flag: [(name, page) for name, page in pages if name.split()[0] == programs]
               for flag, pages in flags.items()}
        for group in declared[key]:
            if group["name"] in seen:
                continue
            seen.add(group["name"])
            out += [f"### {group['name']} {{: #{group['name']} }}", "", f"{group['help']}.", ""]
            out += [option(group["name"], one, own, cpp) for one in group["options"]]
    return "\n".join(out) + "\n"
