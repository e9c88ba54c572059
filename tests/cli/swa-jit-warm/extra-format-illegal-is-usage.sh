#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --extra-size 512 --extra-format footer_656
