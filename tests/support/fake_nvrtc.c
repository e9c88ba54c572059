/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_nvrtc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "os.h"
#include "tiny_cubin.h"

enum { CUBIN_SEED = 7 };

static const char good_report[] =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'swa_decode' for 'sm_100a'\n"
    "ptxas info    : Function properties for swa_decode\n"
    "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 1 barriers\n";

static struct {
  fake_nvrtc_plan plan;
  _Atomic unsigned counts[FAKE_NVRTC_NUM_CALLS];
  _Atomic int num_programs;
  _Atomic int has_failed;
  pthread_mutex_t mutex; /* over options */
  char options[1024];
} fake = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint8_t cubin[TINY_CUBIN_BYTES];

typedef struct fake_program {
  int is_virtual; /* compiled for a virtual architecture: to PTX, without ptxas and its report */
  size_t cubin_bytes;
  uint8_t cubin[];
} fake_program;

static int count_call(fake_nvrtc_call call)
{
  unsigned any = ++fake.counts[FAKE_NVRTC_ANY];
  unsigned own = ++fake.counts[call];
  if (fake.plan.nth == 0 || (fake.plan.call != FAKE_NVRTC_ANY && fake.plan.call != call)) {
    return 0;
  }
  if ((fake.plan.call == FAKE_NVRTC_ANY ? any : own) != fake.plan.nth) {
    return 0;
  }
  fake.has_failed = 1;
  return fake.plan.result;
}

static int fake_version(int *major, int *minor)
{
  *major = (int)(fake.plan.version_code / 1000);
  *minor = (int)(fake.plan.version_code % 1000 / 10);
  return 0;
}

static const char *fake_get_error_string(int result)
{
  return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_FAKE";
}

/* If the plan asks for it, the content's 16 bytes are the source's digest, as is every 16 bytes of what follows. */
static fake_program *make_program(const char *source)
{
  size_t count = fake.plan.cubin_bytes > TINY_CUBIN_BYTES ? fake.plan.cubin_bytes : TINY_CUBIN_BYTES;
  fake_program *made = calloc(1, sizeof *made + count);
  if (made == NULL) {
    return NULL;
  }
  made->cubin_bytes = count;
  tiny_cubin_make(CUBIN_SEED, made->cubin);
  if (fake.plan.cubin_of_source) {
    uint8_t digest[SJ_DIGEST_BYTES];
    sj_digest_make(source, strlen(source), digest);
    memcpy(made->cubin + TINY_CUBIN_CONTENT, digest, sizeof digest);
    for (size_t i = TINY_CUBIN_BYTES; i < count; i++) {
      made->cubin[i] = digest[i % sizeof digest];
    }
  }
  return made;
}

static int fake_create_program(sj_nvrtc_program *program, const char *source, const char *name, int num_headers,
                               const char *const *headers, const char *const *include_names)
{
  (void)headers;
  (void)include_names;
  int result = count_call(FAKE_NVRTC_CREATE_PROGRAM);
  if (result == 0 && (source == NULL || name == NULL || num_headers != 0)) {
    result = 3; /* NVRTC_ERROR_INVALID_INPUT */
  }
  if (result == 0) {
    fake_program *made = make_program(source);
    if (made == NULL) {
      return 1; /* NVRTC_ERROR_OUT_OF_MEMORY */
    }
    *program = (sj_nvrtc_program)(void *)made;
    fake.num_programs++;
  }
  return result;
}

static int fake_destroy_program(sj_nvrtc_program *program)
{
  int result = count_call(FAKE_NVRTC_DESTROY_PROGRAM);
  free((void *)*program);
  *program = NULL;
  fake.num_programs--;
  return result;
}

static int fake_compile_program(sj_nvrtc_program program, int num_options, const char *const *options)
{
  fake_program *made = (void *)program;
  int result = count_call(FAKE_NVRTC_COMPILE_PROGRAM);
  pthread_mutex_lock(&fake.mutex);
  fake.options[0] = '\0';
  for (int i = 0; i < num_options; i++) {
    size_t used = strlen(fake.options);
    snprintf(fake.options + used, sizeof fake.options - used, "%s%s", i == 0 ? "" : " ", options[i]);
    made->is_virtual |= strstr(options[i], "=compute_") != NULL;
  }
  pthread_mutex_unlock(&fake.mutex);
  if (fake.plan.compile_ms > 0) {
    sj_os_sleep_ms(fake.plan.compile_ms);
  }
  return result;
}

