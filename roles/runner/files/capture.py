"""Keeps the headers of the first packets that the client exchanges with the services of a call.

systemd starts this program with the listening socket as its file descriptor 3, for one connection.
The program sends the caller a line when packets are kept from now on. The caller ends its side when
the call is over, and gets a line about the packets and a pcap file. The caller cannot choose the
packets: they are those of TCP over IPv4 to and from the ports in a file of the node's own. The
kernel copies them into memory shared with this process, which reads them only after the call.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LISTENING = 3
MOST_PACKETS = 100
MOST_S = 600.0
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 263, 5, 6, 10
TPACKET_V2 = 1
ALL_PROTOCOLS, IPV4, TCP = 3, 0x0800, 6
LOOPBACK = 772
NAME_OF_INTERFACE, MTU_OF_INTERFACE = 0x8910, 0x8921
# A frame has 80 bytes of the kernel and the longest headers: 60 bytes of IP, 60 of TCP.
FRAME_BYTES, FRAMES, BLOCK_BYTES = 256, 8192, 1 << 16
# tpacket2_hdr: status, len, snaplen, mac, net, sec, nsec; at 32 sockaddr_ll: family, protocol,
# interface, kind of hardware.
HEADER, ADDRESS, ADDRESS_AT = struct.Struct("=IIIHHII"), struct.Struct("=2xHiH"), 32
FILLED = 1
# In nanoseconds, each packet from its IP header on.
PCAP, PCAP_PACKET = struct.Struct("=IHHiIII"), struct.Struct("=IIII")
PCAP_MAGIC, LINKTYPE_RAW, SNAP_BYTES = 0xA1B23C4D, 101, 120


@dataclass(frozen=True)
class Packet:
    """The headers of a packet, its time, and its length from the IP header on."""

    seconds: int
    nanoseconds: int
    interface: int
    length: int
    headers: bytes


def main() -> None:
    """Serve one connection."""
    ports = json.loads(Path(sys.argv[1]).read_text())["ports"]
    with socket.socket(fileno=LISTENING) as listener:
        connection, _ = listener.accept()
    with connection, suppress(ConnectionError):  # of a caller that was killed
        connection.settimeout(MOST_S)
        connection.sendall(capture(connection, ports))


def capture(connection: socket.socket, ports: list[int]) -> bytes:
    """Keep packets until the caller ends its side; return the line about them and the file."""
    try:
        tap, ring = opened()
    except OSError as error:
        return line(missing=f"the kernel refuses a packet socket ({error.strerror})")
    with tap, ring:
        connection.sendall(line(missing=""))
        try:
            connection.recv(1)
        except TimeoutError:
            return line(missing=f"the call took longer than {MOST_S:.0f} s")
        _, dropped = struct.unpack("=II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        packets = on_one_interface(list(kept(ring, frozenset(ports))))
        most_bytes = mtu(tap, packets[0].interface) if packets else None
    about = line(
        missing="",
        packets=min(len(packets), MOST_PACKETS),
        seen=len(packets),
        dropped=dropped,
        mtu=most_bytes,
        ports=ports,
    )
    return about + pcap(packets[:MOST_PACKETS])


def opened() -> tuple[socket.socket, mmap.mmap]:
    """Return a socket for the packets of all interfaces, and the ring for their copies."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))
    try:
        tap.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        size = FRAME_BYTES * FRAMES
        request = struct.pack("=IIII", BLOCK_BYTES, size // BLOCK_BYTES, FRAME_BYTES, FRAMES)
        tap.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
        ring = mmap.mmap(tap.fileno(), size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError:
        tap.close()
        raise
    return tap, ring


def kept(ring: mmap.mmap, ports: frozenset[int]) -> Iterator[Packet]:
    """Yield the packets in the ring to or from one of these ports."""
    for start in range(0, FRAME_BYTES * FRAMES, FRAME_BYTES):
        status, length, held, _, net, seconds, nanoseconds = HEADER.unpack_from(ring, start)
        if not status & FILLED:
            return
        protocol, interface, hardware = ADDRESS.unpack_from(ring, start + ADDRESS_AT)
        if socket.ntohs(protocol) == IPV4 and hardware != LOOPBACK:
            headers = headers_of(ring[start + net : start + net + held], ports)
            if headers:
                yield Packet(seconds, nanoseconds, interface, length, headers)


def headers_of(packet: bytes, ports: frozenset[int]) -> bytes:
    """Return the headers of a packet of TCP over IPv4 with one of these ports; else nothing."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != TCP:
        return b""
    tcp = 4 * (packet[0] & 15)
    end = tcp + 4 * (packet[tcp + 12] >> 4) if tcp + 20 <= len(packet) else 0
    if not tcp + 20 <= end <= len(packet):
        return b""
    source, target = struct.unpack_from("!HH", packet, tcp)
    return packet[:end] if (source in ports) != (target in ports) else b""


def on_one_interface(packets: list[Packet]) -> list[Packet]:
    """Return the packets of the first one's interface, as a bond and its cable both show each."""
    return [packet for packet in packets if packet.interface == packets[0].interface]


def mtu(tap: socket.socket, interface: int) -> int | None:
    """Return the largest packet size of an interface in bytes; None if it is gone."""
    try:
        name = fcntl.ioctl(tap, NAME_OF_INTERFACE, struct.pack("=16si20x", b"", interface))[:16]
        about = fcntl.ioctl(tap, MTU_OF_INTERFACE, struct.pack("=16s24x", name))
    except OSError:
        return None
    return int(struct.unpack_from("=i", about, 16)[0])


def pcap(packets: list[Packet]) -> bytes:
    """Return a pcap file of the packets' headers."""
    parts = [PCAP.pack(PCAP_MAGIC, 2, 4, 0, 0, SNAP_BYTES, LINKTYPE_RAW)]
    for packet in packets:
        length, held = packet.length, len(packet.headers)
        parts += [
            PCAP_PACKET.pack(packet.seconds, packet.nanoseconds, held, length),
            packet.headers,
        ]
    return b"".join(parts)


def line(**about: object) -> bytes:
    """Return a line of JSON."""
    return json.dumps(about).encode() + b"\n"


if __name__ == "__main__":
    main()
