"""Opens and closes connections in a network of its own with few ports; prints what became of them.

It is run by ``test_ports.py`` in a network namespace, and sets the ports as the role does.
"""

import json
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from loading import load

ADDRESS = "10.99.0.1"  # not one of the loopback's own, whose ports the kernel reuses by default
PORTS = 2000
CONNECTIONS = 1500
"""For two rounds there are not enough ports."""

KEPT_S = 1.1
"""The kernel reuses a port no earlier than a second after its connection was closed."""

LEFT_ALONE = {
    "governor": "",
    "turbo": None,
    "huge_pages": "",
    "swap": None,
    "units_off": [],
    "hold": [],
    "max_cstate_us": None,
    "irq_cpus": "",
    "port_range": [],
    "tcp_tw_reuse": None,
    "jvm_cpus": None,
    "jvm_numa": None,
    "hostname": "",
}
ASKED = LEFT_ALONE | {"tcp_tw_reuse": 1}


def refused(server: socket.socket) -> int:
    """Return how many connections found no port; the client closes each of them first."""
    without = 0
    for _ in range(CONNECTIONS):
        with socket.socket() as client:
            try:
                client.connect((ADDRESS, server.getsockname()[1]))
            except OSError:
                without += 1
                continue
            accepted, _ = server.accept()
            client.shutdown(socket.SHUT_WR)
            accepted.recv(1)
            accepted.close()
    time.sleep(KEPT_S)
    return without


def main() -> None:
    """Make two rounds without the settings and one with them, then put them back."""
    tuning = load("roles/baseline/library/tuning.py")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    kernel = Path("/proc/sys/net/ipv4")
    (kernel / "ip_local_port_range").write_text(f"20000 {20000 + PORTS - 1}")
    with tempfile.TemporaryDirectory() as root, socket.create_server((ADDRESS, 7000)) as server:
        (Path(root) / "proc").symlink_to("/proc")
        before = [refused(server), refused(server)]
        tuning.tune(Path(root), ASKED, check=False)
        narrow = refused(server)
        tuning.tune(Path(root), ASKED | {"port_range": [10240, 65535]}, check=False)
        again = tuning.tune(Path(root), ASKED | {"port_range": [10240, 65535]}, check=False)
        wide = (kernel / "ip_local_port_range").read_text().split()
        tuning.reset(Path(root), check=False)
    names = ("ip_local_port_range", "tcp_tw_reuse")
    print(
        json.dumps(
            {
                "before": before,
                "reused": narrow,
                "again": again[0],
                "wide": wide,
                "reset": [(kernel / name).read_text().split() for name in names],
            }
        )
    )


if __name__ == "__main__":
    main()
