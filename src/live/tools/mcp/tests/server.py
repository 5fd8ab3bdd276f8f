"""A server that speaks just enough of the Model Context Protocol, and goes wrong in the way its first argument names."""
import json
import os
import sys
import time

how = sys.argv[1]
out = sys.stdout.buffer


def send(message):
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def tool(name, **more):
    return {"name": name, "description": "a tool", "inputSchema": {"type": "object"}, **more}


def tools():
    if how == "many":
        return [tool(f"tool_{number}") for number in range(10_000)]
    if how == "names":
        return [tool("good"), tool("good"), tool("bad.name"), tool("e\x1b[2Jvil"), tool("x" * 100)]
    if how == "schemas":
        circle = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
        bad = [tool("null", inputSchema=None), tool("list", inputSchema=[]), {"inputSchema": {}}, 7]
        return [tool("good"), *bad, tool("circle", inputSchema=circle), tool("last")]
    return [tool("say"), tool("fail")]


def call(request):
    arguments = request["params"].get("arguments", {})
    if how == "die-in-call":
        os._exit(3)
    if how == "die-once" and not os.path.exists(sys.argv[2]):
        open(sys.argv[2], "w").close()
        os._exit(3)
    if how == "hang-in-call":
        time.sleep(600)
    if how == "late":
        time.sleep(1)
    if how == "garbage":
        out.write(b"INFO: working\n\x1b[2J\x00\n\xef\xbb\xbf{\"half\": \n{\"jsonrpc\":\"2.0\"}\r\n")
    if how == "flood":
        out.write(b"x" * (20 * 1024 * 1024) + b"\n")
    if how == "abuse":
        send({"jsonrpc": "2.0", "id": 424242, "result": text("for somebody else")})
        send({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
        send({"jsonrpc": "2.0", "id": 2, "method": "made/up", "params": {}})
    if how == "stderr":
        sys.stderr.write("\x1b]0;evil\x07" * 10 + "\n" + "y" * 3_000_000 + "\n")
        for line in range(1000):
            sys.stderr.write(f"line {line}\n")
        sys.stderr.flush()
    if how == "refuse":
        return send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no such row"}})
    if request["params"]["name"] == "fail":
        return answer(request, {"content": [], "isError": True})
    if how == "picture":
        blocks = [{"type": "text", "text": "here"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}]
        return answer(request, {"content": blocks})
    if how == "structured":
        return answer(request, {"content": [], "structuredContent": {"n": 1}})
    if how == "long":
        return answer(request, text("a" * 1_000_000))
    if how == "environment":
        return answer(request, text(" ".join(sorted(os.environ)) + f" session {os.getsid(0) == os.getpid()}"))
    answer(request, text("said " + str(arguments.get("words"))))
    if how == "abuse":
        answer(request, text("twice"))


if how == "die-at-start":
    os._exit(3)
for line in sys.stdin.buffer:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        if how == "hang-at-hello":
            time.sleep(600)
        if how == "die-at-hello":
            os._exit(3)
        version = request["params"]["protocolVersion"]
        answer(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}})
    elif method == "tools/list":
        answer(request, {"tools": tools()})
    elif method == "tools/call":
        call(request)
if how == "stays":
    time.sleep(600)
