# SPDX-License-Identifier: Apache-2.0
# Sourced by quickstart and run-tests: what this machine needs, a configured and built tree in build/, and the NVRTC to
# use. Each step says nothing when there is nothing to do. $root and $program are the sourcing program's.
# shellcheck shell=sh disable=SC2154

# The vendor's Python wheels, used where no toolkit is found. NVRTC is the version of docs/measurements.md.
nvrtc_wheel=nvidia-cuda-nvrtc==13.0.88
nvdisasm_wheel=nvidia-cuda-nvdisasm==13.2.51
# Of these another version would find other things.
ruff_wheel=ruff==0.17.6
mypy_wheel=mypy==2.4.1
wheels=$root/build/wheels
frameworks=$root/build/frameworks

say() {
  printf '== %s\n' "$*"
}

die() {
  printf '%s: %s\n' "$program" "$*" >&2
  exit 1
}

# Runs a command silently; its output is shown only when it fails.
quietly() {
  output=$("$@" 2>&1) || {
    printf '%s\n' "$output" >&2
    die "failed: $*"
  }
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "this needs root or sudo: $*"
  fi
}

# has_python_module NAME: importable by the python3 in front.
has_python_module() {
  python3 -c "import $1" >/dev/null 2>&1
}

missing_packages() {
  command -v cc >/dev/null || echo gcc
  # gcc brings the C library's headers only as a recommended package.
  [ -e /usr/include/stdio.h ] || echo libc6-dev
  # The tests call the library from C++ too.
  [ "$program" = tools/quickstart ] || command -v c++ >/dev/null || echo g++
  command -v ninja >/dev/null || echo ninja-build
  command -v meson >/dev/null || echo meson
  command -v python3 >/dev/null || echo python3
  has_python_module ensurepip || echo python3-venv
  command -v pkg-config >/dev/null || echo pkg-config
  pkg-config --exists cmocka 2>/dev/null || echo libcmocka-dev
  pkg-config --exists libxxhash 2>/dev/null || echo libxxhash-dev
}

install_packages() {
  packages=$(missing_packages | tr '\n' ' ')
  [ -z "$packages" ] && return
  command -v apt-get >/dev/null || die "install these first (Debian's names; there is no apt-get here): $packages"
  say "installing $packages"
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
  # shellcheck disable=SC2086 # a list of words
  apt_install $packages
}

apt_install() {
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"
}

has_fuzzer() {
  echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' \
    | clang -fsanitize=fuzzer,address,undefined -w -x c - -o /dev/null 2>/dev/null
}

# For the short runs of the fuzzers; without it they are left out. Some releases have libFuzzer in clang's own packages.
install_fuzzer() {
  if has_fuzzer || ! command -v apt-get >/dev/null; then
    return
  fi
  say "installing clang and libFuzzer"
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
  apt_install clang
  if ! has_fuzzer && apt-cache show libclang-rt-dev >/dev/null 2>&1; then
    apt_install libclang-rt-dev
  fi
  has_fuzzer || say "there is no libFuzzer here: its short runs are left out"
}

fetch_wheel() {
  say "fetching $1 into build/wheels"
  mkdir -p "$root/build"
  [ -x "$wheels/bin/python" ] || quietly python3 -m venv "$wheels"
  quietly "$wheels/bin/python" -m pip install -q --disable-pip-version-check --no-deps "$1"
}

# Chooses NVRTC: the user's own SWA_JIT_NVRTC, else a toolkit's, else the wheel. Exported, so that the tools and the
# tests use the one that was chosen.
find_nvrtc() {
  if [ -z "${SWA_JIT_NVRTC:-}" ]; then
    SWA_JIT_NVRTC=$(python3 "$root/tools/find-nvrtc" "$wheels") || {
      fetch_wheel "$nvrtc_wheel"
      SWA_JIT_NVRTC=$(python3 "$root/tools/find-nvrtc" "$wheels") || die "$nvrtc_wheel holds no usable libnvrtc"
    }
  fi
  export SWA_JIT_NVRTC
  mkdir -p "$root/build"
  printf 'export SWA_JIT_NVRTC=%s\n' "$SWA_JIT_NVRTC" >"$root/build/nvrtc.env"
}

# The disassembler for the compile tests; meson.build of tests/compile looks in the same places.
find_nvdisasm() {
  command -v nvdisasm >/dev/null && return
  [ -x /usr/local/cuda/bin/nvdisasm ] && return
  [ -x "$wheels/bin/nvdisasm" ] && return
  fetch_wheel "$nvdisasm_wheel"
  ln -sf "$wheels"/lib/python3*/site-packages/nvidia/*/bin/nvdisasm "$wheels/bin/nvdisasm"
}

# What the tests of the Python package need, and what checks its style.
find_pytest() {
  [ -x "$wheels/bin/pytest" ] && [ -x "$wheels/bin/ruff" ] && [ -x "$wheels/bin/mypy" ] && return
  say "fetching pytest, numpy, ruff and mypy into build/wheels"
  mkdir -p "$root/build"
  [ -x "$wheels/bin/python" ] || quietly python3 -m venv "$wheels"
  quietly "$wheels/bin/python" -m pip install -q --disable-pip-version-check pytest numpy "$ruff_wheel" "$mypy_wheel"
}

# PyTorch and JAX are too large to fetch unasked: with SWA_JIT_TEST_TORCH=1, or pip's words for a release of PyTorch in
# place of the 1. What was asked for is remembered, so that another release replaces it.
find_torch() {
  asked=${SWA_JIT_TEST_TORCH:-0}
  if [ "$asked" = 0 ] || [ "$asked" = "$(cat "$frameworks/asked" 2>/dev/null)" ]; then
    return
  fi
  torch=$asked
  [ "$asked" != 1 ] || torch=torch
  say "fetching $torch, jax and meson-python into build/frameworks: some 6 GB on disk"
  mkdir -p "$root/build"
  [ -x "$frameworks/bin/python" ] || quietly python3 -m venv "$frameworks"
  quietly "$frameworks/bin/python" -m pip install -q --disable-pip-version-check "$torch" pytest numpy jax meson-python
  printf '%s\n' "$asked" >"$frameworks/asked"
}

build_tree() {
  cd "$root" || die "cannot enter $root"
  if [ -f build/build.ninja ]; then
    quietly meson setup --reconfigure build
  else
    say "configuring build/"
    # lib: where Debian's loader and pkg-config look, whatever folder meson would guess.
    quietly meson setup --libdir=lib build
  fi
  say "building"
  quietly ninja -C build
}
