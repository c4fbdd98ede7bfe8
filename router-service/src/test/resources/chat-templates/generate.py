#!/usr/bin/python3
"""Renders golden.json with jinja2 (Debian: python3-jinja2) set up as Hugging Face's transformers does.

Run in this directory: /usr/bin/python3 generate.py
"""
import json

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """As transformers' AssistantTracker, without its bookkeeping."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = lambda pattern: {"%d %b %Y": "05 Nov 2026"}[pattern]

SYSTEM = {"role": "system", "content": "You are terse."}
USER = {"role": "user", "content": "Hello, what is 2 + 2?"}
ASSISTANT = {"role": "assistant", "content": "4"}
THINKING = {"role": "assistant", "content": "<think>\nadd them\n</think>\n\n4"}
AGAIN = {"role": "user", "content": "  Größe 😀 \n日本語?  "}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}}]}
RESULT = {"role": "tool", "content": '{"celsius": 21.5}'}
TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "Says the \"weather\"",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                   "required": ["city"]}}}]
CONVERSATIONS = {
    "user": ([USER], {}),
    "system and user": ([SYSTEM, USER], {}),
    "several turns": ([SYSTEM, USER, ASSISTANT, AGAIN], {}),
    "no system, several turns": ([USER, ASSISTANT, AGAIN], {}),
    "ends with the assistant": ([USER, ASSISTANT], {}),
    "thinking in the past": ([USER, THINKING, AGAIN], {}),
    "thinking at the end": ([USER, THINKING], {}),
    "no thinking": ([USER], {"enable_thinking": False}),
    "tools": ([SYSTEM, USER], {"tools": TOOLS}),
    "tool call and result": ([SYSTEM, USER, CALL, RESULT], {"tools": TOOLS}),
    "two users in a row": ([USER, AGAIN], {}),
    "content with markup": ([{"role": "user", "content": "{{ 7 * 7 }} {% if %} <|im_end|> [INST] <|user|>"}], {}),
    "empty content": ([{"role": "user", "content": ""}], {}),
}
TOKENS = {"chatml": (None, "<|im_end|>"), "qwen3": (None, "<|im_end|>"), "llama31": ("<|begin_of_text|>", "<|eot_id|>"),
          "mistral": ("<s>", "</s>"), "warmpath": ("<|begin|>", "<|end|>"), "torture": ("<s>", "</s>")}

cases = []
for template, (bos, eos) in TOKENS.items():
    compiled = environment.from_string(open(template + ".jinja", encoding="utf-8").read())
    for name, (messages, extra) in CONVERSATIONS.items():
        for generation_prompt in (True, False):
            variables = {"tools": None, "documents": None, **extra}
            if bos is not None:
                variables["bos_token"] = bos
            if eos is not None:
                variables["eos_token"] = eos
            case = {"template": template, "name": name, "messages": messages, "add_generation_prompt": generation_prompt,
                    "bos_token": bos, "eos_token": eos, "variables": extra}
            try:
                case["prompt"] = compiled.render(
                    messages=messages, add_generation_prompt=generation_prompt, **variables)
            except jinja2.exceptions.UndefinedError as e:
                case["undefined"] = str(e)
            except jinja2.exceptions.TemplateError as e:
                case["refused"] = str(e)
            cases.append(case)
            if template == "torture":
                break
        if template == "torture" and name == "several turns":
            break
with open("golden.json", "w", encoding="utf-8") as file:
    json.dump(cases, file, ensure_ascii=False, indent=1)
    file.write("\n")
print(len(cases), "cases,", sum("refused" in case for case in cases), "refused")
