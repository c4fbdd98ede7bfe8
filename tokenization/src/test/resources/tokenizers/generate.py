#!/usr/bin/env python3
"""Trains the two small tokenizers of the tests (pip: tokenizers). Run in this directory.

byte-level.json: byte-level BPE as Llama 3, Qwen and warmpath-tiny have it.
metaspace.json:  BPE with byte fallback and a leading-space rule as Llama 2 and Mistral have it.
"""
import json

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

TEXT = """You are a helpful assistant. The quick brown fox jumps over the lazy dog. What is the capital of France?
Once upon a time there was a little model that learned to count tokens; it counted one, two, three, and then it stopped.
Größe und Übermut tun selten gut. 日本語のテキスト、日本の首都は東京です。 你好,世界! 😀😃😄 naïve café résumé.
for (int i = 0; i < 10; i++) { return i; }
"""
MARKERS = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|pad|>"]


def finish(tokenizer, trainer, name):
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in ("<think>", "</think>")])
    tokenizer.add_special_tokens([AddedToken("<|wide|>", special=True, lstrip=True, rstrip=True)])
    begin = tokenizer.token_to_id("<|begin|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B", special_tokens=[("<|begin|>", begin)])
    saved = json.loads(tokenizer.to_str())
    # the trainer takes byte tokens as special ones; in models that are published they are only vocabulary
    saved["added_tokens"] = [token for token in saved["added_tokens"] if not token["content"].startswith("<0x")]
    with open(name, "w", encoding="utf-8") as file:
        json.dump(saved, file, ensure_ascii=False, indent=1)
        file.write("\n")


byte_level = Tokenizer(models.BPE())
byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
byte_level.decoder = decoders.ByteLevel()
finish(byte_level, trainers.BpeTrainer(
    vocab_size=480, special_tokens=MARKERS, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    show_progress=False), "byte-level.json")

metaspace = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
metaspace.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
metaspace.decoder = decoders.Sequence([
    decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
alphabet = [chr(c) for c in range(0x20, 0x7f)]
finish(metaspace, trainers.BpeTrainer(
    vocab_size=520, limit_alphabet=100, initial_alphabet=alphabet, show_progress=False,
    special_tokens=["<unk>", *MARKERS, *(f"<0x{b:02X}>" for b in range(256))]), "metaspace.json")
