"""A server of the reference package `mcp`, over its standard streams or over streamable HTTP.

    python server.py MARKS                 over the standard streams
    python server.py MARKS --http [PORT]   on loopback, on a free port if none is given; its first line is the address

Every start of the server and of `wait` leaves a line in the file MARKS: what happened, and the process.
"""

import os
import socket
import sys

import anyio
from mcp.server import MCPServer

MARKS = sys.argv[1]

server = MCPServer("desk")


def mark(what):
    with open(MARKS, "a", encoding="utf-8") as marks:
        marks.write(f"{what} {os.getpid()}\n")


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    print(f"add was called with {a} and {b}", file=sys.stderr, flush=True)
    return f"the sum is {a + b}"


@server.tool()
async def wait(file: str) -> str:
    """Waits until there is a file."""
    mark("wait")
    while not os.path.exists(file):
        await anyio.sleep(0.05)
    return "waited"


@server.tool()
def divide(a: int, b: int) -> str:
    """Divides."""
    return f"{a / b}"


def listening(port):
    """A socket of our own, so that nobody takes the port before the server does."""
    there = socket.socket()
    there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    there.bind(("127.0.0.1", port))
    there.listen()
    return there


def serve_http(port):
    import uvicorn

    there = listening(port)
    application = server.streamable_http_app()
    print(f"http://127.0.0.1:{there.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="warning")).run(sockets=[there])


if __name__ == "__main__":
    mark("start")
    print("\x1b[31mdesk is up\x1b[0m", file=sys.stderr, flush=True)
    if "--http" in sys.argv:
        serve_http(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    else:
        server.run()
