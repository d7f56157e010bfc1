"""The hooks in playbooks/hooks: what they send, and what they say when they cannot."""

import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from synthetic import sort_times

from collect.sweep.hook import Hook, summary_of
from collect.sweep.status import read_status

HOOKS = Path(__file__).parents[3] / "playbooks/hooks"


@pytest.fixture
def summary(run_of):
    return summary_of(read_status(run_of(sort_times, until=30)), "stalled", "worker3 is çut off")


@pytest.fixture
def chat():
    """A chat's webhook; gives its address and what was posted."""
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if self.path == "/broken" else 200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", posted
    server.shutdown()
    thread.join()
    server.server_close()


def call(name, directory, summary, **environment):
    return Hook(str(HOOKS / name), directory, environment).call(summary)


def test_a_hook_gets_no_variable_of_the_caller_but_those_it_needs(tmp_path, summary, monkeypatch):
    monkeypatch.setenv("VAULT_PASSWORD", "secret")
    monkeypatch.setenv("RACKBENCH_MAIL_TO", "me@lab.example")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\nenv >{tmp_path}/seen\n")
    hook.chmod(0o755)
    assert Hook(str(hook), tmp_path, {"OWN": "1"}).call(summary) == ""
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert "VAULT_PASSWORD" not in seen
    assert seen["PATH"] == os.environ["PATH"]
    assert (seen["RACKBENCH_MAIL_TO"], seen["OWN"]) == ("me@lab.example", "1")
    assert (seen["RACKBENCH_EVENT"], seen["RACKBENCH_RUN"]) == ("stalled", "night")


@pytest.mark.parametrize("mailer", ["sendmail", "msmtp"])
def test_mail_goes_to_whoever_was_named(tmp_path, summary, monkeypatch, mailer):
    stub = tmp_path / "bin" / mailer
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\n{{ echo "$@"; cat; }} >"{tmp_path}/mail"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    assert call("mail", tmp_path, summary, RACKBENCH_MAIL_TO="me@lab.example") == ""
    arguments, *mail = (tmp_path / "mail").read_text().splitlines()
    assert arguments == "-- me@lab.example"
    assert mail[:2] == ["To: me@lab.example", "Subject: [rackbench] night: stalled"]
    body = "\n".join(mail[mail.index("") + 1 :])
    assert body.startswith("night stalled: 30 of 36 trials sealed; worker3 is çut off")
    assert json.loads(body[body.index("{") :])["remaining"] == 6


def test_mail_to_nobody_is_told(tmp_path, summary):
    said = call("mail", tmp_path, summary)
    assert "RACKBENCH_MAIL_TO: is not set; write the address of a recipient into" in said


def test_mail_without_a_mailer_says_what_to_install(tmp_path, summary, monkeypatch):
    script = (HOOKS / "mail").read_text(encoding="utf-8")
    hook = tmp_path / "mail"
    hook.write_text(script.replace("PATH=$PATH:/usr/sbin:/usr/lib", ""))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    said = Hook(f"/bin/sh {hook}", tmp_path, {"RACKBENCH_MAIL_TO": "me@lab.example"}).call(summary)
    assert said.endswith(
        "1: neither sendmail nor msmtp is installed; install msmtp-mta and configure it"
    )


def test_a_chat_gets_one_line(tmp_path, summary, chat):
    address, posted = chat
    assert call("webhook", tmp_path, summary, RACKBENCH_WEBHOOK_URL=address) == ""
    assert posted == [{"text": "night stalled: 30 of 36 trials sealed; worker3 is çut off"}]


def test_a_chat_with_another_key(tmp_path, summary, chat):
    address, posted = chat
    environment = {"RACKBENCH_WEBHOOK_URL": address, "RACKBENCH_WEBHOOK_KEY": "content"}
    assert call("webhook", tmp_path, summary, **environment) == ""
    assert list(posted[0]) == ["content"]


@pytest.mark.parametrize(
    ("path", "part"), [("", "is not set"), ("/broken", "did not take the message")]
)
def test_a_chat_that_cannot_be_told_is_a_problem(tmp_path, summary, chat, path, part):
    address, _ = chat
    url = address + path if path else ""
    assert part in call("webhook", tmp_path, summary, RACKBENCH_WEBHOOK_URL=url)


@pytest.mark.parametrize("address", ["https://chat/SECRET abc", "https://chat:SECRET/", "http://["])
def test_an_address_that_is_none_is_a_problem_and_stays_secret(tmp_path, summary, address):
    told = call("webhook", tmp_path, summary, RACKBENCH_WEBHOOK_URL=address)
    assert told.endswith(
        "1: RACKBENCH_WEBHOOK_URL is not a web address; take it from the chat's settings"
    )


def test_a_chat_that_closes_the_connection_is_a_problem(tmp_path, summary):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close():
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)

        thread = threading.Thread(target=close)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/SECRET"
        told = call("webhook", tmp_path, summary, RACKBENCH_WEBHOOK_URL=url)
        thread.join()
    assert "1: the webhook did not take the message: " in told
    assert "SECRET" not in told
