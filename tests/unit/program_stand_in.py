#!/usr/bin/env python3
"""Prints as wrk, vegeta or JMeter does, whichever name it has, and calls nobody.

For machines that lack them: what they are told, and where and how they say what they measured.
"""

import sys
import time
from pathlib import Path

WRK = """  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    0.50ms   3.00ms   90.00%
  10 requests in 1.00s, 1.00KB read
Requests/sec:     10.00
"""
"""The lines that the form `wrk` reads; RunnerProgramTest has the whole of a recorded output."""


def wrk(arguments):
    assert arguments[:3] == ["--threads=2", "--connections=2", "--duration=1s"], arguments
    assert arguments[-1].endswith("/byte"), arguments
    print(WRK, end="")


def vegeta(arguments):
    command, *arguments = arguments
    *options, last = arguments if command == "encode" else [*arguments, ""]
    given = dict(zip(options[::2], options[1::2], strict=True))
    if command == "attack":
        assert Path(given["-targets"]).read_text().endswith("/byte\n")
        seconds = float(given["-duration"].removesuffix("s"))
        number, _, per = given["-rate"].partition("/")
        if not number.isdecimal():
            sys.exit(f'invalid value "{given["-rate"]}" for flag -rate: strconv.Atoi: parsing')
        rate = int(number) / float((per or "1s").removesuffix("s"))
        Path(given["-output"]).write_text(f"{time.time_ns()} {rate} {seconds}")
        time.sleep(seconds)
        return
    assert (command, given["-to"]) == ("encode", "csv")
    begin, rate, seconds = map(float, Path(last).read_text().split())
    with Path(given["-output"]).open("w") as log:
        for seq in range(round(rate * seconds)):
            start = int(begin + seq * 1e9 / rate)
            print(f"{start},200,1000000,0,1,,eA==,,{seq},GET,http://x/byte,", file=log)


def jmeter(arguments):
    given = dict(one.split("=") for one in arguments if one.startswith("-J"))
    assert (given["-Jpath"], given["-Jthreads"], given["-Jseconds"]) == ("/byte", "2", "2")
    assert Path(arguments[arguments.index("-t") + 1]).read_text().startswith("<?xml")
    with Path(arguments[arguments.index("-l") + 1]).open("w") as log:
        print("timeStamp,elapsed,label,success,responseMessage", file=log)
        for call in range(20):
            print(f"{time.time_ns() // 10**6},{call},get,true,OK", file=log)
            time.sleep(0.1)


if __name__ == "__main__":
    {"wrk": wrk, "vegeta": vegeta, "jmeter": jmeter}[Path(sys.argv[0]).name](sys.argv[1:])
