"""What a call with wrong arguments is told: which keyword is wrong, and what it takes."""

from __future__ import annotations

import difflib
import os
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
    return not isinstance(of_ours, type) or isinstance(value, of_ours)


def _words(kind: str) -> str:
    words = kind.replace("_sluice.", "sluice.").replace("sluice.sluice.", "sluice.").replace("collections.abc.", "")
    return words.replace("os.PathLike", "a path").replace("object", "a value") if words != "int" else "a whole number from 0"


def refusal(name: str, signature: str, given: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Why `name(*given, **named)` does not fit the signature that nanobind states."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    parts = [part for part in _split(inside, ",") if part and part != "self"]
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
