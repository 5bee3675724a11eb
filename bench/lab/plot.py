#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of `saga sim --plot DIR`, as SVG beside its data: plot.py DIR"""

import collections
import csv
import json
import math
import pathlib
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 620, 360, 70, 46, 170, 50
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a5fb0", "#c98a1b", "#4a4a4a", "#23a6a6", "#a0522d")
POINTS = 400  # of a curve


def text(x, y, words, size=12, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{words}</text>'


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
        self.scales = (self.scale([x for x, _ in points], log_x), self.scale([y for _, y in points], log_y))
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{TOP + HEIGHT + BOTTOM}" '
            'font-family="sans-serif" fill="#222">',
            f'<rect width="{LEFT + WIDTH + RIGHT}" height="{TOP + HEIGHT + BOTTOM}" fill="white"/>',
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
                self.out.append(text(x, y + 16, f"{mark:.3g}", 11) if axis == 0 else text(x - 6, y + 4, f"{mark:.3g}", 11, "end"))

    def svg(self):
        self.axes()
        for i, (name, line) in enumerate(self.lines.items()):
            colour = COLOURS[i % len(COLOURS)]
            places = " ".join("{:.1f},{:.1f}".format(*self.place(x, y)) for x, y in line)
            self.out.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
            y = TOP + 14 + 18 * i
            self.out.append(f'<rect x="{LEFT + WIDTH + 12}" y="{y - 8}" width="14" height="4" fill="{colour}"/>')
            self.out.append(text(LEFT + WIDTH + 32, y, name, 12, "start"))
        return "\n".join(self.out) + "\n</svg>\n"


def cdf(values):
    values = sorted(values)
    step = max(1, len(values) // POINTS)
    kept = list(range(0, len(values), step)) + [len(values) - 1]
    return [(values[0], 0)] + [(values[i], (i + 1) / len(values)) for i in kept]


def main():
    folder = pathlib.Path(sys.argv[1])
    runs = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    across = "sessions/s" if runs["parameters"]["load_is_rate"] else "load, share of L*"
    tcts = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(folder / "sessions.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["state"] != "given_up":
                tcts[float(row["load"])][row["policy"]].append(float(row["tct_s"]))
    for load, by_policy in tcts.items():
        lines = {name: cdf(values) for name, values in by_policy.items()}
        chart = Chart(f"Task completion time, {across} {load:g}", "TCT s", "share of sessions", lines, log_x=True)
        (folder / f"tct_{load:g}.svg").write_text(chart.svg(), encoding="utf-8")
    sweep = collections.defaultdict(list)
    for row in runs["over_seeds"]:
        sweep[row["policy"]].append((row["load"], row["mean_slowdown"]))
    lines = {name: sorted(points) for name, points in sweep.items()}
    chart = Chart("Mean slowdown against the session alone", across, "mean slowdown", lines, log_y=True)
    (folder / "load.svg").write_text(chart.svg(), encoding="utf-8")


main()
