"""Agents on real SDKs that run again by `retake replay`: no provider, no key, the recorded result.

    python stories.py RETAKE [STORY...]

Each recording is made here: the program runs through `retake proxy --headless --journal` against a scripted provider, which is gone when
the same program runs again. Exit code 1: a story went another way.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "proxy_real"))

import clients
import openai
from programs import PATIENCE, Proxy, Wrong, scripted

CLEAN = HERE.parent / "proxy_real" / "clean.script.toml"
AGENT = HERE / "agent.py"
APIS = ("responses", "chat")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")


class Bench:
    """What the stories are told with."""

    def __init__(self, retake, folder):
        self.retake, self.folder = Path(retake).absolute(), Path(folder)
        self.env = {name: value for name, value in os.environ.items() if name not in KEYS} | {"XDG_STATE_HOME": str(self.folder / "state")}

    def run(self, command, env=None):
        ran = subprocess.run(command, capture_output=True, text=True, env=env or self.env, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        said = [line["text"] for line in lines if line["type"] == "output" and line["stream"] == "stdout"]
        if not said:
            raise Wrong(f"the agent said nothing: {ran.stdout}{ran.stderr}")
        return ran.returncode, lines, json.loads("".join(said))

    def record(self, *arguments):
        """The agent through the proxy; its journal and what came of it."""
        journal = self.folder / f"{'-'.join(arguments)}.jsonl"
        with scripted(self.retake, CLEAN) as upstream:
            command = [self.retake, "proxy", "--headless", "--listen", "127.0.0.1:0", "--upstream", upstream, "--journal", journal]
            code, _, came = self.run([*command, "--", sys.executable, AGENT, *arguments], self.env | {"OPENAI_API_KEY": "none"})
        check((code, came["error"]), (0, None), f"recording {arguments}")
        return journal, came

    def replay(self, journal, options, *arguments):
        command = [self.retake, "replay", journal, "--format", "json", *options, "--", sys.executable, AGENT, *arguments]
        return self.run(command)

    @contextmanager
    def replayed(self, journal, *options):
        """A replay for clients of this process; gives its address, and its lines once it is over."""
        command = [self.retake, "replay", journal, "--format", "json", *options]
        lines = []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                yield json.loads(process.stdout.readline())["address"], lines
            finally:
                process.send_signal(signal.SIGINT)
                lines += [json.loads(line) for line in process.stdout]
                process.wait(PATIENCE)


def check(found, wanted, where):
    if found != wanted:
        raise Wrong(f"{where}:\n  {shortened(found)}\ninstead of\n  {shortened(wanted)}")


def shortened(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 3000 else f"{text[:3000]} ..."


def without_ids(value):
    """Ids of messages, items and replies, and when they were made; those of calls stay. Signatures are the server's."""
    if isinstance(value, dict):
        left_out = ("id", "created", "created_at", "signature", "provider_data")
        is_call = value.get("type") in ("tool_use", "function") or "function" in value
        return {key: without_ids(one) for key, one in value.items() if key not in left_out or (key == "id" and is_call)}
    return [without_ids(one) for one in value] if isinstance(value, list) else value


def an_openai_agents_program_runs_again_with_the_recorded_result(bench):
    for api in APIS:
        for streams in ((), ("--stream",)):
            journal, recorded = bench.record(api, *streams)
            code, lines, came = bench.replay(journal, (), api, *streams)
            where = f"{api} {streams}"
            check(without_ids(came), without_ids(recorded), where)
            check((code, lines[-1]["refused"], lines[-1]["never"]), (0, 0, []), where)
            check(lines[-1]["served"], recorded["usage"][0], f"{where}: a turn for each request")


def it_runs_again_whole_or_streamed_and_over_the_other_api(bench):
    journal, recorded = bench.record("responses")
    for arguments in (("responses", "--stream"), ("chat",), ("chat", "--stream")):
        code, lines, came = bench.replay(journal, (), *arguments)
        check((code, came["answer"]), (0, recorded["answer"]), f"{arguments}: {lines}")
        check(lines[-1]["never"], [], f"{arguments}: every turn was asked for")


def a_changed_prompt_is_refused_with_what_differs_and_asked_for_once(bench):
    changes = {
        "--question": ("From New York to Rome on 11 May, please.", "[-Lisbon-]{+Rome+}"),
        "--instructions": ("You help people to stay.", "[-travel-]{+stay+}"),
    }
    for api in APIS:
        journal, recorded = bench.record(api)
        for option, (text, words) in changes.items():
            for streams in ((), ("--stream",)):
                where = f"{api} {option} {streams}"
                code, lines, came = bench.replay(journal, (), api, option, text, *streams)
                error = came["error"]
                found = (error["class"], error["status"], error["code"], words in error["message"])
                check(found, ("BadRequestError", 400, "replay_mismatch", True), f"{where}: {error}")
                refused = [line for line in lines if line["type"] == "refused"]
                # SDKs repeat what may pass; this does not.
                check((code, len(refused), lines[-1]["served"]), (1, 1, 0), where)
                check(words in refused[0]["differences"][0]["words"], True, f"{where}: {refused}")
                code, lines, came = bench.replay(journal, ("--lenient",), api, option, text, *streams)
                check((code, came["answer"]), (0, recorded["answer"]), f"{where}, lenient")
                check(lines[-1]["lenient"], lines[-1]["served"], f"{where}, lenient")


