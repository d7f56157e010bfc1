"""What a network card's firmware asks a DHCP server: firmware.py INTERFACE MAC ARCHITECTURE.

Prints the boot file that it is offered, or nothing when the offer names none. Runs on a node, as
root, since a host does not hear its own broadcasts. Architectures as in RFC 4578: 0 a BIOS, 7 UEFI.
"""

import socket
import struct
import sys

ANSWER_S = 10
COOKIE = 0x63825363
DISCOVER, VENDOR, ARCHITECTURE, UNDI, FILE = 53, 60, 93, 94, 67
BOOTP = struct.Struct("!4BI2H16x16s64s128sI")
NUMBER = 0x5EED


def question(mac: bytes, architecture: int) -> bytes:
    """A DHCPDISCOVER of plain PXE as one Ethernet frame, to be answered by broadcast."""
    options = {
        DISCOVER: b"\x01",
        VENDOR: f"PXEClient:Arch:{architecture:05}:UNDI:002001".encode(),
        ARCHITECTURE: architecture.to_bytes(2, "big"),
        UNDI: b"\x01\x02\x01",
    }
    fixed = BOOTP.pack(1, 1, 6, 0, NUMBER, 0, 0x8000, mac, b"", b"", COOKIE)
    listed = (bytes([code, len(value)]) + value for code, value in options.items())
    content = fixed + b"".join(listed) + b"\xff"
    datagram = struct.pack("!4H", 68, 67, 8 + len(content), 0) + content
    head = struct.pack(
        "!2B3H2BH4s4s", 69, 0, 20 + len(datagram), 0, 0, 64, 17, 0, bytes(4), b"\xff" * 4
    )
    total = sum(struct.unpack("!10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack("!H", total ^ 0xFFFF) + head[12:]
    return b"\xff" * 6 + mac + b"\x08\x00" + head + datagram


def boot_file(frame: bytes, mac: bytes) -> bytes | None:
    """The boot file of an offer for this card; None where the frame is something else."""
    content = frame[14 + 20 + 8 :]
    if len(content) < BOOTP.size or frame[23] != 17:
        return None
    kind, *_, number, _, _, card, _, file, cookie = BOOTP.unpack_from(content)
    if (kind, number, card[:6], cookie) != (2, NUMBER, mac, COOKIE):
        return None
    options = content[BOOTP.size :]
    while options and options[0] != 255:
        code, length = options[:2]
        if code == FILE:
            file = options[2 : 2 + length]
        options = options[2 + length :]
    return file.rstrip(b"\0")


def main() -> None:
    interface, mac, architecture = (
        sys.argv[1],
        bytes.fromhex(sys.argv[2].replace(":", "")),
        int(sys.argv[3]),
    )
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    wire.bind((interface, 0))
    wire.settimeout(ANSWER_S)
    wire.send(question(mac, architecture))
    while (file := boot_file(wire.recv(2000), mac)) is None:
        pass
    print(file.decode())


main()
