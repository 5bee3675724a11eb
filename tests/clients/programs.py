# SPDX-License-Identifier: Apache-2.0
"""The client programs: how each is started against a gateway, and the names of its tools."""
import json
import pathlib
import shutil

from wire import Call

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
NODE_BIN = BUILD / "node-clients/node_modules/.bin"
VENV_BIN = BUILD / "venv-clients/bin"


def base_env(home):
    """A private home and nothing of ours; some clients are scripts of node."""
    path = [str(pathlib.Path(shutil.which("node")).parent), "/usr/local/bin", "/usr/bin", "/bin"]
    return {"HOME": str(home), "PATH": ":".join(path), "LANG": "C.UTF-8", "TMPDIR": str(home)}


class Codex:
    """Codex CLI: responses, streamed."""
    shell = staticmethod(lambda command: Call("exec_command", {"cmd": command}))
    program = NODE_BIN / "codex"

    @staticmethod
    def spawn(prompt):
        return Call("spawn_agent", {"message": prompt}, "multi_agent_v1")

    @staticmethod
    def wait_for(spawned):
        """Waits for the agent that the call with this index started."""
        return Call("wait_agent", lambda results: {"targets": [json.loads(results[spawned])["agent_id"]],
                                                   "timeout_ms": 60000}, "multi_agent_v1")

    def command(self, gateway, home, prompt, resumed=False):
        config = home / ".codex"
        config.mkdir(exist_ok=True)
        (config / "config.toml").write_text(
            'model = "m"\nmodel_provider = "gateway"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.gateway]\nname = "gateway"\n'
            f'base_url = "{gateway.base}/v1"\nwire_api = "responses"\n[features]\nmulti_agent = true\n'
            '[analytics]\nenabled = false\n')
        resume = ["resume", "--last"] if resumed else []
        return [str(self.program), "exec", "--skip-git-repo-check", *resume, prompt], base_env(home)


class OpenCode:
    """OpenCode: chat completions, streamed."""
    shell = staticmethod(lambda command: Call("bash", {"command": command, "description": "a test"}))
    program = NODE_BIN / "opencode"

    @staticmethod
    def spawn(prompt):
        return Call("task", {"description": "a part", "prompt": prompt, "subagent_type": "general"})

    def command(self, gateway, home, prompt, resumed=False):
        config = home / ".config/opencode"
        config.mkdir(parents=True, exist_ok=True)
        (config / "opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "permission": {"*": "allow"},
            "provider": {"gateway": {
                "npm": "@ai-sdk/openai-compatible", "name": "gateway", "models": {"m": {"name": "m"}},
                "options": {"baseURL": f"{gateway.base}/v1", "apiKey": "any"}}}}))
        resume = ["-c"] if resumed else []
        return [str(self.program), "run", "-m", "gateway/m", *resume, prompt], {
            **base_env(home), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


class ClaudeCode:
    """Claude Code: messages, streamed."""
    shell = staticmethod(lambda command: Call("Bash", {"command": command, "description": "a test"}))
    program = NODE_BIN / "claude"

    @staticmethod
    def spawn(prompt):
        return Call("Agent", {"description": "a part", "prompt": prompt, "subagent_type": "general-purpose"})

    def command(self, gateway, home, prompt, resumed=False):
        env = {**base_env(home), "ANTHROPIC_BASE_URL": gateway.base, "ANTHROPIC_API_KEY": "any",
               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        resume = ["-c"] if resumed else []
        return [str(self.program), "-p", prompt, *resume, "--model", "m", "--allowedTools", "Bash", "Agent"], env


class MiniSwe:
    """mini-swe-agent: chat completions through litellm, not streamed."""
    shell = staticmethod(lambda command: Call("bash", {"command": command}))
    program = VENV_BIN / "mini"
    finish = Call("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})

    def command(self, gateway, home, prompt):
        env = {**base_env(home), "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors",
               "OPENAI_API_BASE": f"{gateway.base}/v1", "OPENAI_API_KEY": "any", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        return [str(self.program), "-m", "openai/m", "-t", prompt, "-y", "--exit-immediately"], env


class OpenAIAgents:
    """The OpenAI Agents SDK, driven by agents_program.py; api: chat or responses."""
    shell = staticmethod(lambda command: Call("shell", {"command": command}))
    program = VENV_BIN / "python"

    def __init__(self, api="responses", streamed=True):
        self.how = [api, "streamed" if streamed else "whole"]

    @staticmethod
    def spawn(prompt):
        return Call("helper", {"input": prompt})

    def command(self, gateway, home, prompt):
        env = {**base_env(home), "OPENAI_BASE_URL": f"{gateway.base}/v1", "OPENAI_API_KEY": "any",
               "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        return [str(self.program), str(HERE / "agents_program.py"), *self.how, prompt], env
