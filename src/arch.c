/* SPDX-License-Identifier: Apache-2.0 */
#include "arch.h"

#include <string.h>

#include "status.h"
#include "text.h"

/*
 * Shared memory: "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide. A CTA can opt in
 * to 1 KiB less than its multiprocessor has.
 *
 * sm_80 carries the figure of compute capability 8.0 (163 KiB) although its cubins also run on 8.6 and later, where a
 * CTA has 99 KiB: the large parts keep their memory, and a kernel that is too large for a smaller device is refused
 * when it is loaded there (load.c asks the device).
 *
 * usual_num_sms: of the A100, L40S, H100 SXM and H200, B200, B300 and RTX PRO 6000 Blackwell. Other products of the
 * same architecture differ; whoever can ask the device should.
 *
 * min_nvrtc and min_driver: the CUDA release that introduced the target ("PTX ISA version history": 7.8 is of CUDA
 * 11.8, 8.0 of 12.0, 8.7 of 12.8, 8.8 of 12.9); for sm_80 NVRTC 11.2, as earlier ones lack nvrtcGetSupportedArchs.
 */
static const sj_arch archs[] = {
    {SWA_JIT_ARCH_SM_80, "sm_80", 166912, 167936, 65536, 108, 11020, 11000},
    {SWA_JIT_ARCH_SM_89, "sm_89", 101376, 102400, 65536, 142, 11080, 11080},
    {SWA_JIT_ARCH_SM_90A, "sm_90a", 232448, 233472, 65536, 132, 12000, 12000},
    {SWA_JIT_ARCH_SM_100A, "sm_100a", 232448, 233472, 65536, 148, 12080, 12080},
    {SWA_JIT_ARCH_SM_103A, "sm_103a", 232448, 233472, 65536, 148, 12090, 12090},
    {SWA_JIT_ARCH_SM_120A, "sm_120a", 101376, 102400, 65536, 188, 12080, 12080},
};

enum { NUM_ARCHS = sizeof archs / sizeof archs[0] };

const sj_arch *sj_arch_at(unsigned index)
{
  return index < NUM_ARCHS ? &archs[index] : NULL;
}

const char *sj_arch_list(void)
{
  return "sm_80, sm_89, sm_90a, sm_100a, sm_103a, sm_120a";
}

const sj_arch *sj_arch_find(uint32_t id)
{
  for (unsigned i = 0; i < NUM_ARCHS; i++) {
    if (archs[i].id == id) {
      return &archs[i];
    }
  }
  return NULL;
}

static bool equals(const char *name, size_t length, const char *known)
{
  return strlen(known) == length && memcmp(name, known, length) == 0;
}

static const sj_arch *find_bytes(const char *name, size_t length)
{
  for (unsigned i = 0; i < NUM_ARCHS; i++) {
    if (equals(name, length, archs[i].name)) {
      return &archs[i];
    }
  }
  return NULL;
}

const sj_arch *sj_arch_find_name(const char *name)
{
  return find_bytes(name, strlen(name));
}

/* "sm_100" -> the row of "sm_100a". */
static const sj_arch *find_without_suffix(const char *name, size_t length)
{
  for (unsigned i = 0; i < NUM_ARCHS; i++) {
    const size_t full = strlen(archs[i].name);
    if (archs[i].name[full - 1] == 'a' && length == full - 1 && memcmp(name, archs[i].name, length) == 0) {
      return &archs[i];
    }
  }
  return NULL;
}

swa_jit_status sj_arch_read_name(const char *name, size_t length, uint32_t *id_out)
{
  if (equals(name, length, "native")) {
    *id_out = SWA_JIT_ARCH_NATIVE;
    return SWA_JIT_OK;
  }
  const sj_arch *arch = find_bytes(name, length);
  if (arch != NULL) {
    *id_out = arch->id;
    return SWA_JIT_OK;
  }
  char shown[SJ_QUOTE_SIZE];
  sj_text_quote(name, length, shown);
  const sj_arch *suffixed = find_without_suffix(name, length);
  if (suffixed != NULL) {
    return sj_fail(SWA_JIT_INVALID,
                   "arch is \"%s\": use %s; the a-suffix is needed, as the plain target lacks the "
                   "architecture's own instructions",
                   shown, suffixed->name);
  }
  return sj_fail(SWA_JIT_INVALID, "arch is \"%s\": use native, %s", shown, sj_arch_list());
}

bool sj_arch_runs_on(const sj_arch *arch, int major, int minor)
{
  switch (arch->id) {
  case SWA_JIT_ARCH_SM_80: /* a cubin runs on later minor versions of its major one */
    return major == 8 && minor >= 0;
  case SWA_JIT_ARCH_SM_89:
    return major == 8 && minor >= 9;
  default: /* an a-target runs on its own compute capability only */
    return major * 10 + minor == (int)arch->id && minor < 10;
  }
}

const sj_arch *sj_arch_for_device(int major, int minor)
{
  for (unsigned i = NUM_ARCHS; i > 0; i--) {
    if (sj_arch_runs_on(&archs[i - 1], major, minor)) {
      return &archs[i - 1];
    }
  }
  return NULL;
}

bool sj_arch_ptx_runs_on(const sj_arch *arch, int major, int minor)
{
  const bool is_portable = arch->id == SWA_JIT_ARCH_SM_80 || arch->id == SWA_JIT_ARCH_SM_89;
  return is_portable && minor >= 0 && minor < 10 && major * 10 + minor >= (int)arch->id;
}

const sj_arch *sj_arch_for_newer_device(int major, int minor, uint32_t shared_memory_bytes)
{
  if (sj_arch_for_device(major, minor) != NULL) {
    return NULL;
  }
  /* The least of what fits: sm_80 allows the larger configurations, where the device has the memory. */
  for (unsigned i = 0; i < NUM_ARCHS; i++) {
    if (sj_arch_ptx_runs_on(&archs[i], major, minor) && archs[i].shared_memory_bytes <= shared_memory_bytes) {
      return &archs[i];
    }
  }
  return NULL;
}
