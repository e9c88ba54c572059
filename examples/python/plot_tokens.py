# SPDX-License-Identifier: Apache-2.0
"""Microseconds of a decode step over the number of tokens, as PyTorch sees them: replays of a CUDA graph, the median.
Prints a table, and draws it to tokens.svg, or the file named as the argument, where Matplotlib is installed. Needs a
GPU."""

import statistics
import sys

import torch

import swa_jit

TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CALLS, REPLAYS, NUM_HEADS, NUM_BLOCKS = 20, 30, 128, 4096


def microseconds(num_tokens, kv, inv_scale):
    """Of one call. Each call of the graph has queries and a window of its own, so that little is in the cache."""
    q = torch.randn(CALLS, num_tokens, NUM_HEADS, 512, device="cuda").bfloat16()
    indices = torch.randint(0, NUM_BLOCKS * 64, (CALLS, num_tokens, 128), device="cuda", dtype=torch.int32)
    lens = torch.full((num_tokens,), 128, device="cuda", dtype=torch.int32)
    out = torch.empty_like(q)

    def step(i):
        swa_jit.native_swa_decode_attention(q[i], kv, inv_scale, indices[i], lens, 64, 512**-0.5, out=out[i])

    step(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(CALLS):
            step(i)
    times = []
    for _ in range(REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / CALLS)
    return statistics.median(times)


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.loglog([tokens for tokens, _ in rows], [time for _, time in rows], marker="o", base=2)
    axes.set_xlabel("tokens")
    axes.set_ylabel("µs a step")
    axes.set_title(f"{torch.cuda.get_device_name()}, {NUM_HEADS} heads, window 128, e4m3")
    axes.grid(True, which="both", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    print(f"drawn to {path}")


def main(path):
    if not torch.cuda.is_available():
        print("there is no GPU here: nothing is measured, and no plot is drawn")
        return 0
    kv = torch.randint(0, 120, (NUM_BLOCKS, 64, 512), dtype=torch.uint8, device="cuda")
    inv_scale = torch.rand(NUM_BLOCKS * 64, device="cuda") / 100
    rows = []
    print("tokens  µs")
    with torch.inference_mode():
        for num_tokens in TOKENS:
            rows.append((num_tokens, microseconds(num_tokens, kv, inv_scale)))
            print(f"{num_tokens:6}  {rows[-1][1]:.2f}", flush=True)
    try:
        draw(rows, path)
    except ImportError:
        print("Matplotlib is not installed: no plot")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "tokens.svg"))
