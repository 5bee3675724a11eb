#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calibration curves from `saga aeg eval --json`, as one SVG: plot.py RESULT.json OUT.svg"""

import json
import sys

PANEL, GAP, LEFT, TOP = 210, 46, 60, 76
COLOURS = {"1s": "#1b6ca8", "10s": "#d1495b", "60s": "#2e8b57", "300s": "#8a5fb0"}
COLUMNS = 3
LEAST = 20  # forecasts a point must stand for


def text(x, y, words, size=12, anchor="middle", extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>'
            f"{words}</text>")


def panel(source, left, top):
    out = [f'<rect x="{left}" y="{top}" width="{PANEL}" height="{PANEL}" fill="white" stroke="#999"/>',
           f'<line x1="{left}" y1="{top + PANEL}" x2="{left + PANEL}" y2="{top}" stroke="#bbb" '
           'stroke-dasharray="4 3"/>',
           text(left + PANEL / 2, top - 8, f'{source["source"]} ({source["gaps"]:,} gaps)', 13)]
    for tick in (0, 0.5, 1):
        out.append(text(left + tick * PANEL, top + PANEL + 15, f"{tick:g}", 11))
        out.append(text(left - 6, top + PANEL - tick * PANEL + 4, f"{tick:g}", 11, "end"))
    for horizon, points in source["calibration"].items():
        places = [(left + p["forecast"] * PANEL, top + PANEL - p["happened"] * PANEL, p["count"])
                  for p in points if p["count"] >= LEAST]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[horizon]}" stroke-width="1.6"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + min(4, (n / 800) ** 0.5):.1f}" '
                f'fill="{COLOURS[horizon]}" fill-opacity="0.75"/>' for x, y, n in places]
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sources = [s for s in json.load(file)["sources"] if s["gaps"] > 0]
    rows = (len(sources) + COLUMNS - 1) // COLUMNS
    width = LEFT + COLUMNS * (PANEL + GAP)
    height = TOP + rows * (PANEL + GAP + 14) + 6
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           'font-family="sans-serif" fill="#222">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           text(LEFT, 22, "P(next request within t): said (across) against what happened (up)", 15, "start")]
    for i, (horizon, colour) in enumerate(COLOURS.items()):
        out.append(f'<circle cx="{LEFT + 6 + i * 80}" cy="42" r="5" fill="{colour}"/>')
        out.append(text(LEFT + 16 + i * 80, 46, f"t = {horizon[:-1]} s", 12, "start"))
    for i, source in enumerate(sources):
        out += panel(source, LEFT + i % COLUMNS * (PANEL + GAP), TOP + i // COLUMNS * (PANEL + GAP + 14))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n</svg>\n")


main()
