"""Stories of real agents and of `retake`: sessions that move from one agent to another, and sessions that break.

    python3 stories.py RETAKE BINARIES [AGENT ...]

Each agent records a session with a call in it. That session goes to each other agent with `retake convert --to AGENT`, is resumed there
with the agent's own flag, and the request that reaches the provider holds the history. Then each session is broken in three ways and
resumed: the provider refuses it, the agent does not find it, or it lost a part. Healed in its store by `retake doctor` it is resumed
again, and a turn works. Claude Code and Codex find out with the tools of `retake mcp-serve` why a run failed.
Exit code 1: a story went another way.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "proxy_real"))

from agents import AGENTS, PATIENCE
from breaking import ACCIDENTS, UNANSWERED, broken
from programs import Wrong, scripted
from relay import Relay

PROMPT, OUTPUT, QUESTION, ANSWER = "Count the boats.", "boats-17", "And today?", "Nothing new."
ANSWERED = "It says: "  # the reply that every accident leaves
TOOLS = {"claude-code": "Bash", "codex": "exec_command", "pi": "bash", "gemini-cli": "run_shell_command", "opencode": "bash"}
WITH_SERVERS = ["claude-code", "codex"]


class Bench:
    """What the stories are told with."""

    def __init__(self, retake, binaries, folder, relay):
        self.retake, self.binaries = Path(retake).absolute(), Path(binaries).absolute()
        self.folder, self.relay = Path(folder), relay
        self.work = self.folder / "work"
        self.work.mkdir()
        self.homes = 0

    def agent(self, kind, home=None):
        """An agent with a new home, or with a copy of another."""
        self.homes += 1
        new = self.folder / f"home-{self.homes}"
        if home:
            shutil.copytree(home, new, ignore=shutil.ignore_patterns("*.lock", "locks"))
        return kind(self.binaries, new, self.work, self.relay.address)

    def run_retake(self, agent, *arguments, **options):
        environment = {"HOME": str(agent.home), "PATH": "/usr/bin:/bin"}
        command = [self.retake, *arguments]
        return subprocess.run(command, capture_output=True, env=environment, cwd=self.work, timeout=PATIENCE, check=False, **options)

    def write_back(self, agent, path):
        """The id of the session that the agent now has."""
        if agent.name == "opencode":
            new = agent.home / "converted.json"
            made = self.run_retake(agent, "convert", path, "--to", agent.name, "-o", new, "--force")
        else:
            made = self.run_retake(agent, "convert", path, "--to", agent.name, "--install")
        if made.returncode != 0:
            raise Wrong(f"convert: {made.stderr.decode()}")
        return agent.take_in(new) if agent.name == "opencode" else agent.id_of(agent.session())

    def resume(self, agent, session):
        """What the agent printed, its exit code, and its requests with what became of each."""
        seen = len(self.relay.asked)
        ran = agent.ask(QUESTION, session)
        return ran, [asked for asked in self.relay.asked[seen:] if QUESTION in json.dumps(asked[0])]

    def goes_on(self, agent, session, *wanted, mentions=0):
        """None where a turn works, with all that is wanted in the request and so many mentions of the output; else why not."""
        ran, asked = self.resume(agent, session)
        if not asked:
            return f"no request: {last_line(ran)}"
        request, refused = asked[-1]
        if refused:
            return f"refused: {refused}"
        lost = [what for what in wanted if what not in json.dumps(request)]
        if lost:
            return f"goes on without {', '.join(map(repr, lost))}"
        if json.dumps(request).count(OUTPUT) < mentions:
            return "goes on without the call or its result"
        return None if ran.returncode == 0 and ANSWER in ran.stdout else f"no answer: {last_line(ran)}"


def last_line(ran):
    lines = (ran.stderr + ran.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit code {ran.returncode}"


def recorded(bench, kind):
    """An agent that counted the boats."""
    agent = bench.agent(kind)
    ran = agent.ask(PROMPT)
    if OUTPUT not in ran.stdout:
        raise Wrong(f"{agent.name} recorded nothing: {last_line(ran)}")
    return agent


def moves(bench, source, kind):
    """A session goes to another agent, which goes on from it."""
    agent = bench.agent(kind)
    session = bench.write_back(agent, source.session())
    why = bench.goes_on(agent, session, PROMPT, OUTPUT, f'"{TOOLS[agent.name]}"')
    if why:
        raise Wrong(why)


def heals(bench, source, accident):
    """A broken session is refused or loses something; healed, it goes on. Returns what happened to the broken one."""
    agent, healthy = (bench.agent(type(source), source.home) for _ in range(2))
    sessions = [in_its_store(agent, accident), in_its_store(healthy, accident)]
    # Of the command, its output and the answer one is gone.
    why = bench.goes_on(agent, sessions[0][0], PROMPT, mentions=2)
    session, store = sessions[1]
    heal(bench, healthy, store)
    after = bench.goes_on(healthy, session, ANSWERED)
    if after:
        raise Wrong(f"after healing: {after}")
    return f"broken: {why or 'goes on with all that is left'}; healed: goes on"


def debugs(bench, kind):
    """An agent finds out with the tools of `retake mcp-serve` why a run failed."""
    agent = bench.agent(kind)
    agent.server = [str(bench.retake), "mcp-serve"]
    shutil.copy(HERE.parents[1] / "sessions/unknown-tool.json", bench.work / "run.json")
    ran = agent.ask("Why did run.json fail?")
    if "search_onestop_flights" not in ran.stdout:
        raise Wrong(f"it found nothing: {last_line(ran)}")
    return "finds the tool that does not exist"


def in_its_store(agent, accident):
    """The id of a session that is broken now, and the file or database that holds it."""
    path = agent.session()
    store = agent.store or path
    broken(agent.name, store, accident)
    return agent.id_of(path), store


def heal(bench, agent, store):
    """Heals the agent's own store with `retake doctor`."""
    # A session that was written to a moment ago may be in use.
    healed = bench.run_retake(agent, "doctor", store, "--in-place", "--force")
    told = healed.stdout.decode() + healed.stderr.decode()
    if not store.with_name(f"{store.name}.bak").exists():
        raise Wrong(f"doctor wrote nothing: {told}")


