"""The errors of calls with wrong arguments, which say which keyword is wrong and what it takes; and the signatures of
classes and functions, which nanobind has as text."""

from __future__ import annotations

import collections.abc
import difflib
import enum
import functools
import inspect
import operator
import os
import re
import typing
from collections.abc import Sequence
from typing import Any, NoReturn

import sluice
from sluice._sluice import _refused  # type: ignore[attr-defined]

# Options of PyTorch's DataLoader, of FFCV's Loader and of others, and how they are written for a Loader; then those of
# FFCV's fields and DatasetWriter, and how they are written for convert().
_ELSEWHERE: dict[str, dict[str, str]] = {"Loader": {
    "shuffle": "order=sluice.OrderOptions(shuffle=sluice.Shuffle.RANDOM); QUASI_RANDOM is the default",
    "drop_last": "ranks=sluice.RankOptions(last_batch=sluice.LastBatch.DROP)",
    "num_workers": "threads=..., the number of decoding threads",
    "pin_memory": "ring=sluice.RingOptions(pinned=True)",
    "prefetch_factor": "ring=sluice.RingOptions(prefetch=...)",
    "sampler": "order=sluice.OrderOptions(samples=...)",
    "batch_sampler": "order=sluice.OrderOptions(batches=...)",
    "collate_fn": "batch_function=...",
    "worker_init_fn": "thread_setup=...",
    "pipelines": "transform=..., the steps for images; other fields need none",
    "os_cache": "storage=sluice.Direct() for os_cache=False; the default uses the system's page cache",
    "distributed": "ranks=sluice.RankOptions(rank, world_size), or nothing: ranks come from torch.distributed or the "
                   "launcher",
    "batches_ahead": "ring=sluice.RingOptions(prefetch=...)",
    "indices": "order=sluice.OrderOptions(samples=sluice.SampleList.of(...))",
    "custom_fields": "leave it out: a dataset names the types of its fields",
    "recompile": "sizes=..., if images change their size by epoch; nothing is compiled",
    "augment": "transform=...",
    "dtype": "sluice.Normalize(type=...) as the last step of transform",
    "cache": "keep=sluice.DecodedPictures(bytes)",
    "epochs": "a loop over epochs; each `for batch in loader` plays the next one",
}, "convert": {
    "write_mode": "image='raw' for pixels, or quality=... for JPEGs; one form for all pictures, which sluice-bench advise "
                  "helps to choose",
    "smart_threshold": "image='raw' or quality=...; one form for all pictures",
    "compress_probability": "image='raw' or quality=...; one form for all pictures",
    "max_resolution": "max_side=..., 500 by default, or None to keep the sizes",
    "jpeg_quality": "quality=..., 90 by default, or keep=True for a JPEG's own coefficients",
    "page_size": "shard_bytes=...",
    "num_workers": "threads=..., by default one for each CPU",
    "chunksize": "leave it out: threads take one picture after another",
    "shuffle_indices": "keep_order=True to store samples in the order of their paths; they are stored shuffled by default",
}}

# What messages call the types that finish_stub.py defines for type checkers.
_STATED = {"_Transform": "a list of steps, or their text form",
           "_Transforms": "a list of steps or of lists of steps", "_TorchDevice": "a torch.device"}


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


