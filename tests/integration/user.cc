// SPDX-License-Identifier: Apache-2.0
// The same from C++: every initialiser, and a call of each kind.
#include <cstdio>
#include <cstring>

#include <swa_jit/swa_jit.h>

static void log_line(void *log_data, uint32_t level, const char *line)
{
  static_cast<void>(log_data);
  std::fprintf(stderr, "%u %s\n", level, line);
}

int main()
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  swa_jit_lib *lib = nullptr;
  const void *cubin = nullptr;
  std::size_t cubin_bytes = 0;
  options.flags = SWA_JIT_FLAG_NO_STORE | SWA_JIT_FLAG_NO_COMPILE;
  options.log = log_line;
  if (swa_jit_open(&options, &lib) != SWA_JIT_OK) {
    return 1;
  }
  if (swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, &info) != SWA_JIT_NO_COMPILER
      || swa_jit_stats_get(lib, &stats) != SWA_JIT_OK || stats.compiles != 0
      || swa_jit_decode(nullptr, &args, nullptr) != SWA_JIT_INVALID || std::strlen(swa_jit_message()) == 0) {
    return 1;
  }
  swa_jit_close(&lib);
  return lib == nullptr ? 0 : 1;
}
