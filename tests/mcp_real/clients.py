"""The official Python client against `retake mcp-serve`.

    python clients.py RETAKE

Exit code 1: a story went another way.
"""

import asyncio
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp.client.streamable_http import streamable_http_client
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as streamable_http_client

SESSIONS = Path(__file__).resolve().parents[2] / "sessions"
READ_ONLY = {"find_defects", "show_transcript", "propose_fix", "check_request"}


def holds(is_so, what):
    if not is_so:
        raise AssertionError(what)


@asynccontextmanager
async def over_stdio(retake, *options):
    """A session with a server that the client starts."""
    server = StdioServerParameters(command=retake, args=["mcp-serve", *options])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextmanager
def listening(retake, *options):
    """A server over HTTP: its address with the token."""
    command = [retake, "mcp-serve", "--http", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@asynccontextmanager
async def over_http(retake, *options):
    """A session with a server that listens."""
    with listening(retake, *options) as url:
        async with streamable_http_client(url) as streams, ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            yield session


async def text(session, tool, is_error=False, **arguments):
    """The text of an answer."""
    result = await session.call_tool(tool, arguments)
    failed = getattr(result, "is_error", None)
    failed = result.isError if failed is None else failed
    holds(bool(failed) == is_error, f"{tool}: {result}")
    return result.content[0].text


async def debugs(connect, retake):
    """An agent lists, checks, reads in pages, proposes and writes."""
    with tempfile.TemporaryDirectory() as folder:
        async with connect(retake, "--root", str(SESSIONS), "--allow-write", folder) as session:
            tools = {tool.name for tool in (await session.list_tools()).tools}
            holds(READ_ONLY | {"apply_fix"} <= tools, tools)
            listed = await text(session, "list_recordings", filter="rule:unknown-tool")
            holds("unknown-tool.json" in listed, listed)
            path = str(SESSIONS / "unknown-tool.json")
            found = await text(session, "find_defects", path=path)
            holds("search_onestop_flights" in found, found)
            page = await text(session, "show_transcript", path=path, max_tokens=200)
            holds("call again with cursor=" in page, page)
            diff = await text(session, "propose_fix", path=path, action="inject-error", words="No {{ tool }}.")
            holds("No search_onestop_flights." in diff, diff)
            await text(session, "apply_fix", path=path, output="fixed.json", action="inject-error", words="No {{ tool }}.")
            holds("No search_onestop_flights." in Path(folder, "fixed.json").read_text(encoding="utf-8"), "nothing was written")
            await text(session, "find_defects", is_error=True, path="/etc/hostname")
            await text(session, "find_defects", is_error=True)


async def many_at_a_time(connect, retake):
    """Calls wait for each other and not for ever."""
    async with connect(retake, "--root", str(SESSIONS)) as session:
        paths = sorted(path for path in SESSIONS.glob("*.json") if path.name != "truth.json" and ".tools" not in path.name)
        answers = await asyncio.gather(*(text(session, "find_defects", path=str(path)) for path in paths))
        for path, answer in zip(paths, answers, strict=True):
            holds(path.name in answer, f"{path.name}: {answer}")


def main():
    retake = str(Path(sys.argv[1]).resolve())
    stories = [(connect, story) for connect in (over_stdio, over_http) for story in (debugs, many_at_a_time)]
    failed = 0
    for connect, story in stories:
        name = f"python, {connect.__name__}, {story.__name__}".replace("_", " ")
        try:
            asyncio.run(asyncio.wait_for(story(connect, retake), 120))
            print(f"ok    {name}", flush=True)
        except BaseException as error:
            failed += 1
            print(f"WRONG {name}: {error!r}", flush=True)
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
                print(f"      {error!r}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
