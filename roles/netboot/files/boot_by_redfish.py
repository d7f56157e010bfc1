"""Makes a machine boot from the network once, and starts it, by its management controller.

    boot_by_redfish.py URL UEFI|Legacy

Standard input is curl's configuration with the controller's account. The program reads the system
first: some controllers accept no change without its ETag as If-Match, and some none without the
boot mode, which those report. It ends with an error and its reason if the controller does not obey.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

ANSWER_BYTES = 65_536
MODE = "BootSourceOverrideMode"
CURL = ("curl", "--silent", "--show-error", "--fail", "--config", "-")
# After the answer, on a line of its own.
ITS_TAG = ("--write-out", "\n%header{etag}")


class ControllerError(Exception):
    """The controller does not obey; the text has the reason."""


class Controller:
    """A management controller, used by one account."""

    def __init__(self, config: str) -> None:
        """Take curl's configuration with the account and the trust in the controller."""
        self._config = config.encode()

    def ask(
        self, method: str, url: str, body: dict[str, Any] | None = None, tag: str = ""
    ) -> tuple[dict[str, Any], str]:
        """Return the answer and its ETag."""
        argv = [*CURL, *ITS_TAG, "--request", method]
        argv += ["--header", f"If-Match: {tag}"] if tag else []
        if body is not None:
            argv += ["--header", "Content-Type: application/json", "--data", json.dumps(body)]
        text, _, own_tag = self._run([*argv, url]).rpartition("\n")
        try:
            answer = json.loads(text) if text.strip() or method == "GET" else {}
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ControllerError(f"{method}: an answer that is not Redfish's: {text[:80]}")
        return answer, own_tag

    def _run(self, argv: list[str]) -> str:
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe) as curl:
            assert curl.stdin and curl.stdout and curl.stderr  # noqa: S101
            curl.stdin.write(self._config)
            curl.stdin.close()
            answer = curl.stdout.read(ANSWER_BYTES)
            if len(answer) == ANSWER_BYTES:
                curl.kill()
                raise ControllerError("an answer without end")
            said = curl.stderr.read().decode(errors="replace").strip()
        if curl.returncode:
            raise ControllerError(said)
        return answer.decode(errors="replace")


def boot_of(system: dict[str, Any], mode: str) -> dict[str, str]:
    """Return the new Boot of the system, with the mode if the controller reports one."""
    shown = system.get("Boot") or {}
    modes = shown.get(f"{MODE}@Redfish.AllowableValues") or [mode]
    if mode not in modes:
        offered = " or ".join(map(str, modes))
        raise ControllerError(f"it boots by {offered} and not by {mode}; correct netboot_uefi")
    wanted = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
    return wanted | ({MODE: mode} if any(name.startswith(MODE) for name in shown) else {})


def boot(controller: Controller, url: str, mode: str) -> None:
    """Set the next boot, and start the machine.

    A machine that is off cannot be reset, and one that is on cannot be switched on, so one of the
    two must succeed.
    """
    system, tag = controller.ask("GET", url)
    wanted = {"Boot": boot_of(system, mode)}
    controller.ask("PATCH", url, wanted, tag or system.get("@odata.etag", ""))
    failures = []
    for kind in ("On", "ForceRestart"):
        try:
            controller.ask("POST", f"{url}/Actions/ComputerSystem.Reset", {"ResetType": kind})
        except ControllerError as error:
            failures.append(error)
    if len(failures) == 2:
        raise failures[-1]


if __name__ == "__main__":
    try:
        boot(Controller(sys.stdin.read()), *sys.argv[1:3])
    except ControllerError as error:
        sys.exit(str(error))