def _is_truth_value(value: Any) -> bool:
    """Also for those of numpy and torch."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")).rpartition(".")[2] == "bool"


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
    if name in ("int", "float") and _is_truth_value(value):
        return False
    if name == "int":
        return hasattr(value, "__index__")
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
    """What an error says of an annotated kind: the words of an enumeration, "a whole number from 0" for int."""
    words = kind.replace("_sluice.", "sluice.").replace("sluice.sluice.", "sluice.").replace("collections.abc.", "")
    words = re.sub(r"\b_\w+", lambda found: _STATED.get(found[0], found[0]), words)
    words = re.sub(r"sluice\.(\w+)", lambda found: " | ".join(map(repr, _enumerators(found[1]))) or found[0], words)
    return words.replace("os.PathLike", "a path").replace("object", "a value") if words != "int" else "a whole number from 0"


def _written(value: Any) -> str:
    """The repr of a value in an error: its beginning, since a list may have a million entries."""
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _parameters(signature: str) -> list[str]:
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    return [part for part in _split(inside, ",") if part and part != "self"]


def _outside(value: Any) -> str:
    """What the argument takes, if its type cannot hold this number (the one that was refused last) or if UTF-8 cannot
    hold this text; otherwise ''."""
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        return f"text without lone surrogates, which UTF-8 cannot hold, not {_written(value)}"
    number, low, high = _refused()
    if id(value) == number:
        try:
            if not low <= operator.index(value) <= high:
                return f"a whole number from {low} to {high}, not {value!r}"
        except TypeError:  # a tensor of several numbers
            pass
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next(filter(None, map(_outside, parts)), "")


def _groups(kind: str) -> list[Any]:
    """The classes of options that an argument takes."""
    found = [getattr(sluice, name, None) for name in re.findall(r"sluice\.([A-Z]\w*)", kind)]
    return [one for one in found if isinstance(one, type) and hasattr(one, "__signature__")]


def _in_a_group(word: str, kinds: dict[str, str]) -> str:
    """How an option is written that is not the function's own, but that of a group which it takes; or ''."""
    for parameter, kind in kinds.items():
        for group in _groups(kind) if parameter != "dataset" else ():
            if word in group.__signature__.parameters and "None" not in kind:
                return f"{parameter}=sluice.{group.__name__}({word}=...)"
    return ""


def _of_the_source(word: str) -> str:
    """How an option of convert() is written that is an attribute of its source; or ''."""
    source = sluice.ConvertSource(".")
    for group in "", "label", "rows", "split", "label_files":
        if isinstance(getattr(type(getattr(source, group) if group else source), word, None), property):
            place = f"{group}.{word}" if group else word
            return f"source = sluice.ConvertSource(folder) and source.{place} = ..."
    return ""


def _cure(parameter: str, value: Any, kind: str) -> str:
    """What to write instead of a tensor, of a type of numpy or torch, or of a word for an option of a group."""
    if parameter == "quality" and value == "keep":
        return "; keep=True keeps a JPEG's own coefficients"
    if "Sequence[" in kind and hasattr(value, "tolist"):
        return "; give it as a list, by .tolist()"
    if re.match(r"[\w.]*Sequence\[(int|float)\]", kind) and isinstance(value, (int, float)):
        return f"; write [{value}]"
    type_name = str(getattr(value, "__name__", value)).rpartition(".")[2]
    if not isinstance(value, str) and (parameter == "dtype" or any(type_name in _enumerators(one) for one in re.findall(r"\w+", kind))):
        return f"; write {parameter}={type_name!r}"
    value = value.value if isinstance(value, enum.Enum) else value
    for group in _groups(kind) if isinstance(value, str) else ():
        if group.__name__.lower() == value:
            return f"; write {parameter}=sluice.{group.__name__}(...)"
        for option, one in group.__signature__.parameters.items():
            if isinstance(one.annotation, type) and value in _enumerators(one.annotation.__name__):
                return f"; write {parameter}=sluice.{group.__name__}({option}={value!r})"
    return ""


