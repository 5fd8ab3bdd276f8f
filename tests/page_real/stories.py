"""Pages of `retake export --to html` in a headless Chromium: stories.py RETAKE CHROMIUM

Every request of the browser goes to a proxy on loopback that only counts, and a script of the page would change its title.
The first story shows that both would be seen.
"""

import json
import pathlib
import re
import socketserver
import subprocess
import sys
import tempfile
import threading

RETAKE, CHROMIUM = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
ROOT = pathlib.Path(__file__).resolve().parents[2]
ATTACKS = [
    "<script>document.title='owned'</script>",
    "<img src=http://page.test/image onerror=\"document.title='owned'\">",
    "</style></head><script>document.title='owned'</script>",
    "\"><svg onload=\"document.title='owned'\">",
    "<link rel=stylesheet href=http://page.test/style>",
    "<style>body{background:url(http://page.test/back)}</style>",
    "<iframe src=http://page.test/frame></iframe>",
    "<meta http-equiv=refresh content='0;url=http://page.test/'>",
    "</details></div><a href=\"javascript:document.title='owned'\">x</a>",
]


class Counter(socketserver.ThreadingTCPServer):
    """A proxy that refuses everything and remembers what was asked for."""

    daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            line = self.rfile.readline().decode("latin-1").strip()
            if "page.test" in line:
                self.server.seen.append(line)
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.seen = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


def browse(page, counter):
    """The document after the page was loaded, and what was requested on the way."""
    counter.seen.clear()
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={profile}", f"--proxy-server=http://127.0.0.1:{counter.server_address[1]}",
                "--virtual-time-budget=3000", "--dump-dom", page.as_uri(),
            ],
            capture_output=True, text=True, timeout=120,
        )
    assert run.returncode == 0, run.stderr
    return run.stdout, list(counter.seen)


def title(document):
    return re.search(r"<title>(.*?)</title>", document, re.S).group(1)


def hostile():
    corpus = json.loads((ROOT / "tests/it/hostile/escape_corpus.json").read_text())
    texts = ATTACKS + [item["text"] for item in corpus["items"] if item.get("text")]
    messages = []
    for number, text in enumerate(texts):
        call = {"name": text, "arguments": json.dumps({"command": text, text: text})}
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": text,
             "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{text}\n{text}"},
        ]
    return json.dumps({"model": ATTACKS[0], "messages": messages}), len(texts)


def main():
    counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        control = folder / "control.html"
        control.write_text(f"<!doctype html><title>mine</title><body>{ATTACKS[1]}{ATTACKS[0]}")
        document, requested = browse(control, counter)
        assert title(document) == "owned" and requested, (title(document), requested)
        print("ok: a script that runs and a request that leaves would be seen")

        text, count = hostile()
        (folder / "run.json").write_text(text)
        page = folder / "page.html"
        subprocess.run(
            [RETAKE, "export", folder / "run.json", "--to", "html", "--keep-secrets", "-o", page], check=True
        )
        document, requested = browse(page, counter)
        assert title(document) == "run.json", title(document)
        assert not requested, requested
        assert document.count('class="turn"') >= count, document.count('class="turn"')
        for tag in ("<script", "<img", "<svg", "<iframe", "<link", "http-equiv=\"refresh\""):
            assert tag not in document, tag
        print(f"ok: {count} hostile texts in four places each: no script ran, nothing was requested")

        for session in sorted((ROOT / "sessions").iterdir()):
            name = session.name
            if session.is_dir() or name in ("README.md", "truth.json", ".gitattributes") or ".tools." in name:
                continue
            page = folder / "session.html"
            # A database is not read without its secrets.
            more = ["--keep-secrets"] if session.suffix == ".db" else []
            subprocess.run([RETAKE, "export", session, "--to", "html", "-o", page, "--force", *more], check=True)
            document, requested = browse(page, counter)
            assert not requested, (session.name, requested)
            ids = set(re.findall(r' id="([^"]+)"', document))
            links = set(re.findall(r'href="#([^"]+)"', document))
            assert "turn-1" in ids and links <= ids, (session.name, sorted(links - ids))
        print("ok: the bundled sessions: every link leads to its place, nothing is requested")


main()
