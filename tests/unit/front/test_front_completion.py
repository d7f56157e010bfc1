"""Tab completion, asked of the shells themselves."""

import shlex
import shutil
import subprocess

import pytest

from collect.front.cli import main
from collect.run.study import KIT_STUDIES

CASES = [
    ("rackbench ver", {"verify"}),
    ("rackbench lab ", {"up", "down"}),
    ("rackbench run --fi", {"--fit"}),
    ("rackbench run teaching/", {"teaching/connections", "teaching/delivery"}),
    ("rackbench night sort ove", {"overhead"}),
    ("rackbench run ow", {"own"}),
    ("rackbench report mon", {"monday-mtom", "monday-sort"}),
    ("rackbench report monday-sort monday-m", {"monday-mtom"}),
    ("rackbench compare monday-sort --against monday-mtom sample-m", {"sample-mtom"}),
    ("rackbench export monday-sort --format par", {"parquet"}),
    ("rackbench archive monday-sort --licence LIC", {"LICENCE"}),
    ("rackbench check nig", {"night.zip"}),
]
BASH = """
source ./script
COMP_WORDS=({words}) COMP_CWORD={place}
_shtab_rackbench
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# The line editor completes in a shell of its own, which writes down what compadd takes.
ZSH_INNER = """
PROMPT= ; zle_highlight=(none)
autoload -Uz compinit; compinit -u -D
{load}
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
compadd() {{
  local -a taken
  if [[ " ${{(j: :)@[1,(i)(-|--)]}} " != *" -"[OAD]" "* ]]; then
    builtin compadd -O taken "$@"
    print -rl -- $taken >> taken
  fi
  builtin compadd "$@"
}}
comppostfuncs=(exit)
print ready
"""
ZSH_OUTER = """
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "source ./inner"
zpty -r inner line '*ready*'
zpty -w -n inner "$1"$'\\t'
while zpty -r inner line; do :; done
"""


def in_bash(line):
    words = [shlex.quote(word) for word in line.split(" ")]
    asked = BASH.format(words=" ".join(words), place=len(words) - 1)
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return set(done.stdout.split())


def in_zsh(line, place, load="source ./script"):
    (place / "inner").write_text(ZSH_INNER.format(load=load))
    (place / "taken").write_text("")
    (place / "outer").write_text(ZSH_OUTER)
    subprocess.run(
        ["zsh", "-f", "./outer", line], cwd=place, timeout=60, capture_output=True, check=True
    )
    return set((place / "taken").read_text().split())


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project directory with two runs, an archive, a study and a file."""
    for run in ("monday-sort", "monday-mtom"):
        (tmp_path / "results" / run).mkdir(parents=True)
        (tmp_path / "results" / run / "plan.jsonl").touch()
    (tmp_path / "results/monday-not-begun").mkdir()
    (tmp_path / "studies").mkdir()
    for name in ("rackbench.yml", "studies/own.yml", "night.zip", "LICENCE"):
        (tmp_path / name).touch()
    (tmp_path / "rackbench.yml").write_text(f"checkout: {tmp_path}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def script_of(place, capsys):
    """Writes the script for a shell."""

    def script(shell):
        assert main(["completion", shell]) == 0
        text = capsys.readouterr().out
        (place / "script").write_text(text)
        return text

    return script


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_bash_completes(line, expected, script_of):
    script_of("bash")
    assert in_bash(line) == expected


def test_bash_completes_below_a_project_directory(place, script_of, monkeypatch):
    text = script_of("bash")
    monkeypatch.chdir(place / "studies")
    (place / "studies/script").write_text(text)
    assert in_bash("rackbench check monday-m") == {"monday-mtom"}
    assert in_bash("rackbench run ow") == {"own"}


def test_every_study_of_the_kit_is_offered(script_of):
    script_of("bash")
    offered = in_bash("rackbench run ")
    assert {path.stem for path in KIT_STUDIES.glob("*.yml")} <= offered
    assert not any(name.startswith("archived") for name in offered)


def test_the_script_for_zsh_takes_every_name_and_registers_when_it_is_sourced(script_of):
    text = script_of("zsh")
    assert '"(*)' not in text
    assert '"*:names of studies:_rackbench_studies"' in text
    assert r":HH\:MM:" in text
    assert ":HH:MM:" not in text
    assert "[the runs to compare with]:*-*:RUN:_rackbench_runs" in text
    assert "zsh_eval_context" not in text
    assert "$funcstack[1] != _rackbench" in text


needs_zsh = pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")


@needs_zsh
@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_zsh_completes(line, expected, place, script_of):
    script_of("zsh")
    assert in_zsh(line, place) == expected


@needs_zsh
@pytest.mark.parametrize(
    "load",
    ['eval "$(<script)"', "mkdir f; cp script f/_rackbench; fpath+=($PWD/f); compinit -u"],
)
def test_zsh_takes_the_script_by_eval_and_from_its_path(load, place, script_of):
    script_of("zsh")
    assert in_zsh("rackbench report monday-s", place, load) == {"monday-sort"}


@needs_zsh
def test_zsh_offers_no_command_for_a_time(place, script_of):
    script_of("zsh")
    assert in_zsh("rackbench night sort --from ", place) == set()
