"""Adds to nanobind's stub what nanobind cannot know: finish_stub.py STUB TRANSFORM

TRANSFORM is sluice/transform.h, which has the names of all steps.
"""

import ast
import pathlib
import re
import sys

stub = pathlib.Path(sys.argv[1])
text = stub.read_text()
# nanobind's name for paths lacks the type's argument, which mypy --strict asks for.
text = text.replace("os.PathLike[str]", "os.PathLike").replace("os.PathLike", "os.PathLike[str]")
# A result of type object is an array, or comes from a user's function; with Any, type checkers allow every use of it.
text = text.replace(") -> object:", ") -> Any:")
# Lists and dicts that attributes return are read-only: sluice/_arguments.py.
for kind, read_only in ("list", "Sequence"), ("dict", "Mapping"):
    text = re.sub(rf"(@property\n    def \w+\(self\) -> ){kind}\[", rf"\1collections.abc.{read_only}[", text)
# As typeshed writes that objects of a class cannot be hashed.
text = text.replace("__hash__: None = None", "__hash__: ClassVar[None]  # type: ignore[assignment]")
# Removes __del__, which only the garbage collector calls.
text = re.sub(r"    def __del__\(.*\n\n", "", text)
# A parameter that takes an enumeration takes its words, too.
for name, body in re.findall(r"^class (\w+)\((?:enum\.StrEnum|str, enum\.Enum)\):\n(.*?)(?=^\S)", text, re.M | re.S):
    words = ", ".join(re.findall(r"^    \w+ = ('\w+')", body, re.M))
    text = re.sub(rf": {name}(?=[,)]| = )", f": {name} | Literal[{words}]", text)
if "class Error(" not in text:  # a build may come here again with the same stub
    text = "import collections.abc\nfrom typing import ClassVar, Literal, Protocol, TypeAlias, TypedDict\n" + text
    # The steps get a common base class: the element type of a list of steps, for type checkers.
    steps = re.search(r"using Transform =\s+std::variant<([^;]*)>;", pathlib.Path(sys.argv[2]).read_text())[1]
    for step in steps.replace(",", " ").split():
        text, found = re.subn(rf"^class {step}:", f"class {step}(_Step):", text, flags=re.M)
        assert found == 1, step
    # Attributes return a list, even if they also accept a text.
    text = text.replace(") -> _Transform:", ") -> collections.abc.Sequence[_Step]:")
    text = text.replace(
        ") -> _Transforms:", ") -> collections.abc.Sequence[collections.abc.Sequence[_Step]]:")
    text = re.sub(
        r"\) -> str \| [\w.]*Sequence\[tuple\[int, _Transform\]\]:",
        ") -> collections.abc.Sequence[tuple[int, collections.abc.Sequence[_Step]]]:", text)
    text += '''

class _Step:
    """A step of a transform."""


# Steps in order, or their text form.
_Transform: TypeAlias = str | collections.abc.Iterable[_Step]
# The lists of a RandomChoice.
_Transforms: TypeAlias = collections.abc.Iterable[_Step | _Transform]


class _TorchDevice(Protocol):
    """The attributes of a torch.device."""

    @property
    def type(self) -> str: ...

    @property
    def index(self) -> int | None: ...


class _LoaderOptions(TypedDict, total=False):
    """The options of Loader, for functions that pass them on as **options."""
'''
    loader = next(one for one in ast.parse(text).body if isinstance(one, ast.ClassDef) and one.name == "Loader")
    init = next(one for one in loader.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    for option in init.args.kwonlyargs:
        text += f"\n    {option.arg}: {ast.unparse(option.annotation)}\n"
    text += '''

class Error(RuntimeError):
    """
    An error that a caller of Sluice can do something about. `code` is its kind; `file` and `place` say where.
    """

    code: str

    file: str

    place: str


class ConvertWarning(UserWarning):
    """
    A doubt about a conversion, such as columns that were not used or a class without samples.
    """
'''
stub.write_text(text)
