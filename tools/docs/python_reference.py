"""Makes the reference of the Python package from its stub and docstrings, which griffe reads without importing it.

A name without a docstring gets the text of the C++ name that corresponds to it. `missing` lists the names for which
there is no such text either.
"""
import re

import griffe

from commands import begun

# (page, its title, (the C++ headers whose names the page has, and names that exist only in Python)).
GROUPS = [
    ("loader", "Loader and batches", ("loader.h", "batch.h", "mixture.h", "sample_fault.h", "Epoch", "Array", "Ragged")),
    ("options", "Options of the loader", ("loader_options.h", "order.h", "rank.h", "transform.h")),
    ("transforms", "Transforms", ("geometric_transform.h", "pixel_transform.h", "batch_transform.h", "image.h",
                                  "parse_pipeline.h")),
    ("functions", "Functions of your own", ("user_function.h", "NativeFunction")),
    ("dataset", "Datasets and samples", ("dataset.h", "sample_list.h", "schema.h")),
    ("convert", "Converting and writing", ("convert.h", "convert_source.h", "dataset_writer.h", "Writer",
                                           "ConvertWarning")),
    ("stats", "Measurements", ("loader_stats.h", "loader_trace.h")),
    ("other", "Errors and others", ()),
]


# {torchvision's name of a step's parameter: the C++ members that it may fill}.
FILLED_BY = {"p": "probability", "size": "width side", "padding_mode": "border", "num_ops": "operations",
             "num_magnitude_bins": "bins", "sharpness_factor": "factor", "std": "deviation", "kernel_size": "kernel",
             "target_size": "target_width", "side_range": "min_side", "scale_range": "min_scale", "shear": "min_shear_x",
             "scaleup": "scale_up"}


# The names that come first on their page, in this order.
FIRST = ("Loader", "Epoch", "Batch", "convert", "ConvertSource", "ConvertSummary", "Writer", "Dataset", "Sample",
         "LoaderStats", "MutableSample", "MutableBatch")


def is_enumeration(name, kind="Enum"):
    return name.is_class and any(kind in str(base) for base in name.bases)


