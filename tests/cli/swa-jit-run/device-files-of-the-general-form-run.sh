#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
npy() { python3 "$CASES/npy.py" "$@"; }
npy q.npy "<u2" 4,2,512
npy i.npy "<i4" 4,16
npy l.npy "<i8" 4
npy sinks.npy "<f4" 2
npy xi.npy "<i4" 4,40
npy xl.npy "<i8" 4
python3 "$CASES/rows.py" rows.npy 3,8,512
python3 "$CASES/rows.py" extra.npy 5,2,512
swa-jit-run --write-pool kv.npy --kv-format footer_584 --from rows.npy
swa-jit-run --write-pool xkv.npy --kv-format footer_528 --from extra.npy
swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --head-group 16 --kv-tile 16 --q q.npy --kv kv.npy \
  --kv-format footer_584 --indices i.npy --lens l.npy --sinks sinks.npy --extra-kv xkv.npy --extra-format footer_528 \
  --extra-indices xi.npy --extra-lens xl.npy --lse-form with_sink --out out.npy --lse lse.npy | sed -n "1p;\$p"
python3 "$CASES/rows.py" k.npy 3,8,2,192
python3 "$CASES/rows.py" v.npy 3,8,2,128
npy q.npy "<u2" 4,6,192
npy vi.npy "<i4" 4,16
swa-jit-run --write-pool kv.npy --write-inv-scale ks.npy --from k.npy
swa-jit-run --write-pool vv.npy --write-inv-scale vs.npy --from v.npy
swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --head-group 16 --kv-tile 16 --q q.npy --kv kv.npy \
  --inv-scale ks.npy --v vv.npy --v-inv-scale vs.npy --v-indices vi.npy --indices i.npy --lens l.npy | sed -n "1p;\$p"
