"""What `make bench` adds to rackbench's own clients still fits them."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tests/bench/reference/org/rackbench"
CLIENTS = ("clients/axis-clients", "clients/jakarta-jms-clients")
MODULES = ("harness-api", "harness", "workloads", "jakarta-jms", *CLIENTS)
LIBRARIES = ("commons-httpclient-3", "jackson-", "jakarta.jms-api-3")

pytestmark = pytest.mark.skipif(not shutil.which("mvn"), reason="Maven is not installed")


def test_the_clients_and_the_worker_of_the_bench_fit_the_kit(tmp_path):
    jars = sorted((Path.home() / ".m2/repository").glob("**/*.jar"))
    needed = [j for j in jars if j.name.startswith(LIBRARIES)]
    assert needed, "build java-apps first: make build"
    own = [REFERENCE / "reference/EchoWorker.java", REFERENCE / "reference/PostedEnvelope.java"]
    sources = [*REFERENCE.glob("clients/jakartajms/*.java"), *own]
    done = subprocess.run(
        [
            *("javac", "--release", "17", "-proc:none", "-implicit:none", "-d", str(tmp_path)),
            *("-cp", ":".join(map(str, needed))),
            *("-sourcepath", ":".join(f"{ROOT}/java-apps/{m}/src/main/java" for m in MODULES)),
            *map(str, sources),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = {file.stem for file in tmp_path.rglob("*.class")}
    assert names == {
        "EchoJms",
        "EchoJmsCaller",
        "EchoWorker",
        "PostedEnvelope",
        "PostedEnvelope$Post",
    }
