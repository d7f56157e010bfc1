"""Measures the kit itself, as ratios in one run, and writes docs/benchmarks.md.

Makes a lab of its own and removes it. Run it on an otherwise idle machine: `make bench`. Given
names of sections it measures those alone and prints their rows without writing the page.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import costs
import observers
import open_loop
import provisioning
import reference_tools
import restarts
import rivals
import trials
from bench_lab import ROOT, BenchLab, bench_lab
from row import Row

PAGE = ROOT / "docs/benchmarks.md"


SECTIONS: dict[str, Callable[[BenchLab], list[Row]]] = {
    "provisioning": provisioning.rows,
    "trials": trials.rows,
    "restarts": restarts.rows,
    "costs": costs.rows,
    "observers": observers.rows,
    "open-loop": open_loop.rows,
    "rivals": rivals.rows,
    "reference": reference_tools.rows,
}


def main() -> int:
    """Run the sections and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    asked = parser.parse_args().sections
    if unknown := set(asked) - set(SECTIONS):
        parser.error(f"no section {', '.join(unknown)}; choose of {', '.join(SECTIONS)}")
    chosen = [name for name in SECTIONS if name in asked or not asked]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with bench_lab() as lab:
        if "provisioning" not in chosen:
            lab.play("site")
        rows: list[Row] = []
        for name in chosen:
            found = SECTIONS[name](lab)
            print("\n".join(row.line() for row in found), flush=True)
            rows += found
    if not asked:
        PAGE.write_text(render(rows))
        print(f"written to {PAGE.relative_to(ROOT)}")
    return 0


def render(rows: list[Row]) -> str:
    """The page, with the machine and the date."""
    model = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    lines = "\n".join(row.line() for row in rows)
    fast, slow = (link.mbit for link in reference_tools.LINKS)
    return f"""# Benchmarks of the kit itself

Written by `make bench`. Times are of one run on one machine; compare the ratios.

The cost of a trial outside its JVM is the wall time of the runner minus that of the JVMs,
divided by the number of trials; the other tools run `true` on the node instead. For `http` only
the time counts during which all threads make calls. wrk uses one thread for each connection, as
the others do, and corrects its percentiles for coordinated omission; *corrected* means that ours
are corrected in the same way. In a closed loop the mean is threads / rate. A p50 far below the
mean shows that some calls wait much longer than others for one of the cores that client and
server share here. They wait inside the calls, not between them, as the last line of each group
shows.

*JMS request and reply*, *SOAP call* and *its envelope, a ready text* compare the kit's clients
with JMeter and with Gatling's JMS protocol: the same broker, queue, worker and number of bytes, or
the same envelope; the same heap and collector; alternating runs, each of which warms up for
{reference_tools.WARM_UP_S} s and is measured for {reference_tools.SECONDS} s. The measured values
are medians of the runs.

- Over {fast} Mbit/s, the documents' link, these calls wait for the cores, which the tool shares
  here with broker and servers: what it does beside its calls slows them down. Over {slow} Mbit/s
  they wait for the link: what differs there is what the tools' clocks and messages add.
- *JMeter* is its own samplers. JMS Point-to-Point sends a text, the others bytes, and uses the
  broker's older library, for `javax.jms`. The HTTP sampler posts an envelope that is ready and
  parses nothing, as our *ready text*, which uses the connection of our SOAP calls without the
  SOAP stack.
- *JMeter, our call* is its Java sampler, which makes the same call as ours by the same libraries,
  in JMeter's threads, loop and clock. What the SOAP stack costs is the row against *JMeter, a ready
  text*.
- *Gatling* has a connection for each user, as the others for each thread. By default its users
  share one: *Gatling, one connection*.
- The clock of Gatling stops when a reply arrives, and the next request does not wait until the
  reply is acknowledged. Our clock and JMeter's stop after it, as in the studies. So what compares
  with Gatling is our *JMS request and reply, acknowledged some at a time*.
- Aims stand beside the rival that makes most calls, among those with as many connections, and
  beside each that does the same as ours.
- The rivals know whole milliseconds, so our times are rounded likewise before medians are compared;
  below 2 ms look at the mean.
- Threads that are inside calls for less of their time load the servers less, so their calls are
  shorter: compare medians and means where that share is alike. *threads / rate* is the time of a
  call and of what a tool does until the next, wherever its clock stops.
- Many threads over JMS are served unevenly: the median of their calls jumps from run to run, even
  of one tool. Compare their means.

*With samples*, *with marks* and *with observers* are pairs of trials, one with and one without,
which is first in turns; trials without observers have the constant `observe: none`. A ratio with an
interval is the geometric mean of the ratios inside the pairs or rounds, with its 95 % interval. An
aim is *likely* met or missed where a bound of it lies inside the interval.

- Date: {datetime.datetime.now(datetime.UTC).date()}
- Machine: {os.cpu_count()} cores, {model}, Linux {platform.release()}

| what | measured | compared with | measured | ratio | target |
|---|---|---|---|---|---|
{lines}
"""


if __name__ == "__main__":
    sys.exit(main())