def told(name, story):
    """Whether a story went as it should; prints what became of it."""
    try:
        print(f"ok    {name}: {story() or 'goes on'}", flush=True)
        return True
    except (Wrong, subprocess.TimeoutExpired) as wrong:
        print(f"WRONG {name}: {wrong}", flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("retake")
    parser.add_argument("binaries", help="the folder of the programs (node_modules/.bin)")
    parser.add_argument("agents", nargs="*", default=[kind.name for kind in AGENTS])
    options = parser.parse_args()
    kinds = [kind for kind in AGENTS if kind.name in options.agents]
    script = HERE / "agents.script.toml"
    with tempfile.TemporaryDirectory() as folder, scripted(options.retake, script) as address, Relay(address) as relay:
        bench = Bench(options.retake, options.binaries, folder, relay)
        sources, results = [], []
        for kind in kinds:
            try:
                sources.append(recorded(bench, kind))
                print(f"ok    {kind.name} records a session", flush=True)
            except (OSError, Wrong) as wrong:
                print(f"skipped: {kind.name} does not run here: {wrong}", flush=True)
        for source in sources:
            for target in sources:
                if target is not source:
                    story = f"{source.name} to {target.name}"
                    results.append(told(story, lambda: moves(bench, source, type(target))))
        for source in sources:
            if source.name in WITH_SERVERS:
                results.append(told(f"{source.name} with retake's tools", lambda: debugs(bench, type(source))))
        for source in sources:
            for accident in ACCIDENTS:
                # The database of opencode holds no line, and no result without its call.
                if source.name != "opencode" or accident == UNANSWERED:
                    results.append(told(f"{source.name}, {accident}", lambda: heals(bench, source, accident)))
    print(f"{sum(results)} of {len(results)} stories went as they should, with {len(sources)} of {len(kinds)} agents")
    sys.exit(0 if all(results) and sources else 1)


if __name__ == "__main__":
    main()
