"""What a call with wrong arguments is told: which keyword is wrong, and what it takes; and the signatures of
classes and functions, which nanobind has as text."""

from __future__ import annotations

import collections.abc
import difflib
import enum
import functools
import inspect
import os
import re
from collections.abc import Sequence
from typing import Any

import sluice

# The words of PyTorch's DataLoader, and what is said here.
_OF_PYTORCH = {
    "shuffle": "order=sluice.OrderOptions(shuffle=sluice.Shuffle.RANDOM), and QUASI_RANDOM is the default",
    "drop_last": "ranks=sluice.RankOptions(last_batch=sluice.LastBatch.DROP)",
    "num_workers": "threads=..., the number of decoding threads",
    "pin_memory": "ring=sluice.RingOptions(pinned=True)",
    "prefetch_factor": "ring=sluice.RingOptions(prefetch=...)",
    "sampler": "order=sluice.OrderOptions(samples=...)",
    "batch_sampler": "order=sluice.OrderOptions(batches=...)",
    "collate_fn": "batch_function=...",
    "worker_init_fn": "thread_setup=...",
}


def _split(text: str, at: str) -> list[str]:
    """The parts of a text between separators that lie outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _fits(value: Any, kind: str) -> bool:
    """False if the value surely is not of the annotated kind."""
    kinds = _split(kind, "|")
    if len(kinds) > 1:
        return any(_fits(value, one) for one in kinds)
    plain, _, inner = kind.partition("[")
    name = plain.rpartition(".")[2]
    if name == "None":
        return value is None
    if name == "object":
        return value is not None
    if name == "bool":
        return isinstance(value, bool)
    if name == "int":
        return hasattr(value, "__index__") and int(value) >= 0
    if name == "float":
        return hasattr(value, "__float__") or hasattr(value, "__index__")
    if name in ("str", "PathLike"):
        return isinstance(value, (str, os.PathLike) if name == "PathLike" else str)
    if name in ("Sequence", "list", "tuple"):
        each = _split(inner[:-1], ",")
        kinds = each if name == "tuple" and "..." not in each else each[:1] * len(value) if hasattr(value, "__len__") else []
        return isinstance(value, Sequence) and not isinstance(value, str) and len(kinds) == len(value) and all(
            map(_fits, value, kinds))
    of_ours = getattr(sluice, name, None)
    if isinstance(value, str) and value in _enumerators(name):
        return True
    return not isinstance(of_ours, type) or isinstance(value, of_ours)


def _enumerators(name: str) -> list[str]:
    """The words of an enumeration of ours, if it is one."""
    of_ours = getattr(sluice, name, None)
    words = of_ours if isinstance(of_ours, type) and issubclass(of_ours, enum.Enum) else ()
    return [word.value for word in words if isinstance(word, str)]


def _words(kind: str) -> str:
    words = kind.replace("_sluice.", "sluice.").replace("sluice.sluice.", "sluice.").replace("collections.abc.", "")
    words = re.sub(r"sluice\.(\w+)", lambda found: " | ".join(map(repr, _enumerators(found[1]))) or found[0], words)
    return words.replace("os.PathLike", "a path").replace("object", "a value") if words != "int" else "a whole number from 0"


def _parameters(signature: str) -> list[str]:
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    return [part for part in _split(inside, ",") if part and part != "self"]


def refusal(name: str, signature: str, given: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Why `name(*given, **named)` does not fit the signature that nanobind states."""
    parts = _parameters(signature)
    positions = parts.index("*") if "*" in parts else len(parts)
    kinds: dict[str, str] = {}
    required = []
    for part in parts:
        parameter, _, kind = part.partition(":")
        if part != "*" and part != "/":
            kinds[parameter] = kind.partition(" = ")[0].strip()
            if " = " not in kind:
                required.append(parameter)
    for word in named:
        if word in kinds:
            continue
        if name == "Loader" and word in _OF_PYTORCH:
            return f"Loader() has no option {word!r}; it is {_OF_PYTORCH[word]}"
        close = difflib.get_close_matches(word, kinds, 1)
        return f"{name}() has no option {word!r}; " + (
            f"did you mean {close[0]!r}?" if close else f"it has {', '.join(kinds)}")
    if len(given) > positions:
        return f"{name}() takes {positions} arguments without a keyword, and {len(given)} are given"
    values = dict(zip(kinds, given))
    for word in named:
        if word in values:
            return f"{name}() is given {word!r} twice"
    values.update(named)
    for word in required:
        if word not in values:
            return f"{name}() needs {word!r}: {_words(kinds[word])}"
    wrong = [word for word, value in values.items() if not _fits(value, kinds[word])] or list(values)
    return f"{name}(): " + "; ".join(f"{word} takes {_words(kinds[word])}, not {values[word]!r}" for word in wrong)


def _signature(text: str, defaults: tuple[Any, ...] | None) -> inspect.Signature:
    """What inspect and help() show for the signature that nanobind states."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shown = []
    for part in _parameters(text):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        name, _, rest = part.partition(": ")
        annotation, _, number = rest.partition(" = ")
        default = defaults[int(number[1:])] if number and defaults else inspect.Parameter.empty
        types = {**vars(sluice), "sluice": sluice, "os": os, "collections": collections}
        shown.append(inspect.Parameter(name, kind, default=default, annotation=eval(annotation, types)))
    return inspect.Signature(shown)


def _explained(owner: str, name: str, given: property) -> property:
    """An attribute that says what it takes when it is set to something else."""

    def set_value(self: Any, value: Any) -> None:
        try:
            given.__set__(self, value)
        except TypeError:
            kind = _parameters(given.fset.__nb_signature__[0][0])[0].partition(": ")[2]  # type: ignore[union-attr]
            raise TypeError(f"{owner}.{name} takes {_words(kind)}, not {value!r}") from None

    return property(given.fget, set_value, None, given.__doc__)


def _shown(function: Any) -> Any:
    """The same function, whose signature inspect and help() show: nanobind's functions take no attributes."""
    text, doc, defaults = function.__nb_signature__[0]

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    call.__signature__ = _signature(text, defaults)  # type: ignore[attr-defined]
    call.__module__, call.__doc__ = "sluice", doc
    return call


def finish(module: dict[str, Any]) -> None:
    """Gives nanobind's classes and functions in a module a signature and their public name, and the classes'
    attributes an explanation of what they take."""
    for name, value in list(module.items()):
        if name[0] == "_":
            continue
        if not isinstance(value, type):
            if hasattr(value, "__nb_signature__"):
                module[name] = _shown(value)
            continue
        stated = getattr(vars(value).get("__init__"), "__nb_signature__", None)
        if stated:
            value.__signature__ = _signature(stated[0][0], stated[0][2])  # type: ignore[attr-defined]
        for attribute, given in list(vars(value).items()):
            if isinstance(given, property) and hasattr(given.fset, "__nb_signature__"):
                setattr(value, attribute, _explained(value.__name__, attribute, given))
        value.__module__ = "sluice"
