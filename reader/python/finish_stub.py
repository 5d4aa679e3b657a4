"""Adds to a stub that nanobind made what it cannot know: finish_stub.py STUB"""

import pathlib
import re
import sys

stub = pathlib.Path(sys.argv[1])
text = stub.read_text()
# nanobind's name for paths lacks the type's argument, which mypy --strict asks for.
text = text.replace("os.PathLike[str]", "os.PathLike").replace("os.PathLike", "os.PathLike[str]")
# A result of type object is an array, or comes from a function of the user's.
text = text.replace(") -> object:", ") -> Any:")
# Lists and dicts that attributes give are read-only: sluice/_arguments.py.
for kind, read_only in ("list", "Sequence"), ("dict", "Mapping"):
    text = re.sub(rf"(@property\n    def \w+\(self\) -> ){kind}\[", rf"\1collections.abc.{read_only}[", text)
# Only the garbage collector calls it.
text = re.sub(r"    def __del__\(.*\n\n", "", text)
# A parameter that takes an enumeration takes its words, too.
for name, body in re.findall(r"^class (\w+)\((?:enum\.StrEnum|str, enum\.Enum)\):\n(.*?)(?=^\S)", text, re.M | re.S):
    words = ", ".join(re.findall(r"^    \w+ = ('\w+')", body, re.M))
    text = re.sub(rf": {name}(?=[,)]| = )", f": {name} | Literal[{words}]", text)
text = text.replace("import Any, NoReturn\n", "import Any, Literal, NoReturn\n")
if "class Error(" not in text:  # a build may come here again with the same stub
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
