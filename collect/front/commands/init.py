"""`rackbench init`: a project directory outside any checkout."""

import argparse
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.errors import InputError
from collect.front.ask import filled
from collect.front.inventory import UNFILLED
from collect.front.kit import NO_CHECKOUT, find_checkout, is_checkout
from collect.front.process import state_directory
from collect.project import MARK, find_project
from collect.run.study import load_study

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]*")
_LONGEST_VIRTUAL = 24
_WORD = re.compile(r"[^\s'\"{}#]+")


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "init",
        run,
        "make a project directory",
        """\
Make a project directory outside any checkout: an inventory with hosts.yml and lab.yml,
studies/ for studies of your own, and results/. The directory remembers the checkout whose
playbooks it uses. Commands that run inside it find all of these. On a terminal, the command
asks for the addresses, the account and the key that no option gives. Without a terminal it
writes FILL-IN for each missing address into hosts.yml. One machine may be client, broker and
worker at once.

examples:
  rackbench init ~/mylab
  rackbench init ~/mylab --client 192.168.1.11 --broker 192.168.1.12 \\
      --worker 192.168.1.13 --worker 192.168.1.14 --user debian --key ~/.ssh/id_ed25519
  rackbench init ~/trial --virtual      # the lab on this machine""",
    )
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="the new directory")
    parser.add_argument("--virtual", action="store_true", help="use the virtual lab")
    parser.add_argument("--client", metavar="ADDRESS", help="the machine that makes the calls")
    parser.add_argument("--broker", metavar="ADDRESS", help="the machine of the message broker")
    parser.add_argument(
        "--worker",
        dest="workers",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="a machine that serves the calls; may be repeated",
    )
    parser.add_argument("--user", help="an account that may use sudo without a password there")
    parser.add_argument("--key", metavar="FILE", help="the private SSH key that it accepts")
    parser.add_argument(
        "--checkout",
        type=Path,
        help="the clone of rackbench to use (default: that of this program)",
    )
    parser.add_argument("--verbose", action="store_true", help="print each file that is written")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    target: Path = options.directory.parent.resolve() / options.directory.name
    _demand_free(target)
    machines = (options.client, options.broker, options.workers, options.user, options.key)
    if options.virtual and any(machines):
        raise InputError(
            "--virtual makes its own machines; omit --client, --broker, --worker, --user and --key"
        )
    if options.virtual and len(target.name) > _LONGEST_VIRTUAL:
        raise InputError(
            f"{target.name!r} has {len(target.name)} characters, but the name of a virtual lab has "
            f"at most {_LONGEST_VIRTUAL}; choose a shorter one"
        )
    checkout = _checkout(options.checkout)
    if options.virtual:
        hosts = (checkout / "inventory/virtual/hosts.yml").read_text(encoding="utf-8")
        lab = (checkout / "inventory/virtual/group_vars/all/lab.yml").read_text(encoding="utf-8")
    else:
        hosts = _hosts(options)
        lab = (checkout / "inventory/example/group_vars/all/lab.yml").read_text(encoding="utf-8")
    # The name keeps its secrets, keys and machines apart from those of other labs.
    named = f"rackbench_lab: {json.dumps(target.name)}"  # without quotes, YAML reads on as true
    lab = re.sub(r"^rackbench_lab: .*$", named, lab, flags=re.MULTILINE)
    files = {
        MARK: f"# The clone of rackbench whose playbooks this project uses.\n"
        f"checkout: {json.dumps(str(checkout))}\n",
        "inventory/hosts.yml": hosts,
        "inventory/group_vars/all/lab.yml": lab,
    }
    _write(target, files)
    if options.verbose:
        print("\n".join(str(target / name) for name in files))
    needs_fit = not options.virtual and _needs_fit(checkout, hosts)
    _say_next(target, options, is_filled=UNFILLED not in hosts, needs_fit=needs_fit)
    _warn_of_namesake(target.name)
    return GOOD


