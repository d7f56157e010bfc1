"""What no SOAP stack should have to read: refused in words, and nobody else notices."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from attacker import TOMCAT, Attacker

sys.path.insert(0, str(Path(__file__).with_name("attackers")))
import envelopes
import parts

# What is refused, and with which words. The rest may be answered, as long as it is answered.
REFUSED = {
    "axis-envelopes": {
        **dict.fromkeys(envelopes.doctypes(""), "DOCTYPE is disallowed"),
        "instruction": "Processing instructions are not allowed",
        "deep nesting": "nested deeper than 100",
        "never ended": "nested deeper than 100",
        "10 000 attributes": "more than 100 attributes|Attribute",
        "9 000 namespaces": "more than 100 namespaces",
        "name of 4 MiB": "JAXP00010005|maxXMLNameLimit",
        "unknown entity": "not declared",
        "array of 2 000 000 000 promised": "declare more than",
        "arrays promised 5 000 times": "declare more than",
        "negative array": "length '-5'",
        "array of no number": "length 'many'",
        "position far away": "no position",
        "offset far away": "no offset",
        "array of many dimensions": "length '40000,40000'",
        "dimensions overflowing": "length '65536,65536,2'",
        "reference to itself": "is a reference and has an id",
        "references in a circle": "is a reference and has an id",
        "one row 20 000 times": "more than 16 references",
        "one row 20 000 times in SOAP 1.2": "more than 16 references",
        "array of 2 147 483 648 promised in a header": "declare more than",
        "chunks without end": "longer than the",
        "length of 2 GiB announced": "413",
        "gzip bomb": "415",
        "header of 1 MiB": "400",
        "5 000 headers": "400",
        "nothing": "Premature end of file",
        "zeros": "not allowed in prolog",
        "XInclude": "NOT expected",
        "a header that must be understood": "Did not understand",
    },
    "axis-parts": {
        "MIME without end": "longer than the|500",
        "MIME parts without end": "more than 100 parts",
        "MIME cut short": "before final boundary",
        "MIME without boundary": "400",
        "MIME with an empty boundary": "400",
        "MIME with a boundary of 8 KiB": "400",
        "MIME with two boundaries": "400",
        "MIME with another boundary": "500",
        "MIME, 20 000 parts": "more than 100 parts|500",
        "MIME, 20 000 parts before the root": "more than 100 parts|500",
        "MIME, 100 000 headers": "bytes of headers|500",
        "MIME, a header of 4 MiB": "bytes of headers|500",
        "a class that must not be loaded": "REJECTED",
        "a matrix that lies": "REJECTED",
        "DIME that promises 4 GB": "4294967291 more bytes expected",
        "DIME with options of 64 KiB": "500",
        "DIME of version 31": "greater than current supported version",
        "DIME cut short": "more bytes expected",
        "DIME of zeros": "500",
        "DIME of ones": "500",
    },
    "jaxws-envelopes": {
        **dict.fromkeys(envelopes.doctypes(""), "DOCTYPE is disallowed"),
        "deep nesting": "Maximum Element Depth",
        "10 000 attributes": "Attribute limit",
        "9 000 namespaces": "Attribute limit",
        "attribute of 4 MiB": "Maximum attribute size",
        "chunks without end": "500",
        "length of 2 GiB announced": "413",
        "gzip bomb": "415",
        "header of 1 MiB": "400",
    },
    "jaxws-parts": {
        "XOP of a file": "no payload",
        "XOP of a page": "no payload",
        "XOP of nothing": "no payload",
        "XOP with a DOCTYPE": "DOCTYPE is disallowed",
        "XOP, 20 000 parts": "500",
        "XOP, a header of 4 MiB": "500",
        "XOP without end": "500",
        "XOP parts without end": "500",
        "XOP with two boundaries": "400",
        "XOP without boundary": "400",
    },
}
Answers = dict[str, dict[str, Any]]


# One node a stack, so that both are attacked at a time.
NODES = {"axis": "worker1", "jaxws": "worker2"}


@pytest.fixture(scope="module")
def answers(attacker: Attacker) -> dict[str, Answers]:
    """Every attack on a stack, one after the other, and that its Tomcat lived through them all."""

    def attacked(stack: str) -> dict[str, Answers]:
        node = NODES[stack]
        with attacker.unharmed(node, TOMCAT):
            return {
                family: attacker.run(family, node)
                for family in REFUSED
                if family.startswith(f"{stack}-")
            }

    with ThreadPoolExecutor() as pool:
        found = {name: answer for of in pool.map(attacked, NODES) for name, answer in of.items()}
    assert attacker.lab.output("worker1", "find / -xdev -name 'Axis*.att' | wc -l") == "0"
    return found


@pytest.mark.journal(TOMCAT, *NODES.values())
@pytest.mark.parametrize("family", REFUSED)
def test_each_attack_is_answered_and_tells_nothing(
    answers: dict[str, Answers], family: str
) -> None:
    assert set(answers[family]) == set(parts.FAMILIES[family](""))
    for name, answer in answers[family].items():
        assert answer["status"] >= 200, f"{name}: no answer: {answer}"
        assert "root:" not in answer["text"], name


@pytest.mark.journal(TOMCAT, *NODES.values())
@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, names in REFUSED.items() for name in names]
)
def test_what_would_harm_is_refused_in_words(
    answers: dict[str, Answers], family: str, name: str
) -> None:
    answer = answers[family][name]
    assert answer["status"] >= 400, answer
    assert re.search(REFUSED[family][name], f"{answer['status']} {answer['text']}"), answer
