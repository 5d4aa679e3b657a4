"""Makes the reference of the public C++ names, a page for each header, from Doxygen's XML (header_filter.py).

Every public name needs a text; `missing` lists the names that have none. Some texts follow from the code and are
written here: those of setters that only set a member, of constructors that only fill members, and of members that
their type's comment describes.
"""
import re
import xml.etree.ElementTree as ElementTree

from commands import begun
from header_filter import BEGIN, STAR_SLASH

# Headers that come first in their part; the others follow by name.
FIRST = ("loader.h", "loader_options.h", "dataset.h", "batch.h", "transform.h")
# Headers that only other headers and the programs include.
INTERNAL = ("cpu.h", "nearest_name.h", "option_list.h", "shown_path.h", "shown_text.h", "unmapped_note.h",
            "work_folder.h")
ITERATOR_TYPES = ("iterator_category", "value_type", "difference_type", "pointer", "reference")


def text_of(element):
    """A name's comment, word for word."""
    texts = []
    for part in ("briefdescription", "detaileddescription"):
        for block in element.find(part).iter("verbatim") if element.find(part) is not None else ():
            lines = [line.partition(BEGIN)[2] for line in (block.text or "").splitlines() if BEGIN in line]
            texts.append("\n".join(lines).replace(STAR_SLASH, "*/"))
    return "\n\n".join(texts).rstrip()


