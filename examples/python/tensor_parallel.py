# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism as an engine has it: each rank decodes its share of the heads, and the gathered result equals one
rank's. Tries 1, 2, 4 and 8 ranks; argument: other numbers. Ranks are processes on the CPU (gloo), or on as many GPUs as
there are (nccl)."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import swa_jit

NUM_TOKENS, NUM_HEADS, WIDTH, NUM_BLOCKS, BLOCK_SIZE = 4, 64, 128, 8, 64


def tensors(device):
    """The same on every rank."""
    generator = torch.Generator().manual_seed(7)
    q = torch.randn(NUM_TOKENS, NUM_HEADS, 512, generator=generator).bfloat16()
    kv = torch.randint(0, 120, (NUM_BLOCKS, BLOCK_SIZE, 512), generator=generator, dtype=torch.uint8)
    inv_scale = torch.rand(NUM_BLOCKS * BLOCK_SIZE, generator=generator) / 100
    indices = torch.randint(0, NUM_BLOCKS * BLOCK_SIZE, (NUM_TOKENS, WIDTH), generator=generator, dtype=torch.int32)
    lens = torch.tensor([WIDTH, 1, 77, 0], dtype=torch.int32)
    sinks = torch.randn(NUM_HEADS, generator=generator)
    return [tensor.to(device) for tensor in (q, kv, inv_scale, indices, lens, sinks)]


def decode_share(rank, num_ranks, device):
    """This rank's heads, as slices: nothing is copied. The same head_group everywhere makes the same bits."""
    q, kv, inv_scale, indices, lens, sinks = tensors(device)
    heads = slice(rank * NUM_HEADS // num_ranks, (rank + 1) * NUM_HEADS // num_ranks)
    return swa_jit.decode(
        q[:, heads], kv, indices, lens, inv_scale=inv_scale, sinks=sinks[heads], head_group=8, kv_tile=64
    )


def run_rank(rank, num_ranks, use_gpu):
    device = torch.device("cuda", rank) if use_gpu else torch.device("cpu")
    if use_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if use_gpu else "gloo", rank=rank, world_size=num_ranks)
    share = decode_share(rank, num_ranks, device).contiguous()
    # Not every back end knows bf16: bytes are bytes.
    parts = [torch.empty_like(share.view(torch.uint8)) for _ in range(num_ranks)]
    dist.all_gather(parts, share.view(torch.uint8))
    gathered = torch.cat([part.view(torch.bfloat16) for part in parts], dim=1)
    alone = decode_share(0, 1, device)
    if not torch.equal(gathered, alone):
        raise SystemExit(f"rank {rank} of {num_ranks}: the gathered heads differ from one rank's")
    dist.destroy_process_group()


def main(counts):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    for num_ranks in counts:
        use_gpu = torch.cuda.device_count() >= num_ranks
        os.environ["MASTER_PORT"] = str(29500 + os.getpid() % 1000 + num_ranks)
        mp.spawn(run_rank, args=(num_ranks, use_gpu), nprocs=num_ranks)
        where = "GPUs" if use_gpu else "processes on the CPU"
        print(f"{num_ranks} ranks on {where}: {NUM_HEADS // num_ranks} heads each, equal to one rank's")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1, 2, 4, 8])