class Reference:
    def __init__(self, folder, cpp, cpp_pages):
        """`folder`: the package. `cpp`, `cpp_pages`: the reference of the C++ names."""
        package = griffe.load("sluice", search_paths=[str(folder)], resolve_aliases=False)
        self.cpp_pages, self.missing = cpp_pages, []
        self.texts = {}
        for names in cpp.names.values():
            for name in names:
                self.texts.setdefault(name.full, name)
                self.texts.setdefault(name.full.lower(), name)
                for member in name.members:
                    self.texts.setdefault(member.full.lower(), member)
        names = [member for member in package.members["_sluice"].members.values()]
        names += [package.members["_writing"].members["Writer"]]
        names = [name for name in names if not name.is_alias and not name.name.startswith("_")
                 and (name.is_class or name.is_function)]
        self.torch = [name for name in package.members["torch"].members.values()
                      if not name.is_alias and not name.name.startswith("_") and (name.is_class or name.is_function)]
        self.introduction = package.docstring.value if package.docstring else ""
        self.torch_introduction = package.members["torch"].docstring.value
        self.pages = {key: [] for key, _, _ in GROUPS}
        self.place = {}
        for name in names:
            key = self.page_of(name)
            self.pages[key].append(name)
            self.place[name.name] = key
        for those in self.pages.values():
            those.sort(key=lambda name: (FIRST.index(name.name) if name.name in FIRST else len(FIRST),
                                         is_enumeration(name)))
        for name in names + self.torch:
            self.look_for_missing(name)

    def page_of(self, name):
        cpp = self.texts.get(name.name) or self.texts.get(name.name.replace("_", ""))
        header = cpp.file.rpartition("/")[2] if cpp else ""
        for key, _, takes in GROUPS:
            if header in takes or name.name in takes:
                return key
        return "other"

    def members(self, name):
        """Public members: attributes, methods, and those with two underscores that have a docstring."""
        return [member for member in name.members.values()
                if not member.is_alias and (not member.name.startswith("_") or
                                            (member.name.startswith("__") and member.docstring
                                             and member.name != "__init__"))]

    def text(self, name, owner=None):
        """Returns (the name's text, whether that comes from the C++ name)."""
        if name.docstring and name.docstring.value.strip():
            return name.docstring.value, False
        for of in self.ways(owner, name.name) if owner else ():
            found = self.texts.get(of.lower())
            if found is not None and found.text:
                return found.text, True
        # The class's text describes the member.
        if owner and name.parent.docstring and re.search(rf"\b{name.name}\b", name.parent.docstring.value):
            return "See above.", False
        return "", True

    def ways(self, owner, name):
        """The C++ names that may correspond to a member or a constructor's parameter: the same name, an enumerator, the
        name without underscores, a member of the base class, a member that FILLED_BY gives for the parameter."""
        yield f"{owner}::{name}"
        yield f"{owner}::k{name.replace('_', '')}"
        yield f"{owner}::{name.replace('_', '')}"
        base = self.texts[owner].declared.partition(" : ")[2].removeprefix("sluice::") if owner in self.texts else ""
        if base:
            yield f"{base}::{name}"
        for filled in FILLED_BY.get(name, "").split():
            yield f"{owner}::{filled}"

    def look_for_missing(self, name, owner=None):
        """Adds the name and its members to `missing` if they have no text. `owner`: the class around a nested class."""
        if not self.text(name, owner)[0]:
            self.missing.append(f"Python's {name.path} has no docstring, and no namesake in C++")
        if name.is_class:
            full = f"{owner}::{name.name}" if owner else name.name
            for member in self.members(name):
                if member.is_class or not self.text(member, full)[0]:
                    self.look_for_missing(member, full)

    # The functions from here on return texts in Markdown.

    def prose(self, text, of_cpp):
        if of_cpp:
            text = self.cpp_pages.prose(begun(text.strip()))
            return re.sub(r"\]\((\w+\.md)#", r"](../cpp/\1#", text)
        lines = text.strip().splitlines()
        shared = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
        lines = lines[:1] + [line[shared:] for line in lines[1:]]
        out, code = [], []
        for line in lines + [""]:
            if line.startswith("    ") or (code and not line.strip()):
                code.append(line[4:])
                continue
            if code:
                while code and not code[-1].strip():
                    code.pop()
                out += ["", "```python"] + code + ["```", ""]
                code = []
            # Lines of the form "name: text" list arguments.
            argument = re.match(r"  ([a-z_]+): (.*)", line)
            out.append(f"- `{argument[1]}`: {self.linked(argument[2])}" if argument else self.linked(line))
        if code:
            out += ["", "```python"] + [line for line in code if line.strip()] + ["```"]
        text = re.sub(r"(?m)^(?!- |$)(.+)\n(?=- `)", r"\1\n\n", "\n".join(out).strip())
        return begun(text)

    def linked(self, text):
        """Prose with names of the package as links."""
        out = []
        for part in re.split(r"(`[^`]+`|(?:\w+/)*[A-Z]\w+\.md(?!\w)|\bsluice\.[A-Za-z_.]+\w|(?<![\w.'])[A-Za-z_]\w*(?:\.\w+)*\(\))", text):
            bare = part.strip("`").removeprefix("sluice.").removesuffix("()")
            owner = bare.split(".")[0]
            if part in self.cpp_pages.pages:
                out.append(f"[{part}](../../{self.cpp_pages.pages[part]})")
                continue
            if owner in self.place and (part.startswith("`") or "." in part or part.endswith("()")):
                out.append(f"[`{part.strip('`')}`]({self.place[owner]}.md#{bare})")
            elif part.startswith("`") or part.endswith("()") or part.startswith("sluice."):
                out.append(f"`{part.strip('`')}`")
            else:
                out.append(re.sub(r"([\\*_\[\]<>#|])", r"\\\1", part))
        return "".join(out)

    @staticmethod
    def signature(function, name):
        parts, star = [], False
        for parameter in function.parameters:
            if parameter.name == "self":
                continue
            kind = parameter.kind.value if parameter.kind else ""
            if kind == "keyword-only" and not star:
                parts.append("*")
                star = True
            text = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "") + parameter.name
            star |= kind == "variadic positional"
            if parameter.annotation is not None:
                text += f": {parameter.annotation}"
            if parameter.default is not None and not kind.startswith("variadic"):
                text += f" = {parameter.default}" if parameter.annotation is not None else f"={parameter.default}"
            parts.append(text)
        gives = f" -> {function.returns}" if function.returns is not None and str(function.returns) != "None" else ""
        line = f"{name}({', '.join(parts)}){gives}"
        if len(line) <= 88:
            return line
        return f"{name}(\n    " + ",\n    ".join(parts) + f",\n){gives}"

    def member(self, member, owner):
        if member.is_function:
            name = member.name
            shown = [self.signature(one, name) for one in (member.overloads or [member])]
            if "staticmethod" in member.labels:
                shown = [f"{owner.split('::')[-1]}.{line}" for line in shown]
        else:
            shown = [member.name]
            if member.annotation is not None:
                shown = [f"{member.name}: {member.annotation}"]
            elif member.value is not None:
                shown = [f"{member.name} = {member.value}"]
        text, of_cpp = self.text(member, owner)
        anchor = f"{owner.replace('::', '.')}.{member.name}"
        body = self.prose(text, of_cpp)
        out = []
        # A long signature is a block of code; a short one is code in the line.
        if len(shown) == 1 and "\n" not in shown[0]:
            out.append(f"`{shown[0]}`{{: #{anchor} }}")
        else:
            out.append(f"`{member.name}`{{: #{anchor} }}")
            body += "\n\n```python\n" + "\n".join(shown) + "\n```"
        out.append(":   " + "\n".join("    " + line if line else "" for line in body.splitlines()).lstrip())
        return "\n".join(out) + "\n"

    def name(self, name, prefix=""):
        full = prefix + name.name
        text, of_cpp = self.text(name, prefix.rstrip(".") if name.parent.is_class else None)
        out = [f"## {full} {{: #{full} }}", ""]
        if name.is_function:
            out += ["```python", self.signature(name, full), "```", "", self.prose(text, of_cpp), ""]
            return "\n".join(out)
        start = name.members.get("__init__")
        if start is not None and start.is_function:
            out += ["```python", *(self.signature(one, full) for one in start.overloads or [start]), "```", ""]
        text = self.prose(text, of_cpp)
        if is_enumeration(name, "StrEnum"):
            text += ("" if text.endswith(".") else ".") + " A member's word, a str, may be given instead of the member."
        out += [text, ""]
        if start is not None and start.is_function and start.docstring and start.docstring.value.strip():
            out += [self.prose(start.docstring.value, False), ""]
        inner = []
        for member in self.members(name):
            if member.is_class:
                inner.append(self.name(member, f"{full}."))
            else:
                out.append(self.member(member, full.replace(".", "::")))
        return "\n".join(out + inner)

    def page(self, key):
        title = next(title for name, title, _ in GROUPS if name == key)
        return f"# {title}\n\n" + "\n".join(self.name(name) for name in self.pages[key]) + "\n"

    def torch_page(self):
        return ("# sluice.torch\n\n" + self.prose(self.torch_introduction, False) + "\n\n" +
                "\n".join(self.name(name, "torch.") for name in self.torch) + "\n")

    def index(self):
        out = ["# Python", "", self.prose(self.introduction, False), ""]
        for key, title, _ in GROUPS:
            if self.pages[key]:
                names = " · ".join(f"[`{name.name}`]({key}.md#{name.name})" for name in self.pages[key])
                out += [f"## [{title}]({key}.md)", "", names, ""]
        names = " · ".join(f"[`torch.{name.name}`](torch.md#torch.{name.name})" for name in self.torch)
        return "\n".join(out + ["## [sluice.torch](torch.md)", "", names, ""])
