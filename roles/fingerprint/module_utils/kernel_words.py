"""The words of the kernel's command line, without the names of one machine's disk or card."""

import hashlib
import re

WORDS = re.compile(r'(?:"[^"]*"|\S)+')
# Of some parameters the last word counts, so these words keep their order together.
TOGETHER = {"rw": "ro", "hugepages": "hugepagesz"}

HEX = r"[0-9A-Fa-f]"
DISK_NAMES = (
    # root=UUID=…, rd.luks.uuid=…, cryptdevice=PARTUUID=…:name, fstab=LABEL=…
    (re.compile(r"\b((?:PART)?(?:UUID|LABEL))=[^\s:,]+"), r"\1"),
    (re.compile(rf"\b{HEX}{{8}}-(?:{HEX}{{4}}-){{3}}{HEX}{{12}}\b"), "UUID"),
    (re.compile(r"/dev/disk/(by-\w+)/[^\s:,]+"), r"/dev/disk/\1"),
    (re.compile(r"/dev/mapper/[^\s:,]+"), "/dev/mapper"),
    (re.compile(r"/dev/(nvme|mmcblk|[shv]d|xvd|md|dm-)[^\s:,]*"), r"/dev/\1"),
    # A logical volume: its group often has the name of the machine.
    (re.compile(r"/dev/[\w.+-]+/[\w.+-]+"), "/dev/volume"),
    (re.compile(r"^(rd\.lvm\.(?:lv|vg))=.*"), r"\1"),
    # The loader's name of the disk: (hd0,gpt2)/vmlinuz, (lvm/rack05-root)/boot/vmlinuz
    (re.compile(r"^(BOOT_IMAGE|initrd)=\([^)]*\)"), r"\1="),
    (re.compile(r"\bZFS=[^\s,]+"), "ZFS"),
    (re.compile(r"^(resume_offset)=.*"), r"\1"),
    # A serial console at any port.
    (re.compile(r"\b(tty[A-Z]+|hvc)\d+"), r"\1"),
    (re.compile(r"^(early\w*=\w+(?:,[a-z]\w*)?),0x[0-9a-f]+"), r"\1"),
    # The machine's own identity and network card.
    (re.compile(rf"^(systemd\.machine_id)=.*|\b{HEX}{{32}}\b"), lambda m: m[1] or "ID"),
    (re.compile(rf"(?<![\w:-])(?:{HEX}{{2}}[:-]){{5,6}}{HEX}{{2}}(?![\w:-])"), "MAC"),
)
# Words that may name the machine itself.
NAMING = {"ip", "hostname", "systemd.hostname", "nfsroot"}

FIRST_PROGRAM = {"init", "rdinit"}


def kernel_words(line: str, name: str) -> dict[str, str]:
    """Return the words of a kernel's command line, sorted by parameter.

    `name` is the machine's own. A name of a disk, a volume, a serial port or the machine is
    replaced by its kind. A word that follows itself counts once. The first program and its
    arguments after `--` are not settings of the kernel and may contain secrets, so only a digest of
    them is kept, which shows whether two are alike. Words of one parameter keep their order.
    """
    kernel, dashes, program = line.partition(" -- ")
    found: dict[str, list[str]] = {}
    last: dict[str, str] = {}
    for word in WORDS.findall(kernel):
        parameter = word.partition("=")[0]
        key = TOGETHER.get(parameter, parameter)
        if last.get(key) != word:
            found.setdefault(key, []).append(neutral(word, parameter, name))
        last[key] = word
    if dashes:
        found["--"] = [_digest(program.strip())]
    return {key: " ".join(words) for key, words in found.items()}


def neutral(word: str, parameter: str, name: str) -> str:
    """Return one word without names that are unique to a machine."""
    if parameter in FIRST_PROGRAM:
        return f"{parameter}={_digest(word)}"
    for pattern, instead in DISK_NAMES:
        word = pattern.sub(instead, word)
    if parameter in NAMING and name:
        word = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "NAME", word)
    return word


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
