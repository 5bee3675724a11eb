#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small Llama of random weights as GGUF, for llama-server: it computes as a model does and says nonsense.

Its tokens are the words of the bench's text (bench/replay/text.c), each with the blank before it, and single
characters for all else. It answers with such words only, so that an answer sent back as part of a prompt is the same
tokens again. The first number of each hidden state is kept constant by the weights; the output layer uses it to make
all other tokens improbable.
"""

import array
import os
import random
import re
import struct
import sys

U32, F32, BOOL, TEXT, ARRAY = 4, 6, 7, 8, 9
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
PLAIN = "\u2581\n" + "".join(chr(c) for c in range(33, 127))
WORDS_FROM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replay", "text.c")
WORD_LETTERS = 3


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def vocabulary():
    """Token, kind, score."""
    tokens = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    tokens += [(f"<0x{b:02X}>", BYTE, 0.0) for b in range(256)]
    with open(WORDS_FROM, encoding="utf-8") as file:
        letters = "".join(re.findall(r'"([a-z]+)"', file.read()))
    words = ["\u2581" + letters[i:i + WORD_LETTERS] for i in range(0, len(letters), WORD_LETTERS)]
    # A word is joined from its first letter on; no other pair of pieces is a token, so there is one way to do it.
    pieces = {word[:n]: None for n in range(2, WORD_LETTERS + 2) for word in words}
    return tokens + [(piece, NORMAL, -1.0 - i) for i, piece in enumerate([*reversed(pieces), *PLAIN])]


def is_word(token):
    return token[0] == "\u2581" and len(token) == WORD_LETTERS + 1


def header(tokens, width, layers, heads, inner, context):
    def entry(key, kind, raw):
        return text(key) + struct.pack("<I", kind) + raw

    def number(key, value):
        return entry(key, U32, struct.pack("<I", value))

    def listed(key, kind, raws):
        return entry(key, ARRAY, struct.pack("<IQ", kind, len(raws)) + b"".join(raws))

    return [
        entry("general.architecture", TEXT, text("llama")), number("general.alignment", 32),
        number("llama.block_count", layers), number("llama.context_length", context),
        number("llama.embedding_length", width), number("llama.feed_forward_length", inner),
        number("llama.attention.head_count", heads), number("llama.attention.head_count_kv", heads),
        number("llama.rope.dimension_count", width // heads), number("llama.vocab_size", len(tokens)),
        entry("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)),
        entry("tokenizer.ggml.model", TEXT, text("llama")),
        listed("tokenizer.ggml.tokens", TEXT, [text(t) for t, _, _ in tokens]),
        listed("tokenizer.ggml.scores", F32, [struct.pack("<f", s) for _, _, s in tokens]),
        listed("tokenizer.ggml.token_type", 5, [struct.pack("<i", k) for _, k, _ in tokens]),
        number("tokenizer.ggml.unknown_token_id", 0), number("tokenizer.ggml.bos_token_id", 1),
        number("tokenizer.ggml.eos_token_id", 2), entry("tokenizer.ggml.add_bos_token", BOOL, b"\x01"),
        entry("tokenizer.ggml.add_space_prefix", BOOL, b"\x00"),
    ]


def tensors(tokens, width, layers, inner, seed):
    """Name, dimensions (the innermost first), numbers."""
    rng = random.Random(seed)

    def matrix(rows, columns, deviation, keeps_first=False):
        numbers = array.array("f", (rng.gauss(0, deviation) for _ in range(rows * columns)))
        if keeps_first:
            numbers[:columns] = array.array("f", bytes(4 * columns))
        return numbers

    ones = array.array("f", [1.0]) * width
    enter, leave = matrix(len(tokens), width, 1), matrix(len(tokens), width, 0.3)
    for i, (token, _, _) in enumerate(tokens):
        enter[i * width] = 8.0
        leave[i * width] = 0.0 if is_word(token) else -200.0
    made = [("token_embd", (width, len(tokens)), enter), ("output", (width, len(tokens)), leave),
            ("output_norm", (width,), ones)]
    deviation = 1.6 / width ** 0.5
    for i in range(layers):
        made += [(f"blk.{i}.{name}", (width,), ones) for name in ("attn_norm", "ffn_norm")]
        made += [(f"blk.{i}.attn_{name}", (width, width), matrix(width, width, deviation, name == "output"))
                 for name in ("q", "k", "v", "output")]
        made += [(f"blk.{i}.ffn_{name}", (width, inner), matrix(inner, width, deviation)) for name in ("gate", "up")]
        made.append((f"blk.{i}.ffn_down", (inner, width), matrix(width, inner, deviation, True)))
    return made


def write_model(path, width=256, layers=4, heads=4, inner=1024, context=16384, seed=1):
    tokens = vocabulary()
    head = header(tokens, width, layers, heads, inner, context)
    parts = tensors(tokens, width, layers, inner, seed)
    out = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(head)) + b"".join(head)
    at = 0
    for name, dims, numbers in parts:
        out += text(name + ".weight") + struct.pack(f"<I{len(dims)}Q", len(dims), *dims) + struct.pack("<IQ", 0, at)
        at += -(-4 * len(numbers) // 32) * 32
    with open(path, "wb") as file:
        file.write(out + bytes(-len(out) % 32))
        for _, _, numbers in parts:
            raw = numbers.tobytes()
            file.write(raw + bytes(-len(raw) % 32))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tiny_gguf.py OUT.gguf")
    write_model(sys.argv[1])
