#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
for options in "--list --verify" "--check --explain" "--show x --prune" "--list --head-dim 64" "--list --dry-run" \
  "--list --jobs 2" "--max-age 3d" "--set-aside" "--prune --set-aside" "--prune --max-age 3" \
  "--prune --max-bytes 1.5G" "--verify --from x" "--list --nvrtc x" "--export x --import y"; do
  # shellcheck disable=SC2086
  swa-jit-warm $options 2>&1 | head -n 1
done
swa-jit-warm --list --verify 2>/dev/null
