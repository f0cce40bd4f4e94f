"""Which of the faults made for the campaigns the default budget finds, seed by seed. See README.md beside this file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from conformance.checks.fuzz import TABLE
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import Fuzzing, Limits, Target, Verdict
from conformance.settings.settings import faults
from conformance.survey.survey import CallPolicy

AREAS = ("fuzzing", "fuzzing_calls")
SHARE = 0.95
REVISION = "2025-11-25"
LIMITS = Limits(start=30, answer=3, quiet=0.2, shutdown=1.5)


def judging(requirement: str) -> tuple[str, ...]:
    """The campaigns that can find it broken; what invariants judge, those that may come by it."""
    named = tuple(name for name, _, requirements in TABLE if requirement in requirements.split())
    others = {"transport-stdio": ("malformed",), "jsonrpc": ("conversation",), "content": ("tool-arguments",)}
    return named or others[requirement.partition("/")[0]]


def found(name: str, requirement: str, seed: int, revision: str = REVISION) -> set[str]:
    """The requirements that those campaigns find broken in the reference server with that fault."""
    command = (sys.executable, "-m", "conformance.reference", "--fault", name)
    options = Options(
        revisions=(revision,),
        only=tuple(f"fuzz/{campaign}" for campaign in judging(requirement)),
        policy=CallPolicy("all"),
        limits=LIMITS,
        confirm=False,
        fuzzing=Fuzzing(seed=seed, seconds=60),
    )
    runner = Runner(Target(command), options)
    for _event in runner.run():
        pass
    verdicts = [judged for run in runner.report().runs for judged in run.verdicts]
    return {judged.requirement.id for judged in verdicts if judged.verdict is Verdict.FAILED}


def rows(names: list[str]) -> Iterator[tuple[str, str]]:
    """Names and first requirements of the faults to try."""
    for row in faults():
        if row["area"] in AREAS and (not names or row["name"] in names):
            yield row["name"], row["requirements"][0]


def main() -> int:
    """Print the table; 1 if too few are found with any of the seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds (5)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("faults", nargs="*", help="only these")
    given = parser.parse_args()
    missed = dict.fromkeys(range(given.first, given.first + given.seeds), 0)
    total = 0
    for name, requirement in rows(given.faults):
        total += 1
        marks = []
        for seed in range(given.first, given.first + given.seeds):
            seen = found(name, requirement, seed)
            missed[seed] += requirement not in seen
            others = sorted(seen - {requirement})
            marks.append("yes" if requirement in seen else "NO")
            marks += [f"(also {', '.join(others)})"] if others else []
        print(f"{name:28} {requirement:42} {' '.join(marks)}", flush=True)
    for seed, number in missed.items():
        print(f"seed {seed}: {total - number} of {total} found")
    return any(total - number < SHARE * total for number in missed.values())


if __name__ == "__main__":
    sys.exit(main())
