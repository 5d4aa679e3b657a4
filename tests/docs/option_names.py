"""option_names.py ROOT: every option that a message, comment or page names as Struct::member exists, and every
member of a struct of options is declared in OptionsOf<Struct>, in the same order and under its name.

Struct is a struct of a public header; member may lead through groups: LoaderOptions::ring.prefetch.
"""
import re
import subprocess
import sys
from pathlib import Path

root = Path(sys.argv[1])


def strip_comments(text):
    return re.sub(r"//.*", "", text)


headers = [strip_comments(file.read_text(encoding="utf-8"))
           for folder in ("format", "writer", "reader") for file in (root / folder / "include/sluice").glob("*.h")]
bodies = {}  # struct -> {member: type}
for text in headers:
    for name, body in re.findall(r"^struct (\w+) \{(?:\};|(.*?)^\};)", text, flags=re.M | re.S):
        members = bodies.setdefault(name, {})
        for kind, names in re.findall(r"^  ([\w:<>*, ]+?) (\w+(?: = [^;,]*)?(?:, \w+(?: = [^;,]*)?)*)(?: = [^;]*)?;", body, flags=re.M):
            for member in names.split(", "):
                members[member.split(" ")[0]] = re.sub(r"^std::optional<(.*)>$", r"\1", kind)


def exists(struct, path):
    for member in path.split("."):
        if member not in bodies.get(struct, {}):
            return False
        struct = bodies[struct][member]
    return True


assert exists("LoaderOptions", "ring.prefetch") and not exists("LoaderOptions", "prefetch")

faults = []
for name, body in (found for text in headers
                   for found in re.findall(r"OptionsOf<(\w+)> =\s*Options<.*?>\((.*?)\);\n", text, flags=re.S)):
    declared = re.findall(r'\bOption\(\s*"(\w+)",\s*&\w+::(\w+)', body)
    there = [member for member in bodies[name] if not bodies[name][member].startswith("static")]
    if [(member, member) for member in there] != declared:
        faults.append(f"OptionsOf<{name}> declares {', '.join(member for _, member in declared)}, and {name} has "
                      f"{', '.join(there)}")
for file in sorted(root.rglob("*")):
    parts = file.relative_to(root).parts
    if parts[0] not in ("format", "writer", "reader", "tools", "bench", "samples", "README.md") or \
            file.suffix not in (".h", ".cpp", ".cu", ".md"):
        continue
    text = re.sub(r'"\s*\n\s*"', "", file.read_text(encoding="utf-8"))  # joins the pieces of a literal
    for struct, path in re.findall(r"\b([A-Z]\w+)::((?!operator\b)[a-z]\w*\b(?:\.[a-z]\w*\b)*)(?!\()", text):
        if struct in bodies and not exists(struct, path):
            faults.append(f"{'/'.join(parts)}: there is no {struct}::{path}")
print("\n".join(faults) or "every option named is there")
sys.exit(1 if faults else 0)
