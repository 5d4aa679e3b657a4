"""Adds to a stub that nanobind made what it cannot know: finish_stub.py STUB"""

import pathlib
import sys

stub = pathlib.Path(sys.argv[1])
text = stub.read_text()
# Its name for paths lacks its argument, which mypy --strict asks for.
text = text.replace("os.PathLike[str]", "os.PathLike").replace("os.PathLike", "os.PathLike[str]")
# What comes as an object is an array, or what a function of the user's made.
text = text.replace(") -> object:", ") -> Any:")
if "class Error(" not in text:  # a build may come here again with the same stub
    text += '''

class Error(RuntimeError):
    """
    Everything that a caller of Sluice can do something about; code, file and place say what, where.
    """

    code: str

    file: str

    place: str
'''
stub.write_text(text)