def refusal(name: str, signature: str, given: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Why `name(*given, **named)` does not fit the signature that nanobind states."""
    name = {"_DatasetWriter": "Writer", "_SampleBuilder": "Writer.add"}.get(name, name)
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
        instead = _ELSEWHERE.get(name, {}).get(word, "")
        instead = instead or _in_a_group(word, kinds) or (_of_the_source(word) if "source" in kinds else "")
        if instead:
            return f"{name}() has no option {word!r}; {'' if instead.startswith('leave') else 'use '}{instead}"
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
    misfits = {word: _outside(value) or f"{_words(kinds[word])}, not {_written(value)}{_cure(word, value, kinds[word])}"
               for word, value in values.items() if _outside(value) or not _fits(value, kinds[word])}
    misfits = misfits or {word: f"{_words(kinds[word])}, not {_written(value)}" for word, value in values.items()}
    return f"{name}(): " + "; ".join(f"{word} takes {why}" for word, why in misfits.items())


def _signature(text: str, defaults: tuple[Any, ...] | None, first: Sequence[str] = ()) -> inspect.Signature:
    """What inspect and help() show for the signature that nanobind states. `first`: parameters to put before it."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shown = [inspect.Parameter(name, kind) for name in first]
    for part in _parameters(text):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        name, _, rest = part.partition(": ")
        annotation, _, number = rest.partition(" = ")
        default = defaults[int(number[1:])] if number and defaults else inspect.Parameter.empty
        types = {**vars(sluice), "sluice": sluice, "os": os, "collections": collections, "typing": typing}
        types.update((name, typing.NewType(words, object)) for name, words in _STATED.items())
        shown.append(inspect.Parameter(name, kind, default=default, annotation=eval(annotation, types)))
    return inspect.Signature(shown)


def _refuse(self: Any, *given: Any, **named: Any) -> NoReturn:
    raise TypeError("this is a copy of an attribute, and changing it would change nothing; set the attribute to a new "
                    "list, dict or object")


# Lists and dicts that attributes return as copies: they can be read, compared and copied, but not changed in place.
class _ReadOnlyList(list[Any]):
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # type: ignore[assignment, unused-ignore]
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse  # type: ignore[assignment, unused-ignore]

    def __reduce__(self) -> Any:
        return list, (list(self),)


class _ReadOnlyDict(dict[Any, Any]):
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment, unused-ignore]
    __delitem__ = __ior__ = __setitem__ = _refuse  # type: ignore[assignment, unused-ignore]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


@functools.cache
def _read_only_type(kind: Any) -> Any:
    """A subclass whose objects' attributes cannot be set."""

    def reduce(self: Any) -> Any:
        made, given = kind.__reduce__(self)
        return functools.partial(kind, *made.args, **made.keywords), given

    return type(kind.__name__, (kind,), {"__slots__": (), "__setattr__": _refuse, "__reduce__": reduce,
                                         "__module__": "sluice"})


def _read_only(value: Any) -> Any:
    """The value of an attribute that returns a copy, in a form that cannot be changed."""
    if isinstance(value, list):
        return _ReadOnlyList(map(_read_only, value))
    if isinstance(value, dict):
        return _ReadOnlyDict((key, _read_only(one)) for key, one in value.items())
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if any(isinstance(one, property) and one.fset for one in vars(type(value)).values()):
        made, _ = value.__reduce__()
        kind: Any = type(value)
        return _read_only_type(kind)(*made.args, **made.keywords)
    return value


