#!/usr/bin/python3
"""Renders golden.json and snippets-golden.json with jinja2 (3.1.6) set up as Hugging Face's transformers does.

Run in this directory: python3 generate.py
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
environment.globals["dict"] = lambda *args, **kwargs: dict(*args, **kwargs)
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
NO_CONTENT = {"role": "assistant", "content": None, "tool_calls": CALL["tool_calls"]}
PARTS = {"role": "user", "content": [{"type": "text", "text": " First "}, {"type": "text", "text": "second"}]}
ONE_PART = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
RESULT_PARTS = {"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
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
    "text parts": ([ONE_PART, PARTS, ASSISTANT, PARTS], {}),
    "no content beside calls": ([USER, NO_CONTENT, RESULT_PARTS], {"tools": TOOLS}),
}
# name: begin token, end token, in which form the template takes content
TEMPLATES = {
    "chatml": (None, "<|im_end|>", "text"), "qwen3": (None, "<|im_end|>", "text"),
    "llama31": ("<|begin_of_text|>", "<|eot_id|>", "text"), "mistral": ("<s>", "</s>", "text"),
    "warmpath": ("<|begin|>", "<|end|>", "text"), "torture": ("<s>", "</s>", "text"),
    "parts": ("<s>", None, "text or parts"), "parts-only": (None, None, "parts"),
    "asks-none": (None, None, "text or none"), "callers": (None, None, "text")}


def shaped(message, form):
    """As vLLM hands it to a template that takes this form; a template that looks for strings gets them as strings."""
    content = message["content"]
    if content is None:
        content = None if "none" in form else "" if "text" in form else []
    else:
        texts = [content] if isinstance(content, str) else [part["text"] for part in content]
        whole = "parts" not in form or message["role"] == "tool" or "text" in form and len(texts) == 1
        content = "\n".join(texts) if whole else [{"type": "text", "text": text} for text in texts]
    return {**message, "content": content}


cases = []
for template, (bos, eos, form) in TEMPLATES.items():
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
                    messages=[shaped(message, form) for message in messages], add_generation_prompt=generation_prompt, **variables)
            except jinja2.exceptions.TemplateError as e:
                if type(e) is not jinja2.exceptions.TemplateError:
                    raise
                case["refused"] = str(e)
            cases.append(case)
            if template == "torture":
                break
        if template == "torture" and name == "several turns":
            break
with open("golden.json", "w", encoding="utf-8") as file:
    json.dump(cases, file, ensure_ascii=False, indent=1)
    file.write("\n")

VARIABLES = {"spec": {"type": "array", "items": {"type": "string"}, "keys": "k"}, "list": [1, 2, 3]}
snippets = []
for topic in json.load(open("snippets.json", encoding="utf-8")):
    for template in topic["templates"]:
        snippet = {"topic": topic["topic"], "template": template}
        try:
            snippet["text"] = environment.from_string(template).render(messages=[SYSTEM, USER], **VARIABLES)
        except Exception as e:
            snippet["error"] = type(e).__name__ + ": " + str(e)
        snippets.append(snippet)
with open("snippets-golden.json", "w", encoding="utf-8") as file:
    json.dump({"variables": VARIABLES, "messages": [SYSTEM, USER], "snippets": snippets}, file, ensure_ascii=False,
              indent=1)
    file.write("\n")
print(len(snippets), "snippets,", sum("error" in snippet for snippet in snippets), "fail")
print(len(cases), "cases,", sum("refused" in case for case in cases), "refused")
