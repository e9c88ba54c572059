/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: a call's plain name to the version of it that cuda.h of a release means. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { FOUND = 0, SYMBOL_NOT_FOUND = 1, VERSION_TOO_OLD = 2, NAME_SIZE = 128 };

/* Where the second version is not what every release since CUDA 3.2 means. */
static const struct {
  const char *name;
  int version; /* first release that means */
  const char *symbol;
} versions[] = {
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuEventElapsedTime", 2000, "cuEventElapsedTime"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDeviceGetUuid", 9020, "cuDeviceGetUuid"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 11030, "cuGetProcAddress"},
};

static void *find(void *self, const char *name, int version, int *status_out)
{
  char second[NAME_SIZE];
  *status_out = FOUND;
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
    if (strcmp(versions[i].name, name) == 0 && version >= versions[i].version) {
      return dlsym(self, versions[i].symbol);
    }
  }
  snprintf(second, sizeof second, "%s_v2", name);
  void *symbol = dlsym(self, second);
  if (symbol == NULL) {
    symbol = dlsym(self, name);
  }
  *status_out = symbol != NULL ? FOUND : SYMBOL_NOT_FOUND;
  return symbol;
}

CALL(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags, int *status)
{
  Dl_info info;
  int found = SYMBOL_NOT_FOUND;
  static const char here;
  (void)flags; /* of default streams: there is one kind */
  if (name == NULL || function == NULL || strlen(name) + sizeof "_v2" > NAME_SIZE) {
    return EMU_INVALID_VALUE;
  }
  void *self = dladdr(&here, &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  *function = self != NULL ? find(self, name, version, &found) : NULL;
  if (self != NULL) {
    dlclose(self);
  }
  if (status != NULL) {
    *status = found;
    return EMU_OK;
  }
  return *function != NULL ? EMU_OK : EMU_NOT_FOUND;
}

CALL(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
