#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
printf "# nothing\n\n" >wanted.txt
swa-jit-warm --from wanted.txt
