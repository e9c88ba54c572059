#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --cache-dir store --jobs 1 --quiet --dump-source source --dump-ptx ptx || exit
for file in source/* ptx/*; do
  echo "$file" | sed "s/-[0-9a-f]*\([.][a-z]*\)$/-DIGEST\1/"
done
grep -c "__global__" source/*.cu | sed "s/^[1-9][0-9]*$/some/"
grep -c "^[.]target sm_100a" ptx/*.ptx
