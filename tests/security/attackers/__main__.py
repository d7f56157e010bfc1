"""Runs on a node of the lab: `python3 attackers WHAT ADDRESS …`; prints one JSON object."""

from __future__ import annotations

import ipaddress
import json
import sys

import crowd
import fuzz
import parts
import wire


def main(what: str, address: str, *more: str) -> object:
    if not ipaddress.ip_address(address).is_private:
        sys.exit(f"{address} is no address of a lab")
    if what in parts.FAMILIES:
        requests = parts.FAMILIES[what](address)
        return {
            name: wire.ask(address, 8080, request).plain() for name, request in requests.items()
        }
    if what == "http":
        return [
            wire.ask(
                address, 8080, wire.Request(path, [body.encode()], length=len(body), method=method)
            ).plain()
            for method, path, body in json.loads(sys.stdin.read())
        ]
    if what == "raw":
        port, message = int(more[0]), bytes.fromhex(more[1])
        return fuzz.say(address, port, message)
    if what == "fuzz":
        service, seconds, seed = more
        return fuzz.fuzz(service, address, float(seconds), int(seed))
    service, count, seconds = more
    crowds = {"idle": crowd.idle, "slow": crowd.slow, "slow-heads": crowd.slow_heads}
    return crowds[what](service, address, int(count), float(seconds))


print(json.dumps(main(*sys.argv[1:])))
