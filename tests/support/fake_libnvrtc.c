/* SPDX-License-Identifier: Apache-2.0 */
/* libnvrtc-fake.so: fake_nvrtc.c under NVRTC's names, to be opened in place of libnvrtc. For processes of their own,
 * its plan comes from the environment: FAKE_NVRTC_VERSION (13000 when unset), FAKE_NVRTC_MS (how long a compile takes),
 * FAKE_NVRTC_BYTES (how large a cubin is), FAKE_NVRTC_RESULT (what every compile returns) and FAKE_NVRTC_COUNT (a file
 * that grows by one byte for each compile begun). */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_nvrtc.h"

#define EXPORT __attribute__((visibility("default")))

static sj_nvrtc_api table;
static int compile_result;

static int read_number(const char *name)
{
  const char *text = getenv(name);
  return text != NULL ? atoi(text) : 0;
}

static void start(void)
{
  fake_nvrtc_plan plan = {
      .version_code = (uint32_t)read_number("FAKE_NVRTC_VERSION"),
      .compile_ms = (unsigned)read_number("FAKE_NVRTC_MS"),
      .cubin_of_source = 1, /* so that a wrong entry shows */
      .cubin_bytes = (size_t)read_number("FAKE_NVRTC_BYTES"),
  };
  compile_result = read_number("FAKE_NVRTC_RESULT");
  if (compile_result != 0) {
    plan.log = "kernel_templates/swa_decode.cu(1): error: refused by the stand-in\n";
  }
  table = fake_nvrtc_start(plan);
}

static const sj_nvrtc_api *api(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  return &table;
}

static void count_compile(void)
{
  const char *path = getenv("FAKE_NVRTC_COUNT");
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd >= 0) {
    if (write(fd, "c", 1) != 1) {
      abort(); /* a lost count would make a test pass that must not */
    }
    close(fd);
  }
}

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT const char *nvrtcGetErrorString(int result);
EXPORT int nvrtcCreateProgram(sj_nvrtc_program *program, const char *source, const char *name, int num_headers,
                              const char *const *headers, const char *const *include_names);
EXPORT int nvrtcDestroyProgram(sj_nvrtc_program *program);
EXPORT int nvrtcCompileProgram(sj_nvrtc_program program, int num_options, const char *const *options);
EXPORT int nvrtcGetProgramLogSize(sj_nvrtc_program program, size_t *size);
EXPORT int nvrtcGetProgramLog(sj_nvrtc_program program, char *log);
EXPORT int nvrtcGetCUBINSize(sj_nvrtc_program program, size_t *size);
EXPORT int nvrtcGetCUBIN(sj_nvrtc_program program, char *cubin);
EXPORT int nvrtcGetPTXSize(sj_nvrtc_program program, size_t *size);
EXPORT int nvrtcGetPTX(sj_nvrtc_program program, char *ptx);
EXPORT int nvrtcGetNumSupportedArchs(int *count);
EXPORT int nvrtcGetSupportedArchs(int *archs);

int nvrtcVersion(int *major, int *minor)
{
  return api()->version(major, minor);
}

const char *nvrtcGetErrorString(int result)
{
  return api()->get_error_string(result);
}

int nvrtcCreateProgram(sj_nvrtc_program *program, const char *source, const char *name, int num_headers,
                       const char *const *headers, const char *const *include_names)
{
  return api()->create_program(program, source, name, num_headers, headers, include_names);
}

int nvrtcDestroyProgram(sj_nvrtc_program *program)
{
  return api()->destroy_program(program);
}

int nvrtcCompileProgram(sj_nvrtc_program program, int num_options, const char *const *options)
{
  count_compile();
  int result = api()->compile_program(program, num_options, options);
  return result != 0 ? result : compile_result;
}

int nvrtcGetProgramLogSize(sj_nvrtc_program program, size_t *size)
{
  return api()->get_program_log_size(program, size);
}

int nvrtcGetProgramLog(sj_nvrtc_program program, char *log)
{
  return api()->get_program_log(program, log);
}

int nvrtcGetCUBINSize(sj_nvrtc_program program, size_t *size)
{
  return api()->get_cubin_size(program, size);
}

int nvrtcGetCUBIN(sj_nvrtc_program program, char *cubin)
{
  return api()->get_cubin(program, cubin);
}

int nvrtcGetPTXSize(sj_nvrtc_program program, size_t *size)
{
  return api()->get_ptx_size(program, size);
}

int nvrtcGetPTX(sj_nvrtc_program program, char *ptx)
{
  return api()->get_ptx(program, ptx);
}

int nvrtcGetNumSupportedArchs(int *count)
{
  return api()->get_num_supported_archs(count);
}

int nvrtcGetSupportedArchs(int *archs)
{
  return api()->get_supported_archs(archs);
}
