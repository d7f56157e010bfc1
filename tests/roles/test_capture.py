"""What the unit that keeps packets takes from the kernel, and what it leaves out."""

import json
import socket
import struct
import threading
from pathlib import Path

import pytest
from loading import load

from collect.costs.packets import read_packets

SLL, IPV4, LOOPBACK, ETHERNET = 32, 0x0800, 772, 1


@pytest.fixture(scope="module")
def capture():
    return load("roles/runner/files/capture.py")


def segment(source=40000, target=8080, payload=b"secret", protocol=6, options=b"\x01" * 12):
    """A TCP segment over IPv4, with its payload."""
    size = 20 + len(options)
    total = 20 + size + len(payload)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, total, 0, 0, 64, protocol, 0, bytes(4), bytes(4))
    tcp = struct.pack("!HHIIBBHHH", source, target, 1, 0, size // 4 << 4, 16, 0, 0, 0)
    return ip + tcp + options + payload


def ring(capture, *packets):
    """The ring as the kernel fills it: (packet, interface, kind of hardware, protocol) each."""
    frames = bytearray(capture.FRAME_BYTES * capture.FRAMES)
    for place, (packet, interface, hardware, protocol) in enumerate(packets):
        start = place * capture.FRAME_BYTES
        held = packet[: capture.FRAME_BYTES - 80]
        header = (1, len(packet), len(held), 80, 80, 1_700_000_000 + place, 9)
        struct.pack_into("=IIIHHII", frames, start, *header)
        address = (17, socket.htons(protocol), interface, hardware)
        struct.pack_into("=HHiH", frames, start + SLL, *address)
        frames[start + 80 : start + 80 + len(held)] = held
    return frames


def test_headers_of_the_ports_are_kept_and_not_a_byte_of_payload(capture):
    wanted = segment(payload=b"secret" * 100)
    answer = segment(8080, 40000, options=b"")
    frames = ring(
        capture,
        (wanted, 2, ETHERNET, IPV4),
        (segment(target=22), 2, ETHERNET, IPV4),
        (segment(protocol=17), 2, ETHERNET, IPV4),
        (segment(), 1, LOOPBACK, IPV4),
        (segment(), 2, ETHERNET, 0x86DD),
        (segment(8080, 7676), 2, ETHERNET, IPV4),
        (b"\x45\0", 2, ETHERNET, IPV4),
        (answer, 2, ETHERNET, IPV4),
    )
    packets = list(capture.kept(frames, frozenset({8080, 7676})))
    assert [packet.headers for packet in packets] == [wanted[:52], answer[:40]]
    assert [packet.length for packet in packets] == [len(wanted), len(answer)]
    content = capture.pcap(packets)
    assert b"secret" not in content
    assert [packet.payload for packet in read_packets(content)] == [600, 6]
    assert read_packets(content)[1].at_ns == (1_700_000_000 + 7) * 10**9 + 9


def test_packets_that_pass_two_interfaces_are_kept_once(capture):
    both = [(segment(), number, ETHERNET, IPV4) for number in (4, 3, 4, 3)]
    packets = list(capture.kept(ring(capture, *both), frozenset({8080})))
    assert [packet.interface for packet in capture.on_one_interface(packets)] == [4, 4]
    assert capture.on_one_interface([]) == []


def test_a_kernel_that_refuses_is_an_answer_with_the_reason(capture, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(capture.socket, "socket", refuse)
    answer = json.loads(capture.capture(None, [8080]))
    assert answer == {"missing": "the kernel refuses a packet socket (Operation not permitted)"}


def test_a_caller_that_is_killed_ends_it_well(capture, monkeypatch, tmp_path):
    (tmp_path / "ports").write_text('{"ports": [8080]}')
    place = str(tmp_path / "socket")
    monkeypatch.setattr(capture.sys, "argv", ["capture.py", str(tmp_path / "ports")])
    monkeypatch.setattr(capture, "opened", lambda: (_ for _ in ()).throw(OSError(1, "refused")))
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as caller:
        listening.bind(place)
        listening.listen()
        monkeypatch.setattr(capture, "LISTENING", listening.detach())
        caller.connect(place)
        caller.close()
        capture.main()


def test_the_first_packets_are_kept_when_the_caller_has_ended_its_side(capture, monkeypatch):
    loopback = socket.if_nametoindex("lo")
    frames = ring(capture, *[(segment(), loopback, ETHERNET, IPV4)] * 150)
    statistics = struct.pack("=II", 150, 3)

    class Tap(socket.socket):  # a real one, of which the kernel tells what an interface is
        def getsockopt(self, *_):
            return statistics

    class Ring(bytearray):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(capture, "opened", lambda: (Tap(), Ring(frames)))
    here, there = socket.socketpair()
    found = []
    serving = threading.Thread(target=lambda: found.append(capture.capture(there, [8080])))
    with here, there:
        serving.start()
        assert json.loads(here.recv(100)) == {"missing": ""}
        assert serving.is_alive()
        here.shutdown(socket.SHUT_WR)
        serving.join(5)
    line, _, content = found[0].partition(b"\n")
    about = json.loads(line)
    assert (about["packets"], about["seen"], about["dropped"]) == (100, 150, 3)
    assert about["mtu"] == int(Path("/sys/class/net/lo/mtu").read_text())
    assert len(read_packets(content)) == 100
