"""Runs of an open loop whose capacity is known."""

import yaml
from synthetic import STUDIES

LOAD = yaml.safe_load((STUDIES / "load.yml").read_text())


def load_study(threads=1, calls=100, rates=(50, 100, 200, 400), replicates=3, **changes):
    """The load study with calls of 5 ms for SOAP and 2 ms for JMS: at most 200 and 500 a second."""
    return yaml.safe_dump(
        {
            **LOAD,
            "factors": {"transport": ["soap", "jms"], "rate": list(rates)},
            "arrival": {"rate": "rate", "spacing": "even"},
            "servers": 1,
            "threads": threads,
            "calls": calls,
            "warmup": 5,
            "replicates": replicates,
            "profiles": {"demo": {}},
            **changes,
        },
        sort_keys=False,
    )


def service_ms(planned, rng):
    each = 5.0 if planned.factors["transport"] == "soap" else 2.0
    return [each] * planned.measured_rows
