#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of `saga sim --plot DIR`, as SVG beside its data: plot.py DIR"""

import collections
import csv
import html
import json
import math
import pathlib
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 620, 360, 70, 46, 40, 50
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a5fb0", "#c98a1b", "#4a4a4a", "#23a6a6", "#a0522d")
POINTS = 400  # of a curve
MARKED = 20  # a curve of no more points shows them
COLUMNS = 200  # of a timeline
PANELS = {"running requests": "running", "waiting requests": "waiting", "paused sessions": "paused",
          "share of KV blocks held": "kv_used", "tokens computed again": "regenerated_tokens"}


def text(x, y, words, size=12, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{html.escape(words)}</text>'


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def ticks(low, high):
    """1, 2 and 5 times powers of ten within."""
    first = math.floor(math.log10(low))
    every = [m * 10.0**e for e in range(first, math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    return [t for t in every if low <= t <= high]


class Chart:
    """Lines over logarithmic or plain axes."""

    def __init__(self, title, across, up, lines, log_x=False, log_y=False):
        self.lines = lines
        points = [p for line in lines.values() for p in line]
        width = LEFT + WIDTH + RIGHT + 8 * max(map(len, lines))
        self.scales = (self.scale([x for x, _ in points], log_x), self.scale([y for _, y in points], log_y))
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + HEIGHT + BOTTOM}" '
            'font-family="sans-serif" fill="#222">',
            f'<rect width="{width}" height="{TOP + HEIGHT + BOTTOM}" fill="white"/>',
            f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
            text(LEFT, 26, title, 15, "start"),
            text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, across),
            text(18, TOP + HEIGHT / 2, up, extra=f'transform="rotate(-90 18 {TOP + HEIGHT / 2})"'),
        ]

    @staticmethod
    def scale(values, is_log):
        low, high = min(values), max(values)
        if is_log:
            low, high = max(low, 1e-3), max(high, low * 1.01, 2e-3)
        elif high == low:
            high = low + 1
        return low, high, is_log

    @staticmethod
    def share(value, scale):
        low, high, is_log = scale
        if is_log:
            return (math.log(max(value, low)) - math.log(low)) / (math.log(high) - math.log(low))
        return (value - low) / (high - low)

    def place(self, x, y):
        return LEFT + self.share(x, self.scales[0]) * WIDTH, TOP + HEIGHT * (1 - self.share(y, self.scales[1]))

    def axes(self):
        for axis, (low, high, is_log) in enumerate(self.scales):
            marks = ticks(low, high) if is_log else [low + (high - low) * i / 5 for i in range(6)]
            for mark in marks:
                x, y = self.place(mark, self.scales[1][0]) if axis == 0 else self.place(self.scales[0][0], mark)
                self.out.append(text(x, y + 16, number(mark), 11) if axis == 0 else text(x - 6, y + 4, number(mark), 11, "end"))

    def svg(self):
        self.axes()
        for i, (name, line) in enumerate(self.lines.items()):
            colour = COLOURS[i % len(COLOURS)]
            places = " ".join("{:.1f},{:.1f}".format(*self.place(x, y)) for x, y in line)
            self.out.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
            if len(line) <= MARKED:
                self.out += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*self.place(x, y), colour) for x, y in line]
            y = TOP + 14 + 18 * i
            self.out.append(f'<rect x="{LEFT + WIDTH + 12}" y="{y - 8}" width="14" height="4" fill="{colour}"/>')
            self.out.append(text(LEFT + WIDTH + 32, y, name, 12, "start"))
        return "\n".join(self.out) + "\n</svg>\n"


