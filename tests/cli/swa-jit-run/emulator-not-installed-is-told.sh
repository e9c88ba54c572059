#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
# A tool alone, as from a package without the emulator.
tool=$(command -v swa-jit-run)
mkdir -p prefix/bin
cp "$tool" prefix/bin/
LD_LIBRARY_PATH=$(dirname "$tool")/../../src
export LD_LIBRARY_PATH
prefix/bin/swa-jit-run --device emulator 2>err
echo "status $?"
prefix/bin/swa-jit-run --cache-dir store >out
echo "status $?"
sed "s,at .*prefix.*/swa-jit/,at <libdir>/swa-jit/," err out
prefix/bin/swa-jit-run --cache-dir store --json | grep -c no_emulator