def plain(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


class Name:
    """A type, function, variable or enumerator."""

    def __init__(self, kind, name, file, line, text, declared, scope=""):
        self.kind, self.name, self.file, self.line = kind, name, file, line
        self.text, self.declared, self.scope = text, declared, scope
        self.members = []
        self.type = ""

    @property
    def full(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def anchor(self):
        return re.sub(r"[^\w-]", "-", self.full)


def declaration(member):
    """The declaration as it stands in the header, without its body."""
    kind = member.get("kind")
    type_text = plain(member.find("type"))
    name = plain(member.find("name"))
    arguments = plain(member.find("argsstring"))
    template = member.find("templateparamlist")
    head = ""
    if template is not None:
        parts = []
        for param in template.findall("param"):
            part = plain(param.find("type"))
            if param.find("declname") is not None:
                part += " " + plain(param.find("declname"))
            if param.find("defval") is not None:
                part += " = " + plain(param.find("defval"))
            parts.append(part)
        head = f"template <{', '.join(parts)}> "
    if kind == "typedef":
        return f"{head}using {name} = {re.sub(r'^using ', '', type_text)}"
    words = [word for word, says in (("static", member.get("static") == "yes"),
                                     ("explicit", member.get("explicit") == "yes")) if says]
    initial = plain(member.find("initializer")) if kind == "variable" else ""
    type_text = re.sub(r"\b(static|explicit|inline|friend) ", "", type_text + " ").strip()
    arguments = re.sub(r"\s*=\s*default$", "", arguments)
    text = " ".join(words + [type_text, name]).strip() + arguments
    text = re.sub(r"< ", "<", re.sub(r" >", ">", re.sub(r" ([&*]+)(?=\w)", r"\1 ", text)))
    text = re.sub(r"(?<=\w) ([&*]+)(?= |$)", r"\1", text)
    text = re.sub(r"(?<=[\w>&*])=(?=[^=\s])", " = ", text)
    return head + text + (f" {initial}" if initial else "")


def body(root, member):
    """The code of a function that the header defines."""
    place = member.find("location")
    first, last = int(place.get("bodystart") or -1), int(place.get("bodyend") or -1)
    if first < 0:
        return ""
    lines = (root / place.get("bodyfile")).read_text(encoding="utf-8").splitlines()
    return " ".join(line.split("//")[0].strip() for line in lines[first - 1:max(first, last)])


def sentence(words):
    words = [f"`{word}`" for word in words]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def follows(root, member, owner):
    """The text for a member whose code says what it does; None if the member needs a comment."""
    name, code = plain(member.find("name")), body(root, member)
    if name in ITERATOR_TYPES and "Iterator" in owner.name:
        return "Required of an iterator by the standard library."
    setter = re.search(r"\{\s*return (\w+ = .*), \*this;\s*\}", code)
    if setter:
        return f"Sets {sentence(re.findall(r'(?:^|, )([a-z_]+) = ', setter[1]))}."
    if name == owner.name.split("::")[-1]:
        filled = re.findall(r"[:,] ([a-z_]+)[({]", code[code.find(") : "):].split("{}")[0]) if ") : " in code else []
        if filled:
            return f"Sets {sentence(list(dict.fromkeys(filled)))}."
    return None


def skipped(member):
    """Whether the reference leaves out a member: defaulted constructors, copies, destructors, comparisons, friends."""
    name, arguments = plain(member.find("name")), plain(member.find("argsstring"))
    return (member.get("kind") == "friend" or name.startswith("~") or name == "operator="
            or re.search(r"=\s*(default|delete)$", arguments) or "->" in arguments
            or (member.get("kind") == "function" and plain(member.find("definition")).endswith("operator==")))


class Reference:
    def __init__(self, root, xml):
        self.root = root
        self.headers = {}  # {path: text of the file}
        self.names = {}  # {path: [Name]}
        self.missing = []
        for path in sorted(xml.glob("*.xml")):
            if path.name in ("index.xml", "Doxyfile.xml"):
                continue
            for compound in ElementTree.parse(path).getroot().findall("compounddef"):
                self.take(compound)
        self.known = {name.full: (file, name.anchor) for file, names in self.names.items() for name in names}
        for file, names in self.names.items():
            for name in names:
                for member in name.members:
                    self.known.setdefault(member.full, (file, member.anchor))
            names.sort(key=lambda name: name.line)
        self.look_for_missing()

    def take(self, compound):
        kind, name = compound.get("kind"), plain(compound.find("compoundname"))
        if kind == "file":
            # Without the paragraphs for those who add a thing, with the lists of tests/structure/places.py.
            self.headers[compound.find("location").get("file")] = "\n\n".join(
                part for part in re.split(r"\n\s*\n", text_of(compound))
                if not re.match(r"\s*A new ", part) and "files, where" not in re.sub(r"\s+", " ", part))
        elif kind == "namespace":
            if name == "std" or "detail" in name:
                return
            scope = re.sub(r"^sluice(::)?", "", name)
            for member in compound.iter("memberdef"):
                self.add_member(member, None, scope)
        elif kind in ("class", "struct", "concept"):
            if (compound.get("prot") or "public") != "public" or "detail" in name or "<" in name:
                return
            name = re.sub(r"^sluice::", "", name)
            if name.startswith("std::"):
                return
            place = compound.find("location")
            owner = Name(kind, name, place.get("file"), int(place.get("line")), text_of(compound), f"{kind} {name}")
            if kind == "concept":
                owner.declared = "concept " + name
            bases = [plain(base) for base in compound.findall("basecompoundref") if base.get("prot") == "public"]
            if bases:
                owner.declared += " : " + ", ".join(bases)
            self.names.setdefault(owner.file, []).append(owner)
            public = [member for member in compound.iter("memberdef") if member.get("prot") == "public"]
            for member in public:
                self.add_member(member, owner, name)
            # In "width = 0, height = 0;  // pixels", one comment describes both members.
            text_at = {member.line: member.text for member in owner.members
                       if member.kind == "variable" and member.text}
            for element, member in zip((part for part in public if self.is_member(part)), owner.members):
                if not member.text and member.kind == "variable":
                    member.text = text_at.get(member.line, "")
                    member.type = re.sub(r"^(const |std::optional<|std::vector<)+|[ &*>]+$", "", plain(element.find("type")))
                if not member.text:
                    member.text = follows(self.root, element, owner) or ""

    @staticmethod
    def is_member(element):
        """Whether the element is listed with its type. Others are types themselves, or need no text."""
        name = plain(element.find("name"))
        return not (skipped(element) or name.startswith("@") or "<" in name or element.get("kind") in ("define", "enum"))

    def add_member(self, member, owner, scope):
        place = member.find("location")
        kind, name = member.get("kind"), plain(member.find("name"))
        if kind != "enum" and not self.is_member(member):
            return
        made = Name(kind, name, place.get("file"), int(place.get("line")), text_of(member),
                    declaration(member) if kind != "enum" else f"enum class {name}", scope)
        if kind == "enum":
            for value in member.findall("enumvalue"):
                enumerator = Name("enumvalue", plain(value.find("name")), made.file, made.line, text_of(value),
                                  f"{plain(value.find('name'))} {plain(value.find('initializer'))}".strip(), made.full)
                made.members.append(enumerator)
        if owner is not None and kind != "enum":
            owner.members.append(made)  # take() checks these members' texts
        else:
            self.names.setdefault(made.file, []).append(made)

    def look_for_missing(self):
        """Adds the names without a text to `missing`. A member needs none if its type's text describes it, such as
        "filter" of the type Filter."""
        types = {name.full: name for names in self.names.values() for name in names}
        for name in [name for names in self.names.values() for name in names]:
            if not name.text:
                self.lacks(name)
            for member in name.members:
                kind = types.get(f"{name.full}::{member.type}") or types.get(member.type)
                if not member.text and kind is not None and kind.text:
                    member.text = kind.text.strip().split("\n\n")[0]
                    member.text = re.match(r"(?s).*?(?:\.(?=\s|$)|:(?=\s)|$)", member.text)[0].rstrip(":.") + "."
                elif not member.text:
                    self.lacks(member)

    def lacks(self, name):
        self.missing.append(f"{name.file}:{name.line}: {name.full} has no comment")


# Matches the parts of a comment that are code: qualified names, constants, calls, names in std.
CODE = re.compile(r"""`[^`]+`|(?<![\w:`])(?:std::\w+(?:<[\w:, ]+>)?|(?:[A-Za-z_]\w*::)+~?\w+(?:\(\))?(?:\.\w+)*
                      |(?:\w+/)*[A-Z]\w+\.md(?!\w)|k[A-Z]\w+|[A-Za-z_]\w*\(\)|Error\(k\w+(?:\sor\sk\w+)*\))""", re.VERBOSE)
WORDY = re.compile(r"(?<![\w:`.])([A-Z][a-z]+(?:[A-Z][a-z0-9]+)+)(?![\w`])")  # LoaderOptions


def escaped(text):
    return re.sub(r"([\\*_\[\]<>#|])", r"\\\1", text)


class Pages:
    """Writes the reference as pages. `source_link(file)` gives the link to a source; `pages` are the paths of the
    repository's pages, to which comments that name them are linked; `examples` is what examples() returns."""

    def __init__(self, reference, source_link, pages, examples):
        self.reference, self.source_link, self.examples = reference, source_link, examples
        self.pages = {name: name for name in pages}
        self.pages |= {name.rpartition("/")[2]: name for name in pages if not name.endswith("README.md")}

    def page_of(self, file):
        return file.split("/")[-1].removesuffix(".h") + ".md"

    def linked(self, code, here):
        """A piece of code; a link to its entry if the reference has that name."""
        known = self.reference.known
        if code in self.pages:
            return f"[{code}](../../{self.pages[code]})"
        bare = re.sub(r"\(.*\)$", "", code.strip("`"))
        for name in (f"{here}::{bare}" if here else bare, bare, bare.replace(".", "::"), bare.rpartition("::")[0]):
            if name and name in known:
                file, anchor = known[name]
                return f"[`{code.strip('`')}`]({self.page_of(file)}#{anchor})"
        return f"`{code.strip('`')}`"

    def prose(self, text, here=""):
        """A comment as Markdown. Indented lines become code blocks, and parts that look like code are marked so."""
        out = []
        for paragraph in re.split(r"\n\s*\n", "\n".join(line.rstrip() for line in text.splitlines())):
            lines = paragraph.splitlines()
            if not lines:
                continue
            indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
            if min(indents) >= 3:
                if out and out[-1].startswith("```"):  # an empty line inside a code block
                    out[-1] = out[-1][:-4] + "\n\n" + "\n".join(line[3:] for line in lines) + "\n```"
                else:
                    out.append("```cpp\n" + "\n".join(line[3:] for line in lines) + "\n```")
                continue
            # A paragraph may begin with prose and continue with code.
            words = [line.strip() for line in lines if len(line) - len(line.lstrip()) < 3]
            code = [line[3:] for line in lines if len(line) - len(line.lstrip()) >= 3]
            out.append(self.inline(" ".join(words), here))
            if code:
                out.append("```cpp\n" + "\n".join(code) + "\n```")
        return "\n\n".join(out)

    def inline(self, text, here):
        out, at = [], 0
        for found in CODE.finditer(text):
            out.append(self.wordy(text[at:found.start()], here))
            out.append(self.linked(re.sub(r"\s+", " ", found[0]), here))
            at = found.end()
        return "".join(out) + self.wordy(text[at:], here)

    def wordy(self, text, here):
        parts, at = [], 0
        for found in WORDY.finditer(text):
            if found[1] in self.reference.known:
                parts.append(escaped(text[at:found.start()]) + self.linked(found[1], ""))
                at = found.end()
        return "".join(parts) + escaped(text[at:])

    def member(self, name, here):
        text = self.prose(begun(name.text.strip()), here)
        indented = "\n".join("    " + line if line else "" for line in text.splitlines())
        return f"`{name.declared}`{{: #{name.anchor} }}\n:   {indented.lstrip()}\n"

    def name(self, name, example=()):
        """A type with its members."""
        out = [f"## {escaped(name.full)} {{: #{name.anchor} }}", "", f"`{name.declared}`", "",
               self.prose(name.text, name.full), "", *example]
        seen = {}
        for member in name.members:
            # Overloads have anchors of their own.
            count = seen[member.anchor] = seen.get(member.anchor, 0) + 1
            text = self.member(member, name.full)
            out.append(text if count == 1 else text.replace(f"#{member.anchor} }}", f"#{member.anchor}-{count} }}", 1))
        return "\n".join(out)

    def example(self, file, names):
        """The first of these names that a page uses, and a block of code that uses it, with a link to that page. Of
        several blocks, the best includes the header and has about twelve lines."""
        for name in names:
            if found := [(f"sluice/{file.split('/')[-1]}" not in code, abs(code.count("\n") - 12), page, code)
                         for page, code in self.examples if re.search(rf"sluice::{name.full}\b", code)]:
                _, _, page, code = min(found)
                return name, ["```cpp", code, "```", "", f"(From [{page}](../../{page}).)", ""]
        return None, []

    def header(self, file):
        """The page of a header: the name that the header is called after comes first, enumerations come last."""
        include = file[file.index("include/") + len("include/"):]
        title = include.split("/")[-1]
        names = self.reference.names.get(file, [])
        out = [f"# {title}", "", f"`#include <{include}>` · [source]({self.source_link(file)})", "",
               self.prose(self.reference.headers.get(file, "")), ""]
        main = "".join(word.capitalize() for word in title[:-2].split("_"))
        types = [name for name in names if name.kind in ("class", "struct", "concept", "enum")]
        others = [name for name in names if name not in types]
        types.sort(key=lambda name: (name.name != main, name.kind == "enum", "Iterator" in name.name))
        others.sort(key=lambda name: name.name != main)
        of, example = self.example(file, [name for name in types + others if name.name == main] +
                                   [name for name in types + others if name.kind != "concept"])
        entries = []
        if others:
            seen = {}
            for name in others:
                count = seen[name.anchor] = seen.get(name.anchor, 0) + 1
                text = self.member(name, "")
                entries.append(text if count == 1 else
                               text.replace(f"#{name.anchor} }}", f"#{name.anchor}-{count} }}", 1))
            entries = ["## Functions and constants" if types else "", "", *entries]
        listed = [self.name(name, example if name is of else ()) for name in types]
        if of not in types:
            out += example
        return "\n".join(out + (entries + listed if others and others[0].name == main else listed + entries)) + "\n"

    def index(self):
        """All headers with their first sentence, and all names."""
        out = ["# C++", "", "Everything is in the namespace `sluice`, in headers named `sluice/...`. "
               "`<sluice/sluice.h>` includes what a training needs.", ""]
        for title, files in self.parts():
            if not title:
                continue
            out += [f"## {title}", "", "| header | |", "| --- | --- |"]
            for file in files:
                text = re.sub(r"\s+", " ", self.reference.headers.get(file, "").strip())
                first = re.match(r"(\w+: )?.*?[.:](?= |$)", text)  # "Name: text" is one sentence
                first = first[0].rstrip(":") if first else text
                first = first if first.endswith(".") else first + "."
                out.append(f"| [`{file.split('/')[-1]}`]({self.page_of(file)}) | {self.inline(first, '')} |")
            out.append("")
        out += ["Other headers include these, and a program does not need them: " +
                ", ".join(f"[`{file.split('/')[-1]}`]({self.page_of(file)})" for file in self.internal()) + ".", ""]
        out += ["## All names", ""]
        names = sorted((name for names in self.reference.names.values() for name in names),
                       key=lambda name: name.full.lower())
        out.append(" · ".join(dict.fromkeys(f"[`{name.full}`]({self.page_of(name.file)}#{name.anchor})"
                                            for name in names)))
        return "\n".join(out) + "\n"

    def parts(self):
        """(title, headers) of each part of the library; the last part, without a title, has the internal headers."""
        files = sorted(sorted(file for file in self.reference.headers if "/include/" in file),
                       key=lambda file: (FIRST + (file.split("/")[-1],)).index(file.split("/")[-1]))
        for top, title in (("reader", "Loading"), ("writer", "Converting and writing"), ("format", "Shared by both")):
            yield title, [file for file in files if file.startswith(top + "/") and file not in self.internal()]
        yield "", self.internal()

    def internal(self):
        return sorted(file for file in self.reference.headers if file.split("/")[-1] in INTERNAL)


def examples(root):
    """(page, code) of each block of C++ on the pages that tests/docs compiles."""
    listed = (root / "tests/docs/CMakeLists.txt").read_text(encoding="utf-8")
    names = re.search(r"set\(reference ([^)]*)\)", listed)[1].split()
    names += sorted(str(path.relative_to(root)) for path in (root / "samples/guides").glob("*.md"))
    return [(name, code) for name in names
            for code in re.findall(r"(?ms)^```cpp(?: torch)?\n(.*?)\n```$", (root / name).read_text(encoding="utf-8"))]
