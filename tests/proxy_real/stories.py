"""Real clients through `retake proxy`, with a scripted provider behind it.

    python stories.py RETAKE [--node FOLDER] [--codex PROGRAM] [--direct] [STORY...]

Clean traffic comes to the same directly and through the proxy. A call of an unknown tool ends an agent; through the proxy, where a policy
answers for the tool, it goes on to its answer. What a provider does wrong reaches a client as if there were no proxy. `--direct` leaves the proxy
out: do the stories themselves stand? Exit code 1: a story went another way.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clients
import codex
import frameworks
import kept
from faulty import FAULTS, SLOW, faulty
from late import LATE, late
from programs import HERE, PATIENCE, ROOT, Proxy, Wrong, scripted

FLIGHT = "TP 204, 18:30 to 06:25 the next day, 489.50 EUR"
POLICY = ["--policy", HERE / "policy.toml"]
CLEAN = HERE / "clean.script.toml"
UNKNOWN = ROOT / "sessions" / "agents" / "flights.script.toml"
AMONG_GOOD = ROOT / "sessions" / "agents" / "parallel.script.toml"


class Bench:
    """What the stories are told with."""

    def __init__(self, options, folder):
        self.retake, self.folder = Path(options.retake).absolute(), folder
        self.node, self.codex, self.is_direct = options.node, options.codex, options.direct

    def python(self, jobs):
        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(clients.carry_out, jobs))

    def on_node(self, jobs, program="clients.mjs"):
        command = ["node", HERE / program, self.node]
        ran = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, timeout=PATIENCE, check=False)
        if ran.returncode:
            raise Wrong(f"node: {ran.stderr}")
        return json.loads(ran.stdout)

    def kept(self, jobs):
        # One after another: the scripted provider gives the replies to equal histories equal ids, and by its id a reply is continued.
        return [kept.carry_out(job) for job in jobs]

    def kept_on_node(self, jobs):
        return self.on_node(jobs, "kept.mjs")

    def agents(self, jobs):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(frameworks.carry_out, jobs))

    @property
    def kits(self):
        """What carries out jobs, with its name."""
        return {"python": self.python, **({"node": self.on_node} if self.node else {})}

    def proxy(self, upstream, *options):
        return Proxy(self.retake, self.folder, upstream, *options)


def jobs_for(base, names=clients.CLIENTS, once=False, timeout=PATIENCE):
    return [
        {"client": name, "base": base, "streams": streams, "once": once, "timeout": timeout} for name in names for streams in (False, True)
    ]


def told(job):
    return f"{job['client']}, {'streamed' if job['streams'] else 'whole'}"


def check(found, wanted, where):
    if found != wanted:
        raise Wrong(f"{where}:\n  {shortened(found)}\ninstead of\n  {shortened(wanted)}")


def shortened(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 3000 else f"{text[:3000]} ..."


def same(kind, jobs, direct, through):
    for job, one, other in zip(jobs, direct, through, strict=True):
        check(other, one, f"{kind}, {told(job)}: through the proxy")


def without_base(jobs, results):
    """Addresses stand in some messages; they differ."""
    return [json.loads(json.dumps(result).replace(job["base"], "BASE")) for job, result in zip(jobs, results, strict=True)]


def clean_traffic_comes_to_the_same(bench):
    kits = {name: (kit, clients.ON_PYTHON if name == "python" else clients.CLIENTS) for name, kit in bench.kits.items()}
    kits["openai-agents"] = bench.agents, frameworks.MODELS
    with scripted(bench.retake, CLEAN) as upstream:
        direct = {}
        for name, (kit, names) in kits.items():
            jobs = jobs_for(upstream, names)
            direct[name] = kit(jobs)
            for job, came in zip(jobs, direct[name], strict=True):
                check((came["error"], FLIGHT in (came["answer"] or "")), (None, True), f"{name}, {told(job)}")
        if bench.is_direct:
            return
        with bench.proxy(upstream, *POLICY) as proxy:
            for name, (kit, names) in kits.items():
                jobs = jobs_for(proxy.address, names)
                same(name, jobs, direct[name], kit(jobs))
        check(proxy.all("held"), [], "nothing is held")
        check({line["how"] for line in proxy.all("exchange")}, {"passed"}, "every exchange passed")


def bytes_are_not_touched(bench):
    """Head and body of each reply, whole and streamed, in each dialect."""
    message = [{"role": "user", "content": clients.QUESTION}]
    paths = {"/v1/responses": {"input": message}, "/v1/chat/completions": {"messages": message}}
    paths |= {"/v1/messages": {"messages": message, "max_tokens": 100}, "/v1/models/none": {"odd": "🙂"}}
    with scripted(bench.retake, CLEAN) as upstream:
        asked = [(path, {"model": "any", "stream": streams, **body}) for path, body in paths.items() for streams in (False, True)]
        direct = [raw(upstream, path, body) for path, body in asked]
        if bench.is_direct:
            return
        with bench.proxy(upstream, *POLICY) as proxy:
            for (path, body), wanted in zip(asked, direct, strict=True):
                status, headers, content = raw(proxy.address, path, body)
                check([status, content.decode()], [wanted[0], wanted[2].decode()], path)
                for name, value in wanted[1].items():
                    if name not in ("transfer-encoding", "content-length", "date", "connection"):
                        check(headers.get(name), value, f"{path}: {name}")


def raw(base, path, body):
    connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=PATIENCE)
    try:
        connection.request("POST", path, json.dumps(body, ensure_ascii=False).encode(), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def an_unknown_tool_ends_an_agent_unless_the_proxy_answers_for_it(bench):
    mended(bench, UNKNOWN)


def a_bad_call_among_good_ones_is_answered_and_the_good_ones_go_on(bench):
    mended(bench, AMONG_GOOD)


def mended(bench, script):
    """A script that calls a tool which is not there, whatever the client is."""
    kits = {name: (kit, clients.ON_PYTHON if name == "python" else clients.CLIENTS) for name, kit in bench.kits.items()}
    kits["openai-agents"] = bench.agents, frameworks.MODELS
    dies = {
        "python": ("KeyError", "serch_flights"),
        "node": ("TypeError", "TOOLS[name] is not a function"),
        "openai-agents": ("ModelBehaviorError", "serch_flights"),
    }
    for name, (kit, names) in kits.items():
        with scripted(bench.retake, script) as upstream:
            jobs = jobs_for(upstream, names)
            for job, came in zip(jobs, kit(jobs), strict=True):
                error = came["error"] or {}
                kind, words = dies[name]
                found = (error.get("class"), words in error.get("message", ""))
                check(found, (kind, True), f"{name}, {told(job)}: directly, {error}")
            if bench.is_direct:
                continue
            with bench.proxy(upstream, *POLICY) as proxy:
                jobs = jobs_for(proxy.address, names)
                for job, came in zip(jobs, kit(jobs), strict=True):
                    where = f"{name}, {told(job)}: through the proxy"
                    check((came["error"], FLIGHT in (came["answer"] or "")), (None, True), where)
                    check("serch_flights" in json.dumps(came), False, f"{where}: nothing is seen of the bad call")
            check(len(proxy.all("decision")), len(jobs), f"{name}: one decision for each run")
            decided = {(line["rule"], line["action"], line["by"], line["wording"]) for line in proxy.all("decision")}
            check(sorted(decided), [("unknown-tool", "inject-error", "policy", "nearest")], f"{name}: decisions")
            check(proxy.lines[-1]["mended"], len(jobs), f"{name}: mended exchanges")


def a_conversation_that_the_provider_keeps_goes_on_behind_a_mended_turn(bench):
    """Threads of Anthropic, which its tool runners use by default, and previous_response_id."""
    kits = {"python": (bench.kept, kept.CLIENTS)}
    if bench.node:
        kits["node"] = bench.kept_on_node, ["anthropic tool runner", "openai previous response"]
    for script in (CLEAN, UNKNOWN, AMONG_GOOD):
        for name, (kit, names) in kits.items():
            with scripted(bench.retake, script) as upstream:
                for job, came in zip(jobs_for(upstream, names), kit(jobs_for(upstream, names)), strict=True):
                    # Tool runners tell their model that there is no such tool, and go on.
                    is_right = came["error"] is None and FLIGHT in (came["answer"] or "")
                    check(is_right, script == CLEAN, f"{name}, {told(job)}, {script.name}: directly, {came}")
                if bench.is_direct:
                    continue
                with bench.proxy(upstream, *POLICY) as proxy:
                    jobs = jobs_for(proxy.address, names)
                    for job, came in zip(jobs, kit(jobs), strict=True):
                        where = f"{name}, {told(job)}, {script.name}: through the proxy"
                        check((came["error"], FLIGHT in (came["answer"] or "")), (None, True), f"{where}: {came}")
                        check("serch_flights" in came["ran"], False, f"{where}: the bad call does not reach it")
                check(proxy.lines[-1]["mended"], 0 if script == CLEAN else len(jobs), f"{name}, {script.name}: mended exchanges")
                found = {line["rule"] for line in proxy.all("finding")} - {"unknown-tool", "invalid-arguments"}
                check(found, set(), f"{name}, {script.name}: what else is found")


def a_suggestion_with_a_namespace_is_a_tool_of_the_agent(bench):
    """The model leaves the namespace out. openai-agents finds a tool by `name` and `namespace`, each in a member of its own."""
    a_namespace_is_put_right(bench, HERE / "namespaced.script.toml", ("unknown-tool", "take-suggestion"))


def a_namespace_in_the_name_of_a_call_gets_a_member_of_its_own(bench):
    """The model writes namespace and name with a dot between them, which is the name of no tool to the agent."""
    with tempfile.TemporaryDirectory(prefix="retake-names.") as folder:
        script = Path(folder) / "dotted.script.toml"
        text = (HERE / "namespaced.script.toml").read_text()
        script.write_text(text.replace('name = "search"', 'name = "library.search"'))
        a_namespace_is_put_right(bench, script, ("invalid-tool-name", "sanitise-name"))


def a_namespace_is_put_right(bench, script, decision):
    jobs = [{"client": "openai responses", "streams": streams, "namespaced": True} for streams in (False, True)]
    with scripted(bench.retake, script) as upstream:
        for job, came in zip(jobs, bench.agents([{**job, "base": upstream} for job in jobs]), strict=True):
            check((came["error"] or {}).get("class"), "ModelBehaviorError", f"{told(job)}: directly")
        if bench.is_direct:
            return
        with bench.proxy(upstream, "--policy", HERE / "suggest.toml") as proxy:
            for job, came in zip(jobs, bench.agents([{**job, "base": proxy.address} for job in jobs]), strict=True):
                where = f"{told(job)}: through the proxy"
                check((came["error"], "all about tides" in (came["answer"] or "")), (None, True), where)
        decided = {(line["rule"], line["action"]) for line in proxy.all("decision")}
        check(decided, {decision}, "decisions")


def a_client_that_waits_for_a_moment_only_waits_for_what_is_held(bench):
    """The model is asked again, and says nothing for longer than the client waits in silence. openai-node does not say how long that is where
    it was set for all requests, so it is longer than the time between two life signs."""
    if bench.is_direct:
        return
    with scripted(bench.retake, UNKNOWN) as model, late(model) as upstream, bench.proxy(upstream.address, *POLICY) as proxy:
        jobs = {name: jobs_for(proxy.address, timeout=LATE * 2 / 3) for name in bench.kits}
        for name, of_kit in jobs.items():
            for number, job in enumerate(of_kit):
                job["base"] += f"/{name}-{number}"
        with ThreadPoolExecutor(len(jobs)) as pool:
            came = dict(zip(jobs, pool.map(lambda name: bench.kits[name](jobs[name]), jobs), strict=True))
        for name, results in came.items():
            for job, one in zip(jobs[name], results, strict=True):
                check((one["error"], FLIGHT in (one["answer"] or "")), (None, True), f"{name}, {told(job)}")
                check("serch_flights" in json.dumps(one), False, f"{name}, {told(job)}: nothing is seen of the bad call")
    # The bad call, the late one in its place, and the answer.
    check(set(upstream.asked.values()), {3}, "questions of each conversation")
    check(proxy.lines[-1]["mended"], sum(map(len, jobs.values())), "mended exchanges")


def b16_what_a_provider_does_wrong_reaches_its_client(bench):
    """The same exception, status, message and events, directly and through the proxy."""
    with faulty() as upstream:
        direct = {name: kit(fault_jobs(upstream)) for name, kit in bench.kits.items()}
        for name, results in direct.items():
            for job, came in zip(fault_jobs(upstream), results, strict=True):
                fault = job["base"].rsplit("/", 1)[1]
                # A stream that ends too early in good order is not an error to most; only the rest must be one.
                if came["error"] is None and not job["streams"]:
                    raise Wrong(f"{name}, {told(job)}: {fault} is not an error")
        if bench.is_direct:
            return
        differ = []
        with bench.proxy(upstream) as proxy:
            for name, kit in bench.kits.items():
                jobs = fault_jobs(proxy.address)
                through = without_base(jobs, kit(jobs))
                for job, one, other in zip(jobs, without_base(fault_jobs(upstream), direct[name]), through, strict=True):
                    fault = job["base"].rsplit("/", 1)[1]
                    if other != one:
                        differ.append(f"{name}, {told(job)}, {fault}: {shortened(other)} instead of {shortened(one)}")
        if differ:
            raise Wrong("\n".join(differ))


def fault_jobs(base):
    jobs = []
    for fault in FAULTS:
        timeout = SLOW / 3 if fault == "slow" else PATIENCE
        jobs += jobs_for(f"{base}/{fault}", once=True, timeout=timeout)
    return jobs


def codex_goes_on(bench):
    if not bench.codex:
        print("skipped: Codex CLI is not installed")
        return
    run = lambda base: codex.carry_out(bench.codex, bench.folder, base)
    with scripted(bench.retake, HERE / "codex-clean.script.toml") as upstream:
        direct = run(upstream)
        check((direct["code"], direct["errors"], spoken(direct)), (0, [], "The command said hello."), "directly")
        if not bench.is_direct:
            with bench.proxy(upstream, *POLICY) as proxy:
                check(run(proxy.address), direct, "through the proxy")
            check(proxy.all("held"), [], "nothing is held")
    with scripted(bench.retake, HERE / "codex.script.toml") as upstream:
        direct = run(upstream)
        # Codex tells its model that there is no such tool, and not what it is called.
        check(spoken(direct).startswith("I cannot run commands"), True, f"directly: {direct}")
        if not bench.is_direct:
            with bench.proxy(upstream, *POLICY) as proxy:
                through = run(proxy.address)
            check((through["code"], spoken(through)), (0, "The command said hello."), f"through the proxy: {through}")
            check([line["action"] for line in proxy.all("decision")], ["inject-error"], "decisions")


def spoken(came):
    """The last words."""
    texts = [item["text"] for item in came["items"] if item["type"] == "agent_message"]
    return texts[-1] if texts else ""


STORIES = [
    clean_traffic_comes_to_the_same,
    bytes_are_not_touched,
    an_unknown_tool_ends_an_agent_unless_the_proxy_answers_for_it,
    a_bad_call_among_good_ones_is_answered_and_the_good_ones_go_on,
    a_conversation_that_the_provider_keeps_goes_on_behind_a_mended_turn,
    a_suggestion_with_a_namespace_is_a_tool_of_the_agent,
    a_namespace_in_the_name_of_a_call_gets_a_member_of_its_own,
    a_client_that_waits_for_a_moment_only_waits_for_what_is_held,
    b16_what_a_provider_does_wrong_reaches_its_client,
    codex_goes_on,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("retake")
    parser.add_argument("--node", help="the folder of the packages from npm; without it nothing runs on Node")
    parser.add_argument("--codex", help="the program of Codex CLI")
    parser.add_argument("--direct", action="store_true", help="without the proxy")
    parser.add_argument("stories", nargs="*", metavar="STORY")
    options = parser.parse_intermixed_args()
    failed = 0
    for story in STORIES:
        if options.stories and story.__name__ not in options.stories:
            continue
        title, begun = story.__name__.replace("_", " "), time.monotonic()
        with tempfile.TemporaryDirectory(prefix="retake-proxy.") as folder:
            try:
                story(Bench(options, folder))
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
