/* SPDX-License-Identifier: Apache-2.0 */
/* The devices as data: "Compute Capabilities" of the CUDA C++ Programming Guide for the limits, the makers' data
 * sheets (A100 SXM 80 GB, H200 SXM, B200) for the sizes and clocks. */
#include "machine.h"

#include <string.h>

static const emu_device devices[] = {
    {"sm_80", "Emulated A100 (sm_80)",
     8,       0,
     108,     1024,
     2048,    32,
     65536,   255,
     49152,   166912,
     167936,  1024,
     1,       41943040,
     5120,    1593000,
     1410000, 85899345920ull},
    {"sm_90a", "Emulated H200 (sm_90a)",
     9,        0,
     132,      1024,
     2048,     32,
     65536,    255,
     49152,    232448,
     233472,   1024,
     16,       62914560,
     6144,     3201000,
     1980000,  150754820096ull},
    {"sm_100a", "Emulated B200 (sm_100a)",
     10,        0,
     148,       1024,
     2048,      32,
     65536,     255,
     49152,     232448,
     233472,    1024,
     16,        132644864,
     8192,      3996000,
     1965000,   191502417920ull},
    /* For what a program does on a device that no architecture is for: only PTX of a plain target runs there. */
    {"sm_190", "Emulated device newer than any architecture (sm_190)",
     19,       0,
     8,        1024,
     2048,     32,
     65536,    255,
     49152,    166912,
     167936,   1024,
     1,        41943040,
     5120,     1593000,
     1410000,  85899345920ull},
};

enum { NUM_DEVICES = sizeof devices / sizeof devices[0] };

const emu_device *emu_device_at(unsigned index)
{
  return index < NUM_DEVICES ? &devices[index] : NULL;
}

const emu_device *emu_device_find(const char *arch)
{
  for (unsigned i = 0; i < NUM_DEVICES; i++) {
    if (strcmp(devices[i].arch, arch) == 0) {
      return &devices[i];
    }
  }
  return NULL;
}