def cdf(values):
    values = sorted(values)
    step = max(1, len(values) // POINTS)
    kept = list(range(0, len(values), step)) + [len(values) - 1]
    return [(values[0], 0)] + [(values[i], (i + 1) / len(values)) for i in kept]


def heat(title, panels, engines, end_s):
    """Engines from top to bottom, time from left to right, one band for each panel: its words, its values by
    (engine, column), darkest = its largest."""
    row = max(2, 160 // engines)
    band = row * engines + 34
    height = TOP + band * len(panels) + BOTTOM - 20
    cell = WIDTH / COLUMNS
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" font-family="sans-serif" '
           f'fill="#222"><rect width="{LEFT + WIDTH + RIGHT}" height="{height}" fill="white"/>', text(LEFT, 26, title, 15, "start")]
    for i, (words, values) in enumerate(panels):
        top = TOP + band * i + 16
        most = max(values.values(), default=0)
        out.append(text(LEFT, top - 5, f"{words}: 0 to {number(most)}", 12, "start"))
        for (engine, column), value in values.items():
            if value > 0:
                out.append(f'<rect x="{LEFT + column * cell:.1f}" y="{top + engine * row}" width="{cell + 0.3:.1f}" height="{row}" '
                           f'fill="#1b3a6b" fill-opacity="{value / most:.2f}"/>')
        out.append(f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{row * engines}" fill="none" stroke="#999"/>')
        out.append(text(LEFT - 6, top + 10, "engine 0", 10, "end"))
        out.append(text(LEFT - 6, top + row * engines, f"{engines - 1}", 10, "end"))
    for i in range(6):
        out.append(text(LEFT + WIDTH * i / 5, height - 24, f"{end_s / 3600 * i / 5:.2f}", 11))
    out.append(text(LEFT + WIDTH / 2, height - 8, "hours"))
    return "\n".join(out) + "\n</svg>\n"


def timelines(folder, name_of):
    """One picture for each policy, load and memory, of the first seed."""
    rows = collections.defaultdict(list)
    first_seed = {}
    with open(folder / "engines.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["policy"], row["load"], row["kv_scale"], row["tier_tokens"])
            if first_seed.setdefault(key, row["seed"]) == row["seed"]:
                rows[key].append(row)
    policies = list(dict.fromkeys(key[0] for key in rows))
    for key, samples in rows.items():
        end_s = max(float(r["at_s"]) for r in samples) + 1e-9
        engines = 1 + max(int(r["engine"]) for r in samples)
        panels = {words: collections.defaultdict(float) for words in PANELS}
        before = collections.defaultdict(float)
        for r in samples:
            place = (int(r["engine"]), min(COLUMNS - 1, int(float(r["at_s"]) / end_s * COLUMNS)))
            for words, column in PANELS.items():
                value = float(r[column])
                if column == "regenerated_tokens":
                    value, before[place[0]] = value - before[place[0]], value
                    panels[words][place] += value
                else:
                    panels[words][place] = max(panels[words][place], value)
        title = f"{key[0]}, {name_of(*key[1:])}"
        shown = [p for p in panels.items() if any(p[1].values())]
        name = f"engines_{name_of(*key[1:], '_')}_{policies.index(key[0]) + 1}.svg"
        (folder / name).write_text(heat(title, shown, engines, end_s), encoding="utf-8")


def memory_sweeps(folder, rows, load_name):
    """Mean slowdown by KV memory and by tier, for each load, where there is more than one."""
    for column, other, words in (("kv_tokens", "tier_tokens", "KV tokens of an engine"), ("tier_tokens", "kv_tokens", "tier tokens of an engine")):
        groups = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in rows:
            groups[row["load"], row[other]][row["policy"]].append((row[column], row["mean_slowdown"]))
        for (load, rest), lines in groups.items():
            if len({x for points in lines.values() for x, _ in points}) > 1:
                title = f"Mean slowdown, {load_name} {load:g}, {other.replace('_', ' ')} {rest}"
                chart = Chart(title, words, "mean slowdown", {n: sorted(p) for n, p in lines.items()}, log_y=True)
                (folder / f"memory_{column[:-7]}_{load:g}_{rest}.svg").write_text(chart.svg(), encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    runs = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    across = "sessions/s" if runs["parameters"]["load_is_rate"] else "load, share of L*"
    memories = {(f"{r['kv_scale']:g}", str(r["tier_tokens"])) for r in runs["over_seeds"]}

    def name_of(load, kv_scale, tier_tokens, between=", "):
        """What a picture is of; the memory only where there is more than one."""
        parts = [f"{across.split(',')[0]} {load}"] if between == ", " else [load]
        if len(memories) > 1:
            parts += [f"KV x {kv_scale}", f"tier {tier_tokens}"] if between == ", " else [kv_scale, tier_tokens]
        return between.join(parts)

    tcts = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(folder / "sessions.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["state"] != "given_up":
                tcts[row["load"], row["kv_scale"], row["tier_tokens"]][row["policy"]].append(float(row["tct_s"]))
    for key, by_policy in tcts.items():
        lines = {name: cdf(values) for name, values in by_policy.items()}
        chart = Chart(f"Task completion time, {name_of(*key)}", "TCT s", "share of sessions", lines, log_x=True)
        (folder / f"tct_{name_of(*key, '_')}.svg").write_text(chart.svg(), encoding="utf-8")
    loads = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in runs["over_seeds"]:
        loads[f"{row['kv_scale']:g}", str(row["tier_tokens"])][row["policy"]].append((row["load"], row["mean_slowdown"]))
    for memory, sweep in loads.items():
        lines = {name: sorted(points) for name, points in sweep.items()}
        of = f", KV x {memory[0]}, tier {memory[1]}" if len(memories) > 1 else ""
        chart = Chart(f"Mean slowdown against the session alone{of}", across, "mean slowdown", lines, log_y=True)
        tail = f"_{memory[0]}_{memory[1]}" if len(memories) > 1 else ""
        (folder / f"load{tail}.svg").write_text(chart.svg(), encoding="utf-8")
    memory_sweeps(folder, runs["over_seeds"], across.split(",")[0])
    timelines(folder, name_of)


main()
