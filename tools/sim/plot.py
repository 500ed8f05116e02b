#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
plot.py DIRECTORY  -- draw DIRECTORY/sim.csv and sim-series.csv as SVG

Goodput over loss, incast over time, faults over time, and scaling over planes
if there are records of it. Without matplotlib it says so and that is all.
"""

import csv
import os
import re
import sys

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
except ImportError:
    print("no plots: python3 has no matplotlib (Debian: python3-matplotlib)")
    sys.exit(0)

# A colour and a line of its own for each, whatever is missing in a plot
STYLE = {
    "metaroce": {"color": "#1f5fa8", "linestyle": "-", "marker": "o"},
    "sr1": {"color": "#d07a1e", "linestyle": "--", "marker": "s"},
    "roce-gbn": {"color": "#8a1c2e", "linestyle": ":", "marker": "^"},
}
NAME = {
    "metaroce": "MetaRoCE",
    "sr1": "selective repeat, one path",
    "roce-gbn": "RoCEv2, go-back-N",
}


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def style(transport, marker=True):
    s = dict(STYLE.get(transport, {}), label=NAME.get(transport, transport))
    if not marker:
        del s["marker"]
    return s


def finish(fig, axes, directory, name):
    for ax in axes:
        ax.grid(True, color="#dddddd", linewidth=0.6)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    fig.tight_layout()
    path = os.path.join(directory, f"sim-{name}.svg")
    fig.savefig(path)
    plt.close(fig)
    print(f"  PLOT    {path}")


def plot_loss(records, directory):
    lines = {}
    for r in records:
        m = re.fullmatch(r"loss ([0-9.]+) %", r["scenario"])
        if m and r["metric"] == "relative goodput":
            lines.setdefault(r["transport"], []).append(
                (float(m[1]), float(r["value"])))
    if not lines:
        return
    fig, ax = plt.subplots(figsize=(6.4, 4))
    x = sorted({p for line in lines.values() for p, _ in line})
    ax.plot(x, [1 - p / 100 for p in x], color="#222222", linewidth=0.8,
            zorder=5, label="what the loss leaves")
    for transport, points in lines.items():
        points.sort()
        ax.plot(*zip(*points), **style(transport))
    ax.set_xscale("log")
    ax.set_xticks(x, [f"{p:g}" for p in x])
    ax.minorticks_off()
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("random loss, %")
    ax.set_ylabel("goodput, of that without loss")
    ax.legend(frameon=False, loc="lower left")
    finish(fig, [ax], directory, "loss")


def of_scenario(series, scenario):
    lines = {}
    for r in series:
        if r["scenario"] == scenario:
            lines.setdefault(r["transport"], []).append(
                [float(r[k]) for k in ("us", "gbps", "low", "mean", "high")])
    return lines


def plot_incast(series, directory):
    """What the senders may send, least to most: it should be one line."""
    lines = of_scenario(series, "incast 64:1")
    if not lines:
        return
    fig, axes = plt.subplots(1, len(lines), figsize=(3.2 * len(lines), 3.6),
                             sharey=True, squeeze=False)
    end = 3 * 64 * 534000 * 8 / 100 / 1e3 / 2
    for ax, (transport, rows) in zip(axes[0], lines.items()):
        rows = [r for r in rows if r[0] <= end]
        x = [r[0] / 1e3 for r in rows]
        colour = STYLE.get(transport, {}).get("color")
        ax.fill_between(x, [r[2] for r in rows], [r[4] for r in rows],
                        color=colour, alpha=0.25, linewidth=0,
                        label="least to most")
        ax.plot(x, [r[3] for r in rows], color=colour, label="mean")
        ax.axhline(95 / 64, color="#555555", linewidth=0.8, linestyle=":",
                   label="fair share")
        ax.set_yscale("log")
        ax.set_title(NAME.get(transport, transport), fontsize=9)
        ax.set_xlabel("ms")
        ax.legend(frameon=False, fontsize=7)
    axes[0][0].set_ylabel("64 senders to one: Gb/s each may send")
    finish(fig, axes[0], directory, "incast")


def plot_faults(series, directory):
    wanted = ["dead link", "flapping cable", "path 10 x slower",
              "path dies, 1 of 8"]
    wanted = [w for w in wanted if of_scenario(series, w)]
    if not wanted:
        return
    fig, axes = plt.subplots(len(wanted), 1, figsize=(6.4, 1.9 * len(wanted)),
                             squeeze=False)
    for ax, scenario in zip(axes[:, 0], wanted):
        for transport, rows in of_scenario(series, scenario).items():
            rows = [r for r in rows if 8000 <= r[0] <= 30000]
            # of samples of 50 us, the mean of four: packets are whole
            y = [sum(r[1] for r in rows[max(0, i - 3):i + 1]) /
                 len(rows[max(0, i - 3):i + 1]) for i in range(len(rows))]
            ax.plot([r[0] / 1e3 for r in rows], y, linewidth=1.2,
                    **style(transport, marker=False))
        ax.axvline(10, color="#555555", linewidth=0.8, linestyle=":")
        ax.set_title(scenario, fontsize=9, loc="left")
        ax.set_ylim(0, 105)
        ax.set_ylabel("Gb/s")
    axes[0][0].legend(frameon=False, fontsize=7)
    axes[-1][0].set_xlabel("ms; the fault is at 10")
    finish(fig, axes[:, 0], directory, "faults")


def plot_planes(records, directory):
    lines = {}
    for r in records:
        m = re.match(r"planes ([0-9]+)", r["scenario"])
        if m and r["metric"] == "goodput":
            lines.setdefault(r["transport"], []).append(
                (int(m[1]), float(r["value"])))
    if not lines:
        return
    fig, ax = plt.subplots(figsize=(5, 3.6))
    for transport, points in lines.items():
        points.sort()
        ax.plot(*zip(*points), **style(transport))
    planes, one = min(p for line in lines.values() for p in line)
    x = sorted({p for line in lines.values() for p, _ in line})
    ax.plot(x, [one / planes * k for k in x], color="#222222", linewidth=0.8,
            zorder=5, label="linear")
    ax.set_xticks(x)
    ax.set_xlabel("planes")
    ax.set_ylabel("goodput, Gb/s")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    finish(fig, [ax], directory, "planes")


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    directory = sys.argv[1]
    # the same bytes for the same figures
    plt.rcParams["svg.hashsalt"] = "metaroce"
    records = read(os.path.join(directory, "sim.csv"))
    series = read(os.path.join(directory, "sim-series.csv"))
    plot_loss(records, directory)
    plot_incast(series, directory)
    plot_faults(series, directory)
    plot_planes(records, directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