def the_sdks_themselves_run_again(bench):
    """openai (Responses and Chat) and anthropic: whole and streamed, what the SDK makes of each reply is what it made of the recorded one."""
    for name in clients.CLIENTS:
        for streams in (False, True):
            where = f"{name}, {'streamed' if streams else 'whole'}"
            folder = bench.folder / where.replace(" ", "-")
            folder.mkdir()
            with scripted(bench.retake, CLEAN) as upstream, Proxy(bench.retake, folder, upstream) as proxy:
                job = {"client": name, "base": proxy.address, "streams": streams, "once": False, "timeout": PATIENCE}
                recorded = clients.carry_out(job)
            journal = next(folder.glob("proxy-*.jsonl"))
            check(recorded["error"], None, f"recording {where}")
            with bench.replayed(journal) as (address, lines):
                came = clients.carry_out(job | {"base": address})
            check(without_ids(came), without_ids(recorded), where)
            check((lines[-1]["served"], lines[-1]["refused"], lines[-1]["never"]), (len(recorded["turns"]), 0, []), where)
            for other in clients.CLIENTS:
                with bench.replayed(journal) as (address, lines):
                    came = clients.carry_out(job | {"base": address, "client": other})
                check((came["error"], came["answer"]), (None, recorded["answer"]), f"{where}, replayed for {other}")


def recorded_by_hand(bench, question, output):
    """A recording of one reply of Responses, as no script makes it."""
    path = bench.folder / "by-hand.json"
    path.write_text(json.dumps({"model": "any", "input": [{"role": "user", "content": question}], "output": output}))
    return path


def asked(address, streams, **request):
    """What the SDK of OpenAI makes of the reply."""
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=PATIENCE)
    if not streams:
        return client.responses.create(model="any", **request), []
    with client.responses.stream(model="any", **request) as stream:
        kinds = [event.type for event in stream]
        return stream.get_final_response(), kinds


def a_call_of_a_custom_tool_is_one_for_the_sdk_whole_and_streamed(bench):
    patch = '*** Begin Patch\n+"a"\n*** End Patch\n'
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_9", "name": "apply_patch", "input": patch, "status": "completed"}
    journal = recorded_by_hand(bench, "Patch it.", [call])
    tools = [{"type": "custom", "name": "apply_patch", "description": "Patches files."}]
    for streams in (False, True):
        with bench.replayed(journal) as (address, _):
            reply, kinds = asked(address, streams, input="Patch it.", tools=tools)
        [item] = reply.output
        check(type(item).__name__, "ResponseCustomToolCall", f"streams {streams}")
        check((item.call_id, item.name, item.input), ("call_9", "apply_patch", patch), f"streams {streams}")
        check([tool.model_dump(exclude_none=True) for tool in reply.tools], tools, "a Response repeats the tools of its request")
        heard = {f"response.custom_tool_call_input.{kind}" for kind in ("delta", "done")}
        check(heard <= set(kinds), streams, f"{kinds}")


def several_messages_of_a_turn_stay_several(bench):
    text = lambda part: {"type": "output_text", "text": part, "annotations": []}
    message = lambda *parts: {"type": "message", "role": "assistant", "content": [text(part) for part in parts]}
    journal = recorded_by_hand(bench, "Where?", [message("Let me look."), message('{"city": "Pa', 'ris"}')])
    for streams in (False, True):
        with bench.replayed(journal) as (address, _):
            reply, _ = asked(address, streams, input="Where?")
        said = [part.text for item in reply.output for part in item.content]
        check(said, ["Let me look.", '{"city": "Paris"}'], f"streams {streams}")
    for more in ((), ("--stream",)):
        code, lines, came = bench.replay(journal, (), "responses", "--question", "Where?", "--city", *more)
        check((code, came["error"], came["answer"]), (0, None, {"city": "Paris"}), f"openai-agents with an output type, {more}: {lines}")


STORIES = [
    an_openai_agents_program_runs_again_with_the_recorded_result,
    it_runs_again_whole_or_streamed_and_over_the_other_api,
    a_changed_prompt_is_refused_with_what_differs_and_asked_for_once,
    the_sdks_themselves_run_again,
    a_call_of_a_custom_tool_is_one_for_the_sdk_whole_and_streamed,
    several_messages_of_a_turn_stay_several,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("retake")
    parser.add_argument("stories", nargs="*", metavar="STORY")
    options = parser.parse_args()
    failed = 0
    for story in STORIES:
        if options.stories and story.__name__ not in options.stories:
            continue
        title, begun = story.__name__.replace("_", " "), time.monotonic()
        with tempfile.TemporaryDirectory(prefix="retake-replay.") as folder:
            try:
                story(Bench(options.retake, folder))
                print(f"{title}: as it should be, {time.monotonic() - begun:.1f} s", flush=True)
            except Wrong as wrong:
                failed += 1
                print(f"{title}: WRONG\n{wrong}", flush=True)
            except Exception:  # whatever a client raises is told
                failed += 1
                print(f"{title}: WRONG\n{traceback.format_exc()}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
