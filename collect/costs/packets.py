"""What one call sent over the wire: headers of packets, which a trial seals next to its calls.

The file is a pcap (draft-ietf-opsawg-pcap) of link type RAW, in nanoseconds, each packet from its
IPv4 header to the end of its TCP header (RFC 791, RFC 9293).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from collect.run.recorded import CaptureSeal
from collect.run.trials import Trial, TrialError

CAPTURE = "capture.pcap"
MOST_PACKETS = 100
_FILE, _PACKET = struct.Struct("<IHHiIII"), struct.Struct("<IIII")
_MAGIC, _VERSION, _RAW, _LONGEST = 0xA1B23C4D, (2, 4), 101, 120
_IP, _TCP = struct.Struct("!BBHHHBBH4s4s"), struct.Struct("!HHIIBBHHH")
_NO_TCP = "is not TCP over IPv4"
_SYN, _ACK = 2, 16
_TURN = 1 << 32


class PacketsError(Exception):
    """The packets of a trial cannot be used; the message says why."""


@dataclass(frozen=True)
class Packet:
    """One packet; `at_ns` in Unix time, `headers` and `payload` in bytes.

    `sender` and `receiver` are addresses with ports. `number` is that of the first byte of the
    payload, modulo 2 to the 32nd.
    """

    at_ns: int
    sender: tuple[bytes, int]
    receiver: tuple[bytes, int]
    number: int
    flags: int
    headers: int
    payload: int


@dataclass(frozen=True)
class Wire:
    """What a call sent and received, as the client's kernel saw it.

    `connections` were opened. `round_trips` is how often an answer followed a request: the number
    of times that the direction of the packets with payload turned from client→service to
    service→client, over all connections together in the order of time. Packets without payload, as
    those that open a connection, make none. `packets` are as many as the link needs: where a kernel
    leaves it to the network card to cut a long packet or to join short ones, they are counted by
    the link's MTU. `sent` and `received` are bytes of payload, `headers` bytes of IP and TCP in
    both directions. `resent` are packets of which the kernel had sent, or received, all bytes of
    payload before. With `is_part`, there were more packets, so that each number is the least.
    """

    connections: int
    round_trips: int
    packets: int
    sent: int
    received: int
    headers: int
    resent: int
    is_part: bool = False


def prove_capture(trial: Trial) -> None:
    """Check that the packets of a trial are those that were sealed.

    A trial without them, and without the file, passes. Raises TrialError.
    """
    reason = ""
    if trial.capture is None or trial.capture.missing:
        if (trial.directory / CAPTURE).exists():
            reason = f"{CAPTURE} is there, but trial.json has no seal of it"
    else:
        try:
            wire_of(trial, trial.capture)
        except PacketsError as error:
            reason = str(error)
    if reason:
        raise TrialError(
            f"{trial.id}: {reason}; set the trial aside and sweep again to have its packets"
        )


def wire_of(trial: Trial, sealed: CaptureSeal) -> Wire:
    """Return what the call of a trial sent, from its packets, proven against their seal.

    Raises PacketsError.
    """
    try:
        content = (trial.directory / CAPTURE).read_bytes()
    except OSError as error:
        raise PacketsError(f"{CAPTURE} cannot be read ({error.strerror})") from error
    found = hashlib.sha256(content).hexdigest()
    if sealed.sha256 is None or found != sealed.sha256.lower():
        said = f"{(sealed.sha256 or 'none')[:12]}…"
        raise PacketsError(
            f"{CAPTURE} has the SHA-256 {found[:12]}…, but trial.json says {said}; "
            "it was changed after sealing"
        )
    packets = read_packets(content)
    seen = sealed.seen
    if len(packets) != sealed.packets or seen is None or seen < len(packets):
        raise PacketsError(
            f"{CAPTURE} has {len(packets)} packets, but trial.json says {sealed.packets} of {seen}"
        )
    for packet in packets:
        if (packet.sender[1] in sealed.ports) == (packet.receiver[1] in sealed.ports):
            ports = f"{packet.sender[1]} to {packet.receiver[1]}"
            raise PacketsError(f"{CAPTURE} has a packet from port {ports}, but no service has it")
    wire = measured(packets, sealed.ports, sealed.mtu)
    further = seen - len(packets)
    is_part = further > 0 or bool(sealed.dropped)
    return replace(wire, packets=wire.packets + further, is_part=is_part)


def read_packets(content: bytes) -> list[Packet]:
    """Return the packets of a pcap file, in its order; raises PacketsError."""
    if len(content) < _FILE.size:
        raise PacketsError(f"{CAPTURE} ends within its first header")
    magic, *version, _, _, longest, link = _FILE.unpack_from(content)
    if magic != _MAGIC or tuple(version) != _VERSION:
        raise PacketsError(f"{CAPTURE} is not a pcap file of version 2.4 with nanoseconds")
    if link != _RAW or longest != _LONGEST:
        raise PacketsError(
            f"{CAPTURE} has link type {link} and packets of up to {longest} bytes, not link type "
            f"{_RAW} and {_LONGEST} bytes"
        )
    packets = list(_packets(content))
    if len(packets) > MOST_PACKETS:
        raise PacketsError(f"{CAPTURE} has {len(packets)} packets; the limit is {MOST_PACKETS}")
    return packets


def _packets(content: bytes) -> Iterator[Packet]:
    start, number = _FILE.size, 0
    while start < len(content):
        number += 1
        name = f"{CAPTURE}: packet {number}"
        if start + _PACKET.size > len(content):
            raise PacketsError(f"{name} is cut short")
        seconds, nanoseconds, held, length = _PACKET.unpack_from(content, start)
        start += _PACKET.size
        if held > _LONGEST or held > length or nanoseconds >= 10**9:
            raise PacketsError(f"{name} has a header that contradicts itself")
        if start + held > len(content):
            raise PacketsError(f"{name} is cut short")
        try:
            at_ns = seconds * 10**9 + nanoseconds
            yield _packet(at_ns, content[start : start + held], length)
        except ValueError as error:
            raise PacketsError(f"{name} {error}") from error
        start += held


def _packet(at_ns: int, headers: bytes, length: int) -> Packet:
    """Read the headers of a packet of `length` bytes; raises ValueError."""
    if len(headers) < _IP.size:
        raise ValueError(_NO_TCP)
    first, _, total, _, _, _, protocol, _, sender, receiver = _IP.unpack_from(headers)
    tcp = 4 * (first & 15)
    if first >> 4 != 4 or protocol != 6 or not _IP.size <= tcp <= len(headers) - _TCP.size:
        raise ValueError(_NO_TCP)
    source, target, number, _, size, flags, _, _, _ = _TCP.unpack_from(headers, tcp)
    if len(headers) != tcp + 4 * (size >> 4):
        raise ValueError(
            f"holds {len(headers)} bytes, but its headers need {tcp + 4 * (size >> 4)}"
        )
    # A short packet is filled up on a cable; of one beyond 64 KiB, IPv4 has no length.
    length = total or length
    if length < len(headers):
        raise ValueError(f"has {length} bytes, fewer than its headers")
    payload = length - len(headers)
    return Packet(at_ns, (sender, source), (receiver, target), number, flags, len(headers), payload)


def measured(packets: Sequence[Packet], ports: frozenset[int], mtu: int | None) -> Wire:
    """Return what packets to and from these ports of services add up to."""
    pieces = [_pieces(packet, mtu) for packet in packets]
    outward = [packet.receiver[1] in ports for packet in packets]
    directions = [out for packet, out in zip(packets, outward, strict=True) if packet.payload]
    turns = pairwise(directions)
    both = list(zip(packets, outward, strict=True))
    return Wire(
        connections=sum(out and packet.flags & (_SYN | _ACK) == _SYN for packet, out in both),
        round_trips=sum(before and not after for before, after in turns),
        packets=sum(pieces),
        sent=sum(packet.payload for packet, out in both if out),
        received=sum(packet.payload for packet, out in both if not out),
        headers=sum(packet.headers * n for packet, n in zip(packets, pieces, strict=True)),
        resent=_resent(packets),
    )


def _pieces(packet: Packet, mtu: int | None) -> int:
    """Return in how many packets of a link with this MTU a packet is sent."""
    room = (mtu or 0) - packet.headers
    return max(1, -(-packet.payload // room)) if room > 0 else 1


def _resent(packets: Sequence[Packet]) -> int:
    """Return how many packets hold nothing but payload that went the same way before."""
    ends: dict[tuple[tuple[bytes, int], tuple[bytes, int]], int] = {}
    count = 0
    for packet in packets:
        way = packet.sender, packet.receiver
        if packet.flags & _SYN:
            ends.pop(way, None)  # the same ports, another connection
        if packet.payload:
            end = (packet.number + packet.payload) % _TURN
            known = ends.get(way)
            is_new = known is None or 0 < (end - known) % _TURN < _TURN // 2
            count += not is_new
            ends[way] = end if is_new or known is None else known
    return count
