"""Real MCP servers in live runs of retake: listed, called, killed, gone.

    python servers.py RETAKE

The servers are of the reference package `mcp` (server.py) and the reference server `mcp-server-time`, over standard streams and over
streamable HTTP on loopback. Exit code 1: a story went another way.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from contextlib import contextmanager
from pathlib import Path

from headless import Headless, is_alive, until

SERVER = Path(__file__).parent / "server.py"
MAY_HAVE = "may or may not have done its work"


def quoted(*words):
    return ", ".join(json.dumps(str(word)) for word in words)


def piped(name, marks, tools, approval="never"):
    """A server that retake starts."""
    command = quoted(sys.executable, SERVER, marks)
    return f'[[mcp]]\nname = "{name}"\ncommand = [{command}]\ntools = [{quoted(*tools)}]\napproval = "{approval}"\n'


def reached(name, url, tools):
    """A server that runs by itself."""
    return f'[[mcp]]\nname = "{name}"\nurl = "{url}"\ntools = [{quoted(*tools)}]\napproval = "never"\n'


def calls(*turns):
    """A model that makes these calls, a reply each, and then answers with the last output."""
    rules = []
    for number, (tool, arguments) in enumerate(turns, 1):
        call = f'{{ name = "{tool}", arguments = \'{json.dumps(arguments)}\' }}'
        rules.append(f'[[rule]]\nturn = {number}\ncalls = [{call}]\n')
    return "\n".join([*rules, '[[rule]]\ntext = "{{ last }}"\n'])


@contextmanager
def http_server(marks, *options):
    """A server over HTTP: its process and its address."""
    command = [sys.executable, SERVER, marks, "--http", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def marked(marks, what):
    """The processes that left a mark, in order."""
    lines = marks.read_text(encoding="utf-8").split("\n") if marks.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith(what + " ")]


def equal(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def holds(is_so, what):
    if not is_so:
        raise AssertionError(what)


def sent(retake, run):
    """The history as the next request would hold it, in Chat messages."""
    command = [retake.program, "convert", run.journal, "--to", "chat", "--request"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)


def each_call_has_one_output(retake, run):
    messages = sent(retake, run)["messages"]
    made = [call["id"] for message in messages for call in message.get("tool_calls") or []]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    equal(sorted(answered), sorted(made))


def tools_are_listed_and_called(retake, marks):
    """Over pipes and over HTTP; a tool that fails; a reference server as it comes from PyPI."""
    clock = f"[[mcp]]\nname = \"clock\"\ncommand = [{quoted(sys.executable, '-m', 'mcp_server_time', '--local-timezone', 'UTC')}]\napproval = \"never\"\n"
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    with http_server(marks) as (_, url):
        tools = piped("near", marks, ["add"]) + reached("far", url, ["divide"]) + clock
        rules = calls(("add", {"a": 2, "b": 3}), ("divide", {"a": 1, "b": 0}), ("convert_time", noon))
        run = retake.run(retake.agent("listed", tools, rules))
    equal((run.code, run.how), (0, "final"))
    equal(run.outputs("add"), [("the sum is 5", False, None)])
    [(output, is_error, failure)] = run.outputs("divide")
    equal((is_error, failure), (True, "reported"))
    holds(output.startswith("Error executing tool divide"), output)
    [(output, is_error, _)] = run.outputs("convert_time")
    holds(not is_error and "T21:00:00+09:00" in output, output)
    holds("T21:00:00+09:00" in run.output, run.output)
    request = sent(retake, run)
    offered = {tool["function"]["name"]: tool["function"] for tool in request["tools"]}
    equal(list(offered)[:2], ["add", "divide"])
    holds("convert_time" in offered, list(offered))
    equal(sorted(offered["add"]["parameters"]["properties"]), ["a", "b"])
    equal(offered["add"]["description"].strip(), "Adds two numbers.")
    each_call_has_one_output(retake, run)


def what_a_server_says_beside_its_answers_is_told_as_a_notice(retake, marks):
    """Its standard error is neither on stdout nor on stderr as it came, and its process ends with the run."""
    run = retake.run(retake.agent("says", piped("near", marks, ["add"]), calls(("add", {"a": 1, "b": 1}))))
    equal((run.code, run.err), (0, b""))
    holds(b"\x1b" not in run.out, "an escape sequence of the server came through")
    holds(any("desk is up" in notice for notice in run.notices), run.notices)
    holds(any("add was called with 1 and 1" in notice for notice in run.notices), run.notices)
    [server] = marked(marks, "start")
    until(lambda: not is_alive(server), "the server ends with the run")


def a_server_killed_in_a_call(retake, marks):
    """The call has one output that says what nobody knows; it is not made again, and the next call finds another server."""
    rules = calls(("wait", {"file": "never"}), ("add", {"a": 20, "b": 22}))
    policy = '[policy.retry]\nattempts = 3\nbackoff = "1s"\n'
    started = retake.start(retake.agent("killed", piped("near", marks, ["add", "wait"]), rules, policy=policy))
    [victim] = until(lambda: marked(marks, "wait"), "the call reaches the server")
    os.kill(victim, signal.SIGKILL)
    run = started.end()
    equal((run.code, run.how), (0, "final"))
    [(output, is_error, failure)] = run.outputs("wait")
    equal((is_error, failure), (True, "unknown"))
    holds(MAY_HAVE in output, output)
    equal(run.outputs("add"), [("the sum is 42", False, None)])
    equal(marked(marks, "wait"), [victim])
    first, second = marked(marks, "start")
    equal((first, second != first), (victim, True))
    each_call_has_one_output(retake, run)


def a_server_killed_between_calls(retake, marks):
    """Nothing was under way: the next call finds another server, and no error."""
    tools = piped("near", marks, ["add"]) + piped("slow", f"{marks}-slow", ["wait"])
    rules = calls(("add", {"a": 1, "b": 2}), ("wait", {"file": f"{marks}-go"}), ("add", {"a": 3, "b": 4}))
    started = retake.start(retake.agent("between", tools, rules))
    until(lambda: marked(Path(f"{marks}-slow"), "wait"), "the second call runs")
    os.kill(marked(marks, "start")[0], signal.SIGKILL)
    Path(f"{marks}-go").touch()
    run = started.end()
    equal(run.outputs("add"), [("the sum is 3", False, None), ("the sum is 7", False, None)])
    equal((run.code, len(marked(marks, "start"))), (0, 2))


def servers_that_do_not_start(retake, marks):
    """They cost their tools, and that is told; the run goes on with the others."""
    dies = f"[[mcp]]\nname = \"dies\"\ncommand = [{quoted(sys.executable, '-c', 'import sys; sys.exit(7)')}]\n"
    absent = '[[mcp]]\nname = "absent"\ncommand = ["/no/such/program"]\n'
    nobody = '[[mcp]]\nname = "nobody"\nurl = "http://127.0.0.1:9/mcp"\n'
    tools = dies + absent + nobody + piped("near", marks, ["add"])
    run = retake.run(retake.agent("absent", tools, calls(("add", {"a": 1, "b": 1}))))
    equal((run.code, run.how), (0, "final"))
    for name in ("dies", "absent", "nobody"):
        told = [notice for notice in run.notices if notice.startswith(f"the MCP server {name} is left out: ")]
        equal(len(told), 1)
        print(f"    {told[0]}")
    equal(run.outputs("add"), [("the sum is 2", False, None)])
    equal([tool["function"]["name"] for tool in sent(retake, run)["tools"]], ["add"])


def an_http_server_gone_in_a_call(retake, marks):
    """The call under way may have been done; later ones cannot be made, and say so."""
    rules = calls(("wait", {"file": "never"}), ("add", {"a": 1, "b": 1}))
    with http_server(marks) as (process, url):
        started = retake.start(retake.agent("gone", reached("far", url, ["add", "wait"]), rules))
        until(lambda: marked(marks, "wait"), "the call reaches the server")
        process.kill()
        process.wait()
        run = started.end()
    equal((run.code, run.how), (0, "final"))
    [(output, is_error, failure)] = run.outputs("wait")
    holds(is_error and MAY_HAVE in output, (output, failure))
    equal(failure, "unknown")
    [(output, is_error, failure)] = run.outputs("add")
    print(f"    {output}")
    equal((is_error, failure), (True, "connection"))
    each_call_has_one_output(retake, run)


def an_http_server_that_came_back(retake, marks):
    """It knows nothing of the session that it had with us: the next call makes a new one."""
    rules = calls(("add", {"a": 1, "b": 2}), ("wait", {"file": f"{marks}-go"}), ("add", {"a": 3, "b": 4}))
    with http_server(marks) as (process, url):
        tools = reached("far", url, ["add"]) + piped("slow", f"{marks}-slow", ["wait"])
        started = retake.start(retake.agent("back", tools, rules))
        until(lambda: marked(Path(f"{marks}-slow"), "wait"), "the second call runs")
        process.kill()
        process.wait()
        port = url.split(":")[2].split("/")[0]
        with http_server(marks, port):
            Path(f"{marks}-go").touch()
            run = started.end()
    equal(run.outputs("add"), [("the sum is 3", False, None), ("the sum is 7", False, None)])
    equal((run.code, len(marked(marks, "start"))), (0, 2))


def an_approval_that_nobody_can_give(retake, marks):
    """Nothing runs, and the run ends for want of somebody."""
    tools = piped("near", marks, ["wait"], approval="ask")
    run = retake.run(retake.agent("asks", tools, calls(("wait", {"file": "never"}))))
    equal((run.code, run.how), (1, "unattended"))
    print(f"    {run.lines[-1]['why']}")
    equal((run.all("started"), run.outputs("wait"), marked(marks, "wait")), ([], [], []))


def an_interrupt_in_a_call(retake, marks):
    """The run is aborted, the open call has an output that says so, and the server ends."""
    rules = calls(("wait", {"file": "never"}))
    started = retake.start(retake.agent("stopped", piped("near", marks, ["wait"]), rules))
    [server] = until(lambda: marked(marks, "wait"), "the call reaches the server")
    started.interrupt()
    run = started.end()
    equal((run.code, run.how), (130, "aborted"))
    each_call_has_one_output(retake, run)
    until(lambda: not is_alive(server), "the server ends with the run")


STORIES = [
    tools_are_listed_and_called,
    what_a_server_says_beside_its_answers_is_told_as_a_notice,
    a_server_killed_in_a_call,
    a_server_killed_between_calls,
    servers_that_do_not_start,
    an_http_server_gone_in_a_call,
    an_http_server_that_came_back,
    an_approval_that_nobody_can_give,
    an_interrupt_in_a_call,
]


def main():
    failed, wanted = 0, sys.argv[2:]
    for story in STORIES:
        title = story.__name__.replace("_", " ")
        if wanted and story.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="retake-mcp.") as folder:
            try:
                story(Headless(sys.argv[1], folder), Path(folder) / "marks")
                print(f"{title}: as it should be")
            except AssertionError:
                failed += 1
                print(f"{title}: WRONG\n{traceback.format_exc()}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
