"""Signatures by the SSH keys that people have, made and verified by ssh-keygen."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from collect.errors import InputError
from collect.printable import printable

NAMESPACE = "archive@rackbench"
"""What a signature is for; one that was made for anything else is refused."""


def sign(content: bytes, key: Path) -> bytes:
    """Return the signature of `content` by a private SSH key or its agent; raises InputError."""
    with TemporaryDirectory() as name:
        signed = Path(name) / "signed"
        signed.write_bytes(content)
        command = ["-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(signed)]
        code, _, error = _ssh_keygen(command)
        if code:
            raise InputError(
                f"{key}: cannot sign ({printable(error) or 'ssh-keygen gave no reason'}); "
                "give a private SSH key, or its public half while ssh-agent has the key"
            )
        return signed.with_name("signed.sig").read_bytes()


def signer_of(content: bytes, signature: bytes, signers: Path) -> str | None:
    """Return who of a file of allowed signers signed `content`; None when nobody of them did.

    `signers` has the format of ssh-keygen's ALLOWED SIGNERS. Raises InputError when it cannot be
    read.
    """
    try:
        signers.read_bytes()
    except OSError as error:
        raise InputError(
            f"{signers}: cannot be read ({error.strerror}); give a file with a line "
            "`NAME ssh-ed25519 KEY` for each signer"
        ) from error
    with TemporaryDirectory() as name:
        path = Path(name) / "signature"
        path.write_bytes(signature)
        common = ["-f", str(signers), "-s", str(path)]
        code, names, _ = _ssh_keygen(["-Y", "find-principals", *common])
        for principal in names.splitlines() if code == 0 else ():
            verify = ["-Y", "verify", *common, "-I", principal, "-n", NAMESPACE]
            if _ssh_keygen(verify, content)[0] == 0:
                return principal
    return None


def _ssh_keygen(arguments: Sequence[str], content: bytes | None = None) -> tuple[int, str, str]:
    """Return the exit code and what was printed; without `content` it may ask for a passphrase."""
    try:
        done = subprocess.run(
            ["ssh-keygen", *arguments], input=content, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise InputError(
            "ssh-keygen, which signs archives and verifies signatures, is not installed; "
            "install openssh-client"
        ) from error
    return (
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode("utf-8", "replace"),
    )