def _demand_free(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise InputError(f"{target}: already exists; name a new directory")
    if not _NAME.fullmatch(target.name):
        raise InputError(
            f"{target.name!r} cannot name a lab; begin with a letter and use lower-case letters, "
            "digits and hyphens only"
        )
    for parent in target.parents:
        if is_checkout(parent) or (parent / MARK).is_file():
            raise InputError(
                f"{target}: lies inside the {'checkout' if is_checkout(parent) else 'project'} "
                f"{parent}; name a directory outside it"
            )


def _checkout(given: Path | None) -> Path:
    found = given.absolute() if given else find_checkout(find_project())
    if found is None:
        raise InputError(f"{NO_CHECKOUT}, or name the clone with --checkout")
    if not is_checkout(found):
        raise InputError(f"{found}: is not a clone of rackbench; name one with --checkout")
    return found


def _hosts(options: argparse.Namespace) -> str:
    workers = " ".join(options.workers)
    for given, demand in (
        (options.client, _demand_address),
        (options.broker, _demand_address),
        (workers, _demand_workers),
        (options.user, _demand_word),
        (options.key, _demand_word),
    ):
        if given:
            demand(given)  # before the first question
    question = "Address or name of the client, which makes the calls"
    client = _answer(options.client, question, _demand_address)
    usual = client if sys.stdin.isatty() and client != UNFILLED else ""
    question = "Address or name of the broker's machine"
    broker = _answer(options.broker, question, _demand_address, usual)
    question = "Addresses of the workers, with spaces between them"
    named = _names(_answer(workers, question, _demand_workers))
    question = "Account with sudo on these machines"
    user = _answer(options.user, question, _demand_word, "debian")
    question = "Private SSH key that it accepts"
    key = _answer(options.key, question, _demand_word, "~/.ssh/id_ed25519")
    if not key.startswith("~"):
        key = str(Path(key).absolute())  # playbooks run elsewhere
    return hosts_text(client, broker, named if UNFILLED not in named else [UNFILLED] * 3, user, key)


def _answer(
    given: str | None, question: str, demand: Callable[[str], None], usual: str = ""
) -> str:
    """Return what an option gave, or what the person answers, or the usual; else FILL-IN.

    The question is repeated once after an answer that `demand` refuses.
    """
    if given or not sys.stdin.isatty():
        return given or usual or UNFILLED
    prompt = f"{question}{f' [{usual}]' if usual else ''}: "
    answer = _typed(prompt) or usual or UNFILLED
    try:
        demand(answer)
    except InputError as error:
        print(error)
        answer = _typed(prompt) or usual or UNFILLED
        demand(answer)
    return answer


def _demand_address(text: str) -> None:
    if not _ADDRESS.fullmatch(text):
        raise InputError(f"{text!r} is neither an address nor the name of a machine; correct it")


def _demand_workers(text: str) -> None:
    names = _names(text)
    for name in names or [text]:
        _demand_address(name)
    if len(set(names)) < len(names):
        raise InputError(f"a worker is named twice in {' '.join(names)}; name each once")


def _demand_word(text: str) -> None:
    if not _WORD.fullmatch(text):
        raise InputError(f"{text!r} contains a space, quote, brace or #; give one plain word")


def _names(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _typed(question: str) -> str:
    try:
        return input(question).strip()
    except KeyboardInterrupt:
        print("\nnothing was made")
        raise
    except EOFError:
        raise InputError(
            "the input ended before the last answer, so nothing was made; run the command again"
        ) from None


def hosts_text(client: str, broker: str, workers: Sequence[str], user: str, key: str) -> str:
    """Return hosts.yml; a machine that has several parts has one name in several groups."""
    names: dict[str, str] = {}

    def group(role: str, addresses: Sequence[str]) -> str:
        lines = [f"        {role}:", "          hosts:"]
        for number, address in enumerate(addresses, 1):
            part = f"worker{number}" if role == "workers" else f"{role}1"
            name = part if address == UNFILLED else names.setdefault(address, part)
            lines.append(f"            {name}:")
            lines.append(f"              ansible_host: {json.dumps(address)}")
        return "\n".join(lines)

    return f"""\
# The machines. Correct them, then run: rackbench doctor
all:
  children:
    control:
      hosts:
        localhost:
          ansible_connection: local
          ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
    nodes:
      vars:
        # An account on every machine that may use sudo without a password, and the key it accepts.
        ansible_user: {json.dumps(user)}
        ansible_port: 22
        ansible_ssh_private_key_file: {json.dumps(key)}
        ansible_become: true
        # Offer only that key, because sshd ends a connection after it has refused a few keys of an
        # agent. Behind a jump host, add -o ProxyJump=me@gateway.example.org
        ansible_ssh_common_args: -o IdentitiesOnly=yes
      children:
        # An address, or a name that this machine can look up. Where SSH goes over another network
        # than the bench, add node_address: with the IPv4 address on the bench's network.
{group("client", [client])}
{group("broker", [broker])}
        # Worker k of a study is the k-th one here.
{group("workers", workers)}
"""


def _write(target: Path, files: dict[str, str]) -> None:
    """Write the directory whole or not at all."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        for name, text in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name in ("studies", "results"):
            (part / name).mkdir()
        part.rename(target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _needs_fit(checkout: Path, hosts: str) -> bool:
    """Return whether the first sweep needs more workers than hosts.yml has."""
    groups = yaml.safe_load(hosts)["all"]["children"]["nodes"]["children"]
    workers = len(groups["workers"]["hosts"])
    try:
        load_study(checkout / "playbooks/studies/sort.yml").profile("demo", workers)
    except InputError:
        return True
    return False


def _warn_of_namesake(name: str) -> None:
    """Say so if this account has the keys or passwords of a lab with this name already."""
    kept = state_directory() / name
    if any((kept / part).exists() for part in ("secrets", "ssh")):
        note = (
            f"{kept} has the keys and passwords of a lab with the same name, and this project will "
            "use them. If that is another lab, first write another rackbench_lab into "
            "inventory/group_vars/all/lab.yml."
        )
        print(f"\n{filled(note)}")


def _say_next(
    target: Path, options: argparse.Namespace, *, is_filled: bool, needs_fit: bool
) -> None:
    print(f"Made the project directory {target}. Next steps:\n")
    print(f"  cd {shlex.quote(str(target))}")
    if not is_filled:
        print(f"  ${{EDITOR:-nano}} inventory/hosts.yml   # addresses, where it says {UNFILLED}")
    program = options.program
    if "/" in program:
        program = shlex.quote(str(Path(program).absolute()))  # they run in the new directory
    reached = (
        ("trust", "add the machines' SSH host keys to known_hosts"),
        ("doctor", "again: now it can log in to the machines"),
    )
    booted = (("lab up", "boot the virtual machines"),)
    sweep = ("run sort", "sweep the study sort with its profile demo")
    if needs_fit:
        sweep = ("run sort --fit", "sweep sort; --fit skips levels that need more workers")
    for words, purpose in (
        ("doctor", "check this machine before anything starts"),
        *(booted if options.virtual else reached),
        ("site", "provision the machines"),
        sweep,
    ):
        print(f"  {f'{program} {words}':<32} # {purpose}")
