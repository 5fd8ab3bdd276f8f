"""The scripted model of the demo under openai-agents: the same misspelled tool that `retake run` recovers from.

    python frameworks.py RETAKE

openai-agents raises ModelBehaviorError at a tool that it does not know, and the run is lost. With the error that a policy of retake injects
as its own answer to unknown tools, its run goes on to the end; and the history that retake's live run left is one that it goes on
with. Exit code 1: a story went another way.
"""

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import traceback
from contextlib import contextmanager
from pathlib import Path

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # nothing but the scripted model is talked to

from agents import Agent, RunConfig, Runner, ToolErrorFormatterArgs, function_tool
from agents.exceptions import ModelBehaviorError

from headless import Headless

ROOT = Path(__file__).parent.parent.parent
AGENTS = ROOT / "sessions" / "agents"
QUESTION = "I want to go from New York to Lisbon on 11 May 2026. What flights are there?"
FLIGHT = "TP 204, 18:30 to 06:25 the next day, 489.50 EUR"
POLICY = '[on.unknown-tool]\ndo = "inject"\nwording = "nearest"\n'

LOOP = asyncio.Runner()  # one for all runs: openai-agents keeps its connections between them

logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # the errors are expected here


@function_tool
def search_flights(from_: str = "", to: str = "", date: str = "") -> str:
    """Finds the flights between two airports on a day."""
    return FLIGHT


@function_tool
def get_weather(city: str, date: str) -> str:
    """Tells the weather of a day."""
    return "18 degrees, sunny"


@contextmanager
def scripted(retake):
    """The demo's model as the provider that OPENAI_BASE_URL names."""
    command = [retake, "scripted", AGENTS / "flights.script.toml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        os.environ["OPENAI_BASE_URL"] = f"{process.stdout.readline().strip()}/v1"
        os.environ["OPENAI_API_KEY"] = "none"
        try:
            yield
        finally:
            process.kill()


def run_agent(given, streamed=False, **settings):
    """A run of openai-agents to its end: its answer."""

    async def running():
        agent = Agent("flights", instructions="You help people to travel.", tools=[search_flights, get_weather])
        config = RunConfig(**settings)
        if not streamed:
            return await Runner.run(agent, given, run_config=config, max_turns=8)
        result = Runner.run_streamed(agent, given, run_config=config, max_turns=8)
        async for _ in result.stream_events():
            pass
        return result

    return LOOP.run(running()).final_output


def an_unknown_tool_ends_their_run(retake, _):
    for streamed in (False, True):
        with scripted(retake):
            try:
                answer = run_agent(QUESTION, streamed)
            except ModelBehaviorError as error:
                assert "serch_flights" in str(error), error
            else:
                raise AssertionError(f"it should have ended with an error, and answered {answer!r}")


def an_error_that_names_no_tool_does_not_help(retake, _):
    with scripted(retake):
        answer = run_agent(QUESTION, tool_not_found_behavior="return_error_to_model", tool_error_formatter=bare)
    assert FLIGHT not in answer, answer


def bare(_: ToolErrorFormatterArgs):
    return "There is no such tool."


def the_words_of_retake_make_it_go_on(retake, folder):
    live = Headless(retake, folder)
    policy = Path(folder) / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    run = live.run(AGENTS / "flights.toml", "--policy", policy)
    assert (run.code, run.how) == (0, "final"), run.lines[-1]
    history = converted(retake, run)
    [words] = [item["output"] for item in history if item.get("type") == "function_call_output" and "no tool" in item["output"]]
    with scripted(retake):
        answer = run_agent(
            QUESTION, tool_not_found_behavior="return_error_to_model", tool_error_formatter=lambda _: words
        )
    assert FLIGHT in answer, answer


def the_history_of_a_live_run_goes_on_in_their_run(retake, folder):
    """Cut where nobody decided and fixed, the history is one that openai-agents sends on, and it comes to the answer."""
    live = Headless(retake, folder)
    run = live.run(AGENTS / "flights.toml")
    assert (run.code, run.how) == (1, "unattended"), run.lines[-1]
    fixed = Path(folder) / "fixed.json"
    subprocess.run([retake, "fix", run.journal, "-o", fixed], capture_output=True, check=True)
    history = json.loads(fixed.read_text(encoding="utf-8"))["input"]
    with scripted(retake):
        answer = run_agent(history)
    assert FLIGHT in answer, answer


def converted(retake, run):
    command = [retake, "convert", run.journal, "--to", "responses", "--request"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["input"]


STORIES = [
    an_unknown_tool_ends_their_run,
    an_error_that_names_no_tool_does_not_help,
    the_words_of_retake_make_it_go_on,
    the_history_of_a_live_run_goes_on_in_their_run,
]


def main():
    failed, retake = 0, Path(sys.argv[1]).absolute()
    for story in STORIES:
        title = story.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix="retake-frameworks.") as folder:
            try:
                story(retake, folder)
                print(f"{title}: as it should be")
            except Exception:  # whatever a framework raises is told
                failed += 1
                print(f"{title}: WRONG\n{traceback.format_exc()}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
