"""YAML as this package reads it: strict where PyYAML guesses, drops a value or stumbles."""

import math
import re
from collections.abc import Hashable
from typing import Any

import yaml

_MOST_VALUES = 100_000
_LARGE = 1e15
"""From here on a number is shorter with its exponent."""
_TOO_LARGE = 2**63
"""From here on (and below its negative) a whole number fits into no field of a log or plan."""
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str")}
_COLLECTIONS = {"tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}
_MERGE, _DATE = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:timestamp"
# What PyYAML raises besides YAMLError for values, tags and escapes that it cannot convert.
_STUMBLES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
UNREADABLE = (yaml.YAMLError, RecursionError, *_STUMBLES)
"""What PyYAML raises for a text that it cannot read."""
# The core schema of YAML 1.2.
_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE, _FALSE = re.compile("true|True|TRUE"), re.compile("false|False|FALSE")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OCTAL, _HEXADECIMAL = re.compile(r"0o[0-7]+"), re.compile(r"0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE, _NAN = re.compile(r"[-+]?\.(inf|Inf|INF)"), re.compile(r"\.(nan|NaN|NAN)")


def parse_yaml(text: str, *, is_recorded: bool = False) -> Any:
    """Parse one YAML document; raises ValueError that names the line and the next step.

    Refuses keys given twice, keys that are no scalars (`{{ n }}` without quotes), tags other than
    those of JSON, aliases without end, and plain scalars that YAML 1.1 and 1.2 read differently:
    0500, 190:20:30, 1_000, 1e3, yes, 2026-03-01. Merge keys (`<<`) work. A document that an
    earlier version took and recorded is read as that version did: by YAML 1.1.
    """
    loader = None
    try:
        loader = _Loader(text)
        loader.is_recorded = is_recorded
        node = loader.get_single_node()
        if node is None:
            return None
        _count(node, {})
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise ValueError(_explain(error)) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise ValueError(
            f"line {line} is not valid YAML: it holds the control character "
            f"{chr(int(error.character))!r}; remove it"
        ) from error
    except RecursionError as error:
        raise ValueError("is nested too deeply, or contains itself; reduce the nesting") from error
    except _STUMBLES as error:
        line = 1 if loader is None else loader.line + 1
        raise ValueError(
            f"line {line} is not valid YAML ({' '.join(str(error).split())}); correct it"
        ) from error
    finally:
        if loader is not None:
            loader.dispose()


class _RefusedError(yaml.MarkedYAMLError):
    """What is valid YAML but not accepted; `problem` says why and what to do."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with the checks of parse_yaml made while nodes are composed."""

    is_recorded = False

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        event: yaml.ScalarEvent = self.peek_event()  # type: ignore[no-untyped-call]
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        if not _is_encodable(node.value):
            raise _refused(node, "holds half a character (a lone surrogate); write it whole")
        is_plain = event.implicit[0]
        if is_plain and node.tag != _MERGE and not self.is_recorded:
            self._check_readings(node)
        if not is_plain and node.tag not in _PLAIN_TAGS:
            raise _refused(node, f"has the tag {node.tag}; write the value without a tag")
        return node

    def compose_sequence_node(self, anchor: Any) -> yaml.SequenceNode:
        node: yaml.SequenceNode = _without_tag(super().compose_sequence_node(anchor))
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = _without_tag(super().compose_mapping_node(anchor))
        seen = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _refused(
                    key_node,
                    "has a list or a mapping as a key, which is how YAML reads {{ … }} without "
                    "quotes. This file is not a template: write the value itself, or quote it",
                )
            key = "<<" if key_node.tag == _MERGE else self.construct_object(key_node)
            if not isinstance(key, Hashable):
                raise _refused(key_node, "has a key that is not text; quote it")
            if key in seen:
                raise _refused(key_node, f"the key {key!r} is given twice; remove one")
            seen.add(key)
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (yaml.YAMLError, RecursionError):
            raise
        except _STUMBLES as error:
            kind = node.tag.rpartition(":")[2]
            raise _refused(
                node, f"{_short(node.value)} cannot be read as {kind}; correct or quote it"
            ) from error
        if isinstance(value, int) and abs(value) >= _TOO_LARGE and not self.is_recorded:
            raise _refused(
                node, f"{_short(node.value)} is too large for a number; correct or quote it"
            )
        return value

    def _check_readings(self, node: yaml.ScalarNode) -> None:
        """Refuse a plain scalar that is one thing in YAML 1.1 and another in YAML 1.2."""
        text = _short(node.value)
        if node.tag not in _PLAIN_TAGS:
            what = "a date" if node.tag == _DATE else "no plain text"
            raise _refused(node, f"{text} is {what} in YAML; quote it")
        old, new = self.construct_object(node), _core(node.value)
        if type(old) is type(new) and (old == new or _is_nan(old)):
            return
        meant = old if isinstance(new, str) else new
        raise _refused(
            node,
            f"{text} is {_described(old)} in YAML 1.1 and {_described(new)} in YAML 1.2; "
            f"write {_described(meant)}, or quote it",
        )


def _core(text: str) -> Any:
    """Return what a plain scalar is in YAML 1.2."""
    for pattern, convert in (
        (_NULL, lambda _: None),
        (_TRUE, lambda _: True),
        (_FALSE, lambda _: False),
        (_WHOLE, int),
        (_OCTAL, lambda octal: int(octal, 0)),
        (_HEXADECIMAL, lambda hexadecimal: int(hexadecimal, 0)),
        (_REAL, float),
        (_INFINITE, lambda infinite: float(infinite.replace(".", ""))),
        (_NAN, lambda _: math.nan),
    ):
        if pattern.fullmatch(text):
            return convert(text)
    return text


def _described(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return str(int(value))
    return str(value).lower()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _without_tag(node: Any) -> Any:
    if node.tag not in _COLLECTIONS:
        raise _refused(node, f"has the tag {node.tag}; write the value without a tag")
    return node


def _refused(node: yaml.Node, problem: str) -> _RefusedError:
    return _RefusedError(None, None, problem, node.start_mark)


def _count(node: yaml.Node, counts: dict[int, int]) -> int:
    """Return how many values a node stands for, aliases followed."""
    found = counts.get(id(node))
    if found is not None:
        if not found:
            raise _refused(node, "contains itself by an alias; write it out")
        return found
    counts[id(node)] = 0
    inner: list[yaml.Node] = []
    if isinstance(node, yaml.SequenceNode):
        inner = node.value
    elif isinstance(node, yaml.MappingNode):
        inner = [part for pair in node.value for part in pair]
    count = 1 + sum(_count(part, counts) for part in inner)
    if count > _MOST_VALUES:
        raise _refused(node, f"holds more than {_MOST_VALUES} values; use fewer aliases")
    counts[id(node)] = count
    return count


def _explain(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = f"line {mark.line + 1}" if mark else "the file"
    if isinstance(error, _RefusedError):
        is_verb = str(error.problem).startswith(("has ", "holds ", "contains "))
        return f"{line}{'' if is_verb else ':'} {error.problem}"
    said = ", ".join(filter(None, (error.context, error.problem)))
    return f"{line} is not valid YAML: {' '.join(said.split())}; correct it"
