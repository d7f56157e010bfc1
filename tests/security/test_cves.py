"""The published vulnerabilities of Axis 1.4, each tried where it could be."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from attacker import TOMCAT, Attacker
from labs import Lab
from project import DIST

DEPLOYMENT = (
    '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>'
    '<deployment xmlns="http://xml.apache.org/axis/wsdd/"'
    ' xmlns:java="http://xml.apache.org/axis/wsdd/providers/java">'
    '<service name="Evil" provider="java:RPC"><parameter name="className" value="java.io.File"/>'
    '<parameter name="allowedMethods" value="*"/></service></deployment></s:Body></s:Envelope>'
)
ADMINISTRATION = [
    "/axis/services/AdminService",
    "/axis/servlet/AdminServlet",
    "/axis/servlet/AxisServlet",
    "/axis/AdminServlet",
]
PAGES = [
    *ADMINISTRATION[1:],
    "/axis/StockQuoteService.jws",
    "/axis/EchoHeaders.jws",
    "/axis/happyaxis.jsp",
    "/axis/fingerprint.jsp",
    "/axis/SOAPMonitor",
    "/axis/WEB-INF/server-config.wsdd",
    "/axis/services/../WEB-INF/web.xml",
    "/axis/",
    "/manager/html",
    "/",
]
SCRIPT = "%3Cscript%3Ealert(1)%3C/script%3E"
REFLECTING = [
    f"/axis/services/{SCRIPT}",
    f"/axis/services/Hello?method={SCRIPT}",
    f"/axis/services/Hello?{SCRIPT}",
    f"/axis/services/Hello?method=hello&text={SCRIPT}",
    f"/axis/services/Hello?list={SCRIPT}",
    f"/axis/services/?{SCRIPT}",
    f"/axis/{SCRIPT}.jws",
    f"/axis/{SCRIPT}",
]


def http(attacker: Attacker, *requests: tuple[str, str, str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = attacker.run("http", "worker1", given=json.dumps(requests))
    return found


@pytest.mark.journal(TOMCAT, "worker1")
def test_cve_2019_0227_there_is_no_service_but_ours(attacker: Attacker) -> None:
    answers = http(attacker, *(("GET", page, "") for page in PAGES))
    found = {page: answer["status"] for page, answer in zip(PAGES, answers, strict=True)}
    assert all(status in (400, 404) for status in found.values()), found


@pytest.mark.journal(TOMCAT, "worker1")
def test_cve_2019_0227_and_2023_51441_nobody_deploys(attacker: Attacker) -> None:
    answers = http(attacker, *(("POST", place, DEPLOYMENT) for place in ADMINISTRATION))
    assert all(int(str(answer["status"])) >= 400 for answer in answers), answers
    evil, ours = http(
        attacker,
        ("GET", "/axis/services/Evil?wsdl", ""),
        ("GET", "/axis/services/Hello?wsdl", ""),
    )
    assert ours["status"] == 200
    assert int(str(evil["status"])) >= 400, evil


@pytest.mark.journal(TOMCAT, "worker1")
def test_cve_2018_8032_no_page_repeats_what_is_asked(attacker: Attacker) -> None:
    answers = http(attacker, *(("GET", page, "") for page in REFLECTING))
    for page, answer in zip(REFLECTING, answers, strict=True):
        assert "<script>" not in str(answer["text"]), f"{page}: {answer}"


def test_cve_2012_5784_and_2014_3596_no_client_is_given_a_tls_address(lab: Lab) -> None:
    described = json.loads(lab.output("client1", "cat /etc/rackbench/lab.json"))
    urls = [described["endpoints"][name]["axis_url"] for name in described["groups"]["workers"]]
    assert urls
    assert all(url.startswith("http://") for url in urls), urls


def _own_classes(root: Path) -> dict[str, bytes]:
    """Every class of ours in the application, by name."""
    found = {}
    with zipfile.ZipFile(root / DIST / "axis.war") as war:
        for name in war.namelist():
            if name.endswith(".jar"):
                with war.open(name) as file, zipfile.ZipFile(file) as jar:
                    found |= {n: jar.read(n) for n in jar.namelist() if "/rackbench/" in n}
            elif name.endswith(".class"):
                found[name] = war.read(name)
    return {name: content for name, content in found.items() if name.endswith(".class")}


def test_cve_2023_40743_nothing_of_ours_looks_a_service_up(lab: Lab) -> None:
    classes = _own_classes(lab.player.project.root)
    assert any(b"org/apache/axis/" in content for content in classes.values())
    users = [name for name, content in classes.items() if b"ServiceFactory" in content]
    assert users == []