static const char *log_text(sj_nvrtc_program program)
{
  const fake_program *made = (const void *)program;
  return fake.plan.log != NULL ? fake.plan.log : made->is_virtual ? "" : good_report;
}

static int fake_get_program_log_size(sj_nvrtc_program program, size_t *size)
{
  *size = strlen(log_text(program)) + 1;
  return count_call(FAKE_NVRTC_GET_LOG_SIZE);
}

static int fake_get_program_log(sj_nvrtc_program program, char *log)
{
  memcpy(log, log_text(program), strlen(log_text(program)) + 1);
  return count_call(FAKE_NVRTC_GET_LOG);
}

static int fake_get_cubin_size(sj_nvrtc_program program, size_t *size)
{
  const fake_program *made = (const void *)program;
  *size = fake.plan.empty_cubin || made->is_virtual ? 0 : made->cubin_bytes;
  return count_call(FAKE_NVRTC_GET_CUBIN_SIZE);
}

static int fake_get_cubin(sj_nvrtc_program program, char *bytes)
{
  const fake_program *made = (const void *)program;
  memcpy(bytes, made->cubin, made->cubin_bytes);
  return count_call(FAKE_NVRTC_GET_CUBIN);
}

static int fake_get_ptx_size(sj_nvrtc_program program, size_t *size)
{
  (void)program;
  *size = sizeof FAKE_NVRTC_PTX;
  return count_call(FAKE_NVRTC_GET_PTX_SIZE);
}

static int fake_get_ptx(sj_nvrtc_program program, char *ptx)
{
  (void)program;
  memcpy(ptx, FAKE_NVRTC_PTX, sizeof FAKE_NVRTC_PTX);
  return count_call(FAKE_NVRTC_GET_PTX);
}

static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

static int num_archs(void)
{
  int count = 0;
  while (count < (int)(sizeof archs / sizeof archs[0])
         && (fake.plan.last_arch == 0 || archs[count] <= fake.plan.last_arch)) {
    count++;
  }
  return count;
}

static int fake_get_num_supported_archs(int *count)
{
  *count = num_archs();
  return count_call(FAKE_NVRTC_GET_NUM_ARCHS);
}

static int fake_get_supported_archs(int *archs_out)
{
  memcpy(archs_out, archs, (size_t)num_archs() * sizeof archs[0]);
  return count_call(FAKE_NVRTC_GET_ARCHS);
}

const void *fake_nvrtc_cubin(size_t *count_out)
{
  tiny_cubin_make(CUBIN_SEED, cubin);
  *count_out = sizeof cubin;
  return cubin;
}

sj_nvrtc_api fake_nvrtc_start(fake_nvrtc_plan plan)
{
  fake.plan = plan;
  if (plan.version_code == 0) {
    fake.plan.version_code = 13000;
  }
  for (unsigned i = 0; i < FAKE_NVRTC_NUM_CALLS; i++) {
    fake.counts[i] = 0;
  }
  fake.num_programs = 0;
  fake.has_failed = 0;
  fake.options[0] = '\0';
  tiny_cubin_make(CUBIN_SEED, cubin);
  return (sj_nvrtc_api){
      .version = fake_version,
      .get_error_string = fake_get_error_string,
      .create_program = fake_create_program,
      .destroy_program = fake_destroy_program,
      .compile_program = fake_compile_program,
      .get_program_log_size = fake_get_program_log_size,
      .get_program_log = fake_get_program_log,
      .get_cubin_size = fake_get_cubin_size,
      .get_cubin = fake_get_cubin,
      .get_ptx_size = fake_get_ptx_size,
      .get_ptx = fake_get_ptx,
      .get_num_supported_archs = fake_get_num_supported_archs,
      .get_supported_archs = fake_get_supported_archs,
      .path = "fake libnvrtc",
      .version_code = fake.plan.version_code,
  };
}

unsigned fake_nvrtc_count(fake_nvrtc_call call)
{
  return fake.counts[call];
}

unsigned fake_nvrtc_num_programs(void)
{
  return (unsigned)fake.num_programs;
}

int fake_nvrtc_has_failed(void)
{
  return fake.has_failed;
}

const char *fake_nvrtc_options(void)
{
  return fake.options;
}
