#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
step() {
  swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --head-group 16 --kv-tile 16 --q q.npy --indices i.npy \
    --lens l.npy "$@" | sed -n "1p;\$p"
}
python3 "$CASES/npy.py" q.npy "<u2" 4,2,512
python3 "$CASES/npy.py" i.npy "<i4" 4,16
python3 "$CASES/npy.py" l.npy "<i4" 4
python3 "$CASES/rows.py" rows.npy 24,512
for format in e4m3 bf16 footer_584 footer_528; do
  swa-jit-run --write-pool kv.npy --kv-format "$format" --from rows.npy --block-size 8 || exit
  step --kv-format "$format" --kv kv.npy
done
swa-jit-run --write-pool kv.npy --from rows.npy --block-size 8 --write-inv-scale s.npy --scale-type bfloat16
step --kv kv.npy --inv-scale s.npy
