"""A provider that takes its time for the second question of each conversation: the first segment of the path says which conversation.

Behind it is another provider, which answers. Only loopback is bound.
"""

import http.client
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from programs import PATIENCE

LATE = 12  # seconds, without a byte


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        conversation, path = self.path.removeprefix("/").split("/", 1)
        with self.server.lock:
            self.server.asked[conversation] += 1
            is_second = self.server.asked[conversation] == 2
        if is_second:
            time.sleep(LATE)
        connection = http.client.HTTPConnection(self.server.behind, timeout=PATIENCE)
        connection.request("POST", f"/{path}", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        self.send_response(reply.status)
        self.send_header("content-type", reply.headers["content-type"])
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Quiet."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def late(behind):
    """Gives the server; its `address` is without the conversation, `asked` counts the questions of each."""
    server = Server(("127.0.0.1", 0), Handler)
    server.behind, server.lock, server.asked = behind.removeprefix("http://").rstrip("/"), threading.Lock(), Counter()
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
