#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A value outside the lists of the public header: nothing is compiled, whatever else was asked for.
swa-jit-warm --head-dim 512,100