class _ElementType(str):
    """The name of a type of numbers, such as 'uint8', which equals numpy.uint8 and torch.uint8, too."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            other = str(getattr(other, "__name__", other)).rpartition(".")[2]  # of a class of numpy; "torch.uint8"
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def _given_as_copy(getter: Any) -> bool:
    """Whether an attribute returns a list, a dict, or something that may be one."""
    annotation = getter.__nb_signature__[0][0].rpartition(" -> ")[2]
    return re.match(r"list\b|dict\b|object\b|_Transforms?\b|(str \| )?collections\.abc\.(Iterable|Sequence)\b", annotation) is not None


def _explained(owner: str, name: str, given: property) -> property:
    """An attribute that says what it takes when it is set to something else, and whose lists and dicts are
    read-only, since changes to these copies would be lost."""

    def get_copy(self: Any) -> Any:
        return _read_only(given.fget(self))  # type: ignore[misc]

    def get_element_type(self: Any) -> _ElementType:
        return _ElementType(given.fget(self))  # type: ignore[misc]

    get_value = get_element_type if name == "dtype" else get_copy if _given_as_copy(given.fget) else given.fget
    if given.fset is None:
        return property(get_value, None, None, given.__doc__)

    def set_value(self: Any, value: Any) -> None:
        try:
            given.__set__(self, value)
        except TypeError:
            kind = _parameters(given.fset.__nb_signature__[0][0])[0].partition(": ")[2]  # type: ignore[union-attr]
            raise TypeError(f"{owner}.{name} takes {_outside(value) or f'{_words(kind)}, not {_written(value)}'}") from None

    return property(get_value, set_value, None, given.__doc__)


def _shown(owner: str, name: str, function: Any) -> Any:
    """The function or method in a wrapper, since nanobind's functions take no attributes: inspect and help() show its
    signature, and its errors name the wrong argument."""
    stated = function.__nb_signature__
    is_method = type(function).__name__ == "nb_method"

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except TypeError as error:
            if not str(error).startswith(f"{name}(): incompatible function arguments"):
                raise
            given = given[1:] if is_method else given
            # Of several signatures, the one whose number of arguments is nearest.
            text = min((one[0] for one in stated), key=lambda one: abs(len(_parameters(one)) - len(given) - len(named)))
            raise TypeError(refusal(f"{owner}{name}", text, given, named)) from None

    if len(stated) == 1:
        text, doc, defaults = stated[0]
        call.__signature__ = _signature(text, defaults, ["self"] * is_method)  # type: ignore[attr-defined]
        call.__doc__ = doc
    call.__module__ = "sluice"
    return call


# The attributes that ConvertSource had before they were in groups, and what they are now.
_MOVED = {
    "path_column": "rows.path_column", "columns": "rows.columns", "group": "rows.group", "parts": "label_files.parts",
    "split_begin": "split.begin", "split_end": "split.end", "split_seed": "split.seed", "classes": "label.classes",
    "classes_of": "label.classes_of", "labels": "label.store", "folder_labels": "label.folders", "numbers": "label.numbers",
}


def _refuse_moved(self: Any, name: str, *value: Any) -> Any:
    """__getattr__ and __setattr__ of ConvertSource."""
    if name in _MOVED:
        raise AttributeError(f"ConvertSource.{name} is called ConvertSource.{_MOVED[name]}")
    return object.__setattr__(self, name, *value) if value else object.__getattribute__(self, name)


# What to write instead of an attribute that a class does not have.
_INSTEAD = {
    "Array": "use .numpy() or .torch()",
    "Batch": "a batch has its fields by name, batch['image'], and all of them by .numpy() or .torch()",
    "Ragged": "r[0] is the array of one sample, r.values has those of all samples, and r.padded() is one array",
    "Sample": "a sample has its fields by name, sample['image'] or sample.array('image')",
    "MutableSample": "use .image(), .field(name) or .variable(name)",
    "MutableBatch": "use .image() or .field(name)",
}


def _refuse_missing(self: Any, name: str) -> Any:
    """__getattr__ of these classes."""
    if name[0] == "_":
        return object.__getattribute__(self, name)
    kind = type(self).__name__
    raise AttributeError(f"{kind!r} object has no attribute {name!r}: {_INSTEAD[kind]}")


def finish(module: dict[str, Any]) -> None:
    """Gives nanobind's classes and functions in a module a signature and their public name, and the classes'
    attributes an explanation of what they take."""
    for name, value in list(module.items()):
        if name[0] == "_":
            continue
        if not isinstance(value, type):
            if hasattr(value, "__nb_signature__"):
                module[name] = _shown("", name, value)
            continue
        stated = getattr(vars(value).get("__init__"), "__nb_signature__", None)
        if stated:
            value.__signature__ = _signature(stated[0][0], stated[0][2])  # type: ignore[attr-defined]
        for attribute, given in list(vars(value).items()):
            if isinstance(given, property) and attribute[0] != "_" and hasattr(given.fget, "__nb_signature__"):
                setattr(value, attribute, _explained(value.__name__, attribute, given))
            elif attribute[0] != "_" and any(_parameters(one[0]) for one in getattr(given, "__nb_signature__", ())):
                explained = _shown(f"{value.__name__}.", attribute, given)
                setattr(value, attribute, explained if type(given).__name__ == "nb_method" else staticmethod(explained))
        value.__module__ = "sluice"
    for name in _INSTEAD:
        module[name].__getattr__ = _refuse_missing
    module["ConvertSource"].__getattr__ = module["ConvertSource"].__setattr__ = _refuse_moved
