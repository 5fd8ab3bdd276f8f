"""The five agents without their screens, each with a home of its own and a provider on loopback.

An agent runs one prompt in a new session or in one that it resumes; what it asked its provider is in the relay. Nothing that is not
loopback is needed: updates, telemetry and lists of models are off.
"""

import json
import os
import subprocess
from pathlib import Path

PATIENCE = 120  # seconds
MODEL = "scripted-model"


class Agent:
    """`name` is what `retake convert --to` calls it."""

    store = None  # the database that holds its sessions, where each has no file of its own
    server = None  # the command of an MCP server whose tools it has

    def __init__(self, binaries, home, work, address):
        self.program = str(Path(binaries) / self.binary)
        self.home, self.work, self.address = Path(home), Path(work), address
        self.home.mkdir(parents=True, exist_ok=True)
        self.set_up()

    def set_up(self):
        """Writes the settings that the program needs."""

    def environment(self):
        return {}

    def run(self, *arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "dumb", **self.environment()}
        return subprocess.run(
            [self.program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.work,
            timeout=PATIENCE,
            check=False,
        )

    def session(self):
        """The file of the session that was written last."""
        return max(self.home.glob(self.sessions), key=lambda path: path.stat().st_mtime_ns)


class ClaudeCode(Agent):
    name, binary = "claude-code", "claude"
    sessions = ".claude/projects/*/*.jsonl"

    def environment(self):
        quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"]
        return {"ANTHROPIC_BASE_URL": self.address, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(quiet, "1")}

    def ask(self, prompt, resume=None):
        resumed = ["--resume", resume] if resume else []
        allowed, servers = "Bash", []
        if self.server:
            allowed = "Bash,mcp__retake"
            server = {"command": self.server[0], "args": self.server[1:]}
            servers = ["--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {"retake": server}})]
        return self.run("-p", prompt, *resumed, "--model", "claude-sonnet-4-5", "--allowedTools", allowed, *servers)

    def id_of(self, path):
        return path.stem


class Codex(Agent):
    name, binary = "codex", "codex"
    sessions = ".codex/sessions/*/*/*/rollout-*.jsonl"

    def environment(self):
        return {"OPENAI_API_KEY": "none"}

    def ask(self, prompt, resume=None):
        provider = f'{{ name = "retake", base_url = "{self.address}/v1", env_key = "OPENAI_API_KEY", wire_api = "responses" }}'
        settings = ["-c", "model_provider=retake", "-c", f"model_providers.retake={provider}"]
        if self.server:
            server = f"{{ command = {json.dumps(self.server[0])}, args = {json.dumps(self.server[1:])} }}"
            settings += ["-c", f"mcp_servers.retake={server}"]
        # Its sandbox needs more than every machine allows.
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", MODEL]
        resumed = ["resume", resume] if resume else []
        return self.run(*settings, "exec", *options, *resumed, prompt)

    def id_of(self, path):
        return path.stem[-36:]


class Pi(Agent):
    name, binary = "pi", "pi"
    sessions = ".pi/agent/sessions/*/*.jsonl"

    def set_up(self):
        model = {"id": MODEL, "name": MODEL, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096}
        provider = {"baseUrl": f"{self.address}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
        folder = self.home / ".pi/agent"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "models.json").write_text(json.dumps({"providers": {"retake": provider}}), encoding="utf-8")

    def environment(self):
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def ask(self, prompt, resume=None):
        resumed = ["--session", resume] if resume else []
        return self.run("-p", "--provider", "retake", "--model", MODEL, *resumed, prompt)

    def id_of(self, path):
        return path.stem.rsplit("_", 1)[1]


class GeminiCli(Agent):
    name, binary = "gemini-cli", "gemini"
    sessions = ".gemini/tmp/*/chats/session-*.jsonl"

    def set_up(self):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        }
        folder = self.home / ".gemini"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def environment(self):
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.address, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def ask(self, prompt, resume=None):
        resumed = ["--resume", resume] if resume else []
        return self.run("-p", prompt, *resumed, "--approval-mode", "yolo", "-m", "gemini-2.5-flash")

    def id_of(self, path):
        return json.loads(path.read_text(encoding="utf-8").splitlines()[0])["sessionId"]


class Opencode(Agent):
    """Its sessions are in a database: they leave it with `opencode export` and come back with `opencode import`."""

    name, binary = "opencode", "opencode"

    def set_up(self):
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "retake",
            "options": {"baseURL": f"{self.address}/v1", "apiKey": "none"},
            "models": {MODEL: {"name": MODEL}},
        }
        settings = {"autoupdate": False, "share": "disabled", "provider": {"retake": provider}}
        self.store = self.home / ".local/share/opencode/opencode.db"
        folder = self.home / ".config/opencode"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")

    def environment(self):
        quiet = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD"]
        return {"npm_config_offline": "true", **{f"OPENCODE_DISABLE_{what}": "1" for what in quiet}}

    def ask(self, prompt, resume=None):
        resumed = ["-s", resume] if resume else []
        return self.run("run", "-m", f"retake/{MODEL}", *resumed, prompt)

    def session(self):
        listed = self.run("session", "list").stdout
        session = next(word for word in listed.split() if word.startswith("ses_"))
        path = self.home / f"{session}.json"
        path.write_text(self.run("export", session).stdout, encoding="utf-8")
        return path

    def id_of(self, path):
        return json.loads(path.read_text(encoding="utf-8"))["info"]["id"]

    def take_in(self, path):
        """Gives the program a session from a file."""
        taken = self.run("import", str(path))
        return self.id_of(path) if taken.returncode == 0 else None


AGENTS = [ClaudeCode, Codex, Pi, GeminiCli, Opencode]
