#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
warm() { swa-jit-warm --cache-dir store --json "$@" 2>/dev/null; }
warm --arch sm_80,sm_90a --window-size 64,128 >compile.json
warm --extra-size 512 --head-dim-v 0,128 >compile-refused.json
warm --arch sm_80 --window-size 64,256 >compile-again.json
warm --arch sm_80,sm_89 --dry-run >dry-run.json
warm --arch sm_80,sm_89 --check >check.json
warm --show arch=sm_89 >show-missing.json
warm --show "$(cd store && ls swa_decode-sm_80-*-w64-*)" >show.json
printf x >>"$(ls store/swa_decode-sm_90a-*-w64-*)"
warm --arch sm_89,sm_90a --window-size 64 --explain >explain.json
warm --kernel merge --explain >explain-none.json
SWA_JIT_KEEP_PTX=1 warm --arch sm_80 --head-group 32 >compile-ptx.json
FAKE_NVRTC_RESULT=6 warm --arch sm_80 --head-group 64 >compile-failed.json
warm --arch sm_80 --head-group 64 --explain >explain-failed.json
warm --show 'arch=sm_80 head_group=64' >show-failed.json
warm --list >list.json
warm --verify >verify.json
warm --export layer.tar >export.json
warm --import layer.tar >import.json
warm --prune --dry-run --max-bytes 1 >prune-dry-run.json
warm --prune >prune.json
python3 "$CASES/check_json.py" "$MANUAL_PAGES/../docs/swa-jit-warm-json.md" ./*.json
