#!/usr/bin/python
"""Writes settings that sshd reads before all others, without locking out the control host."""

DOCUMENTATION = r"""
module: sshd_settings
short_description: Writes the settings that sshd reads first, and reloads sshd
description:
  - Refuses settings that sshd does not accept.
  - With C(seconds), new settings are tried first; the action plug-in C(probation) makes them
    permanent. Until then a bind mount covers the file, so a boot restores the old ones.
options:
  content: {description: The settings, type: str, required: true}
  seconds: {description: Time for a new connection; 0 keeps at once, type: int, default: 0}
  state:
    description: Try settings, keep those that were tried, or wait until they are rolled back.
    choices: [tried, kept, undone]
    default: tried
"""

EXAMPLES = r"""
- name: Shut sshd to passwords, unless a new connection fails
  probation:
    module: sshd_settings
    seconds: 30
    arguments:
      content: |
        PasswordAuthentication no
"""

import os
import re
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import HostError, output, run, text_of, write
from ansible.module_utils.probation import OPTIONS, OnProbation, exit_with

SETTINGS = Path("/etc/ssh/sshd_config.d/00-rackbench.conf")
UNIT = "ssh.service"
RELOAD = f"systemctl try-reload-or-restart {UNIT}"
RELOADED_S = 30
# Field of /proc/PID/stat, counted after the name: the address of the arguments, which differs
# between processes.
ARGUMENTS = 45


def program() -> str:
    """Return a value that changes each time that sshd's first process restarts; "" without one."""
    pid = run("systemctl", "show", "--property=MainPID", "--value", UNIT).strip()
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return f"{pid} {stat.rpartition(')')[2].split()[ARGUMENTS]}"


def reload() -> None:
    """Reload sshd, and wait until it has restarted with its settings."""
    before = program()
    run(*RELOAD.split())
    deadline = time.monotonic() + RELOADED_S
    while before and program() in ("", before):
        if time.monotonic() > deadline:
            raise HostError(f"{UNIT} did not restart within {RELOADED_S} s of its reload")
        time.sleep(0.02)


def host_keys() -> str:
    """Return the lines of the node's host keys, without which sshd checks no settings.

    Nothing if sshd does not report them; then it looks for keys where Debian has them.
    """
    told = output("/usr/sbin/sshd", "-T") or ""
    return "".join(f'HostKey "{path}"\n' for path in re.findall(r"^hostkey (.+)$", told, re.M))


class Settings(OnProbation):
    """The node's sshd on its way from the old settings to the new ones."""

    kind = "sshd"

    def tried(self) -> dict[str, Any]:
        """Apply the settings if they are new, and schedule their rollback."""
        text = self.params["content"].rstrip() + "\n"
        if os.path.ismount(SETTINGS):
            self.probation.clear()
        before = text_of(SETTINGS)
        changed = before != text
        answer: dict[str, Any] = {"changed": changed, "pending": False}
        if not changed:
            return answer
        answer["diff"] = {"before": before, "after": text, "before_header": str(SETTINGS)}
        run("/usr/sbin/sshd", "-t", "-f", "/dev/stdin", stdin=text + host_keys())
        if self.check:
            return answer
        if self.params["seconds"]:
            self._bind(text)
            next_step = (
                "Check the account in the inventory and the files in "
                f"{SETTINGS.parent} on the node, and run it again."
            )
            return {**answer, "pending": True, "what": "sshd", "next_step": next_step}
        write(SETTINGS, text)
        reload()
        return answer

    def _bind(self, text: str) -> None:
        self.probation.clear()
        self.new.write_text(text)
        made = "" if SETTINGS.exists() else f"rm -f {SETTINGS}; "
        # Afterwards sshd follows the file again, whether or not the mount already covers it.
        undo = f"if mountpoint -q {SETTINGS}; then umount {SETTINGS}; fi; {made}{RELOAD}"
        with self.probation.armed(self.params["seconds"], undo):
            SETTINGS.touch()
            run("mount", "--bind", str(self.new), str(SETTINGS))
            run("/usr/sbin/sshd", "-t")
            reload()

    def kept(self) -> dict[str, Any]:
        """Save the tried settings for the next boot; sshd already uses them."""
        self.probation.keep()
        text = text_of(SETTINGS)
        run("umount", str(SETTINGS))
        write(SETTINGS, text)
        self.probation.end()
        return {"changed": True}

    def undone(self) -> dict[str, Any]:
        """Wait until the old settings are restored, and check that they are."""
        self.probation.wait(self.params["seconds"])
        if os.path.ismount(SETTINGS) or text_of(SETTINGS) == text_of(self.new):
            raise HostError(f"{SETTINGS} is not as it was before")
        self.probation.end()
        return {"changed": False, "before": "sshd's previous settings"}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(
        argument_spec={"content": {"type": "str", "required": True}, **OPTIONS},
        supports_check_mode=True,
    )
    exit_with(module, Settings(module))


if __name__ == "__main__":
    main()
