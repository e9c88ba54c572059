# SPDX-License-Identifier: Apache-2.0
"""What the documents and examples say in Python runs."""

import inspect
import os
import re
import subprocess
import sys

import pytest

import swa_jit
from conftest import ROOT


def blocks(name):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)


def run(*command, timeout=300):
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_readmes_five_lines_run():
    (example,) = blocks("README.md")
    assert len([line for line in example.splitlines() if line]) == 5
    done = run("-c", example)
    assert done.returncode == 0 and "torch.Size([1, 128, 512])" in done.stdout, done.stderr


def test_manuals_lines_run():
    (example,) = blocks("docs/python.md")
    try:
        exec(example, {"swa_jit": swa_jit})
    except swa_jit.NoCompilerError as error:
        pytest.skip(str(error))


def test_every_public_name_is_documented():
    for name in swa_jit.__all__:
        assert inspect.getdoc(getattr(swa_jit, name)), name
    # Each argument of the two calls stands in its docstring, and has a type.
    for function in (swa_jit.decode, swa_jit.native_swa_decode_attention, swa_jit.merge):
        for argument, parameter in inspect.signature(function).parameters.items():
            assert re.search(rf"\b{argument}\b", function.__doc__), (function.__name__, argument)
            assert parameter.annotation is not inspect.Parameter.empty


def test_signature_is_the_prototypes():
    names = ["q", "swa_kv_cache", "swa_inv_scale", "swa_indices", "swa_lens", "block_size", "scale", "window_size"]
    parameters = inspect.signature(swa_jit.native_swa_decode_attention).parameters
    assert list(parameters)[: len(names)] == names and parameters["window_size"].default == 128
    assert list(parameters)[len(names) :] == ["out", "lse", "sinks"]


def test_ranks_share_the_heads():
    done = run(str(ROOT / "examples/python/tensor_parallel.py"))
    assert done.returncode == 0, done.stderr
    for num_ranks in (1, 2, 4, 8):
        assert re.search(rf"^{num_ranks} ranks on .*: {64 // num_ranks} heads each, equal", done.stdout, re.M)


def test_plot_is_drawn_or_says_why_not(tmp_path):
    plot = tmp_path / "tokens.svg"
    done = run(str(ROOT / "examples/python/plot_tokens.py"), str(plot))
    assert done.returncode == 0, done.stderr
    if "there is no GPU here" in done.stdout:
        assert "no plot is drawn" in done.stdout and not plot.exists()
    else:
        assert re.search(r"^ +1024  \d+\.\d\d$", done.stdout, re.M)
        assert plot.exists() or "Matplotlib is not installed: no plot" in done.stdout
