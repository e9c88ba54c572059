#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Only what fills a store makes its folder: whatever else names one that is not there says so, and fails.
for where in option variable xdg home; do
  echo "named by: $where"
  rest=
  case $where in
  option) rest="--cache-dir $PWD/none" ;;
  variable) export SWA_JIT_CACHE_DIR="$PWD/none" ;;
  xdg) unset SWA_JIT_CACHE_DIR && export XDG_CACHE_HOME="$PWD/none" ;;
  home) unset XDG_CACHE_HOME ;;
  esac
  for command in --list --verify '--verify --set-aside' --prune '--prune --dry-run' '--export layer.tar' \
    '--show abcd'; do
    # shellcheck disable=SC2086
    swa-jit-warm $command $rest >printed 2>reason && echo "$command: success"
    [ ! -s printed ] || echo "$command: a report"
    [ "$where" != option ] || sed "s/^/$command: /" reason
    grep -q 'No such file or directory' reason || cat reason
  done
  ls -A
done
ls -A "$HOME"
# Nor is it where there are read-only folders, of which nothing is pruned.
export SWA_JIT_NVRTC="$NVRTC_FAKE" SWA_JIT_CACHE_DIR="$PWD/none" SWA_JIT_CACHE_PATH="$PWD/layer"
swa-jit-warm --cache-dir layer --quiet
swa-jit-warm --list | tail -n 1 | sed "s/, [0-9]* B//"
swa-jit-warm --prune --max-bytes 0 && echo "prune: success"
ls -A
