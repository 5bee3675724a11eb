# SPDX-License-Identifier: Apache-2.0
"""usage: agents_program.py chat|responses streamed|whole PROMPT

An agent of the OpenAI Agents SDK with a shell and a helper agent as tools; prints its final answer."""
import asyncio
import subprocess
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api


@function_tool
def shell(command: str) -> str:
    """Runs a command and returns what it printed."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


async def main(api, how, prompt):
    set_default_openai_api("chat_completions" if api == "chat" else "responses")
    helper = Agent(name="helper", model="m", instructions="You do one part of a task.", tools=[shell])
    tool = helper.as_tool("helper", "Does one part of the task.")
    agent = Agent(name="worker", model="m", instructions="You do tasks with a shell.", tools=[shell, tool])
    if how == "streamed":
        result = Runner.run_streamed(agent, prompt)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, prompt)
    print(result.final_output)

asyncio.run(main(*sys.argv[1:]))
