/* SPDX-License-Identifier: Apache-2.0 */
#include "compile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "text.h"

enum { /* the vendor's numbers, nvrtc.h of CUDA 13.0 */
       NVRTC_SUCCESS = 0,
       NVRTC_ERROR_OUT_OF_MEMORY = 1,
       NVRTC_ERROR_COMPILATION = 6
};

/* Options that change no byte of the cubin, and the first NVRTC that knows each. They are no part of the key, and older
 * versions refuse them. */
static const struct {
  const char *name;
  uint32_t min_nvrtc;
} silent_options[] = {
    {"--minimal", 12040},  /* built-in declarations that the source does not use are not read */
    {"--no-cache", 12090}, /* an answer from NVRTC's cache has an empty log, so no figures, and a false compile time */
};
enum { NUM_SILENT_OPTIONS = sizeof silent_options / sizeof silent_options[0] };

enum {
  SOURCE_CONTEXT = 3, /* lines shown on each side of an error */
  MESSAGE_LINES = 8,  /* compiler lines that a message carries */
  MESSAGE_BYTES = 2048,
  MOST_ARCHS = 256, /* more than a compiler will ever list */
  PROGRAM_NAME_SIZE = 64
};

/* What is compiled, and how. */
typedef struct compile_job {
  const sj_nvrtc_api *api;
  const sj_arch *arch;
  const char *kernel_name;
  const char *source;
  sj_compile_ptx ptx;
  char program_name[PROGRAM_NAME_SIZE]; /* what the compiler calls the source before its first #line */
  const sj_log *log;
} compile_job;

/*
 * What stands here is part of the key, so each option must change the code or what is kept of the compile:
 * - the language is named, as compilers' defaults move;
 * - -v makes ptxas report registers and spills into the log, and the entry keeps those figures.
 * Left out on purpose: include paths (the source is complete, and a path must never reach the key), fast-math options
 * (accuracy is promised), -default-device (the source marks its functions, so that other compilers read it alike),
 * and -lineinfo (it puts the current folder into the cubin).
 */
unsigned sj_compile_options(const sj_arch *arch, char storage[64], const char *options_out[SJ_MAX_COMPILE_OPTIONS])
{
  unsigned count = 0;
  snprintf(storage, 64, "--gpu-architecture=%s", arch->name);
  options_out[count++] = storage;
  options_out[count++] = "--std=c++17";
  options_out[count++] = "--ptxas-options=-v";
  options_out[count] = NULL;
  return count;
}

static swa_jit_status fail_too_old(const sj_nvrtc_api *api, const sj_arch *arch)
{
  return sj_fail(SWA_JIT_UNSUPPORTED,
                 "%s is version %u.%u: compiling for %s needs NVRTC %u.%u or newer; install it, or name its file with "
                 "nvrtc_path or SWA_JIT_NVRTC",
                 api->path, api->version_code / 1000, api->version_code % 1000 / 10, arch->name, arch->min_nvrtc / 1000,
                 arch->min_nvrtc % 1000 / 10);
}

static swa_jit_status fail_call(const sj_nvrtc_api *api, const char *call, int result, const char *log)
{
  if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
    return sj_fail_memory();
  }
  const char *name = api->get_error_string(result);
  return sj_fail(SWA_JIT_NO_COMPILER,
                 "%s: %s failed with %d, %s: check the installation of NVRTC and its environment%s%.*s", api->path,
                 call, result, name != NULL ? name : "an unknown result", log[0] != '\0' ? ". It said:\n" : "",
                 MESSAGE_BYTES, log);
}

/* NVRTC lists numbers without suffixes: sm_100a needs 100. */
static swa_jit_status check_arch(const sj_nvrtc_api *api, const sj_arch *arch)
{
  if (api->version_code < arch->min_nvrtc) {
    return fail_too_old(api, arch);
  }
  int count = 0;
  int result = api->get_num_supported_archs(&count);
  if (result != NVRTC_SUCCESS || count < 0 || count > MOST_ARCHS) {
    return fail_call(api, "nvrtcGetNumSupportedArchs", result, "");
  }
  int archs[MOST_ARCHS];
  result = api->get_supported_archs(archs);
  if (result != NVRTC_SUCCESS) {
    return fail_call(api, "nvrtcGetSupportedArchs", result, "");
  }
  for (int i = 0; i < count; i++) {
    if (archs[i] == (int)arch->id) {
      return SWA_JIT_OK;
    }
  }
  return sj_fail(SWA_JIT_UNSUPPORTED,
                 "%s, version %u.%u, does not list %s among what it compiles for: use an NVRTC that does, named with "
                 "nvrtc_path or SWA_JIT_NVRTC",
                 api->path, api->version_code / 1000, api->version_code % 1000 / 10, arch->name);
}

/* The log's text; "" when it cannot be had. NULL: out of memory. */
static char *fetch_log(const sj_nvrtc_api *api, sj_nvrtc_program program)
{
  size_t size = 0;
  if (api->get_program_log_size(program, &size) != NVRTC_SUCCESS) {
    size = 0;
  }
  char *log = calloc(1, size + 1);
  if (log != NULL && size > 0 && api->get_program_log(program, log) != NVRTC_SUCCESS) {
    log[0] = '\0';
  }
  return log;
}

/* ---- ptxas's report -------------------------------------------------------------------------------------- */

/* The number that ends right before what, as in "Used 40 registers"; false if the line has none. */
static bool read_count(const char *line, size_t length, const char *what, uint32_t *count_out)
{
  const char *found = memmem(line, length, what, strlen(what));
  if (found == NULL) {
    return false;
  }
  const char *first = found;
  while (first > line && first[-1] >= '0' && first[-1] <= '9') {
    first--;
  }
  uint64_t count = 0;
  if (!sj_text_read_u64(first, (size_t)(found - first), &count) || count > UINT32_MAX) {
    return false;
  }
  *count_out = (uint32_t)count;
  return true;
}

static bool holds(const char *line, size_t length, const char *part)
{
  return memmem(line, length, part, strlen(part)) != NULL;
}

/* Whether the line ends in a blank and that name. */
static bool ends_in_name(const char *line, size_t length, const char *name)
{
  const size_t name_length = strlen(name);
  return length > name_length && line[length - name_length - 1] == ' '
         && memcmp(line + length - name_length, name, name_length) == 0;
}

/* ptxas reports function by function; the kernel's part begins with its name. */
static void read_report(const char *log, const char *kernel_name, sj_compiled *compiled)
{
  char quoted[PROGRAM_NAME_SIZE];
  snprintf(quoted, sizeof quoted, "'%s'", kernel_name);
  bool is_kernel = false;     /* in the part of the kernel's entry function */
  bool is_properties = false; /* in the properties of the kernel itself, not of a function that it calls */
  for (const char *line = log; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    if (holds(line, length, "Compiling entry function '")) {
      is_kernel = holds(line, length, quoted);
      is_properties = false;
    } else if (holds(line, length, "Function properties for ")) {
      is_properties = ends_in_name(line, length, kernel_name);
    } else if (is_properties) {
      read_count(line, length, " bytes spill stores", &compiled->spill_store_bytes);
      read_count(line, length, " bytes spill loads", &compiled->spill_load_bytes);
    }
    if (is_kernel && holds(line, length, "Used ")) {
      read_count(line, length, " registers", &compiled->num_registers);
    }
    line += length + (line[length] == '\n');
  }
}

/* ---- Errors ---------------------------------------------------------------------------------------------- */

/* The first line of log that tells an error; log itself if none does. */
static const char *find_error(const char *log)
{
  for (const char *line = log; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    if (holds(line, length, "error") || holds(line, length, "fatal")) {
      return line;
    }
    line += length + (line[length] == '\n');
  }
  return log;
}

/* Bytes of the first lines of text: at most MESSAGE_LINES and MESSAGE_BYTES, without the last newline. */
static int first_lines(const char *text)
{
  size_t end = 0;
  for (unsigned lines = 0; lines < MESSAGE_LINES && text[end] != '\0'; lines++) {
    end += strcspn(text + end, "\n");
    end += text[end] == '\n';
  }
  while (end > 0 && text[end - 1] == '\n') {
    end--;
  }
  return end < MESSAGE_BYTES ? (int)end : MESSAGE_BYTES;
}

/* Reads "name(12): ..." into its parts. */
static bool read_place(const char *line, size_t *name_length_out, uint64_t *number_out)
{
  size_t length = strcspn(line, "\n");
  const char *end = memmem(line, length, "): ", 3);
  const char *open = end;
  while (open != NULL && open > line && *open != '(') {
    open--;
  }
  if (open == NULL || *open != '(' || !sj_text_read_u64(open + 1, (size_t)(end - open - 1), number_out)) {
    return false;
  }
  *name_length_out = (size_t)(open - line);
  return true;
}

/* A #line directive's number and name; false for any other line. */
static bool read_directive(const char *line, size_t length, uint64_t *number_out, const char **name_out,
                           size_t *name_length_out)
{
  static const char start[] = "#line ";
  if (length < sizeof start - 1 || memcmp(line, start, sizeof start - 1) != 0) {
    return false;
  }
  const char *digits = line + sizeof start - 1;
  size_t num_digits = strspn(digits, "0123456789");
  const char *open = memchr(line, '"', length);
  const char *close = open == NULL ? NULL : memchr(open + 1, '"', length - (size_t)(open + 1 - line));
  if (close == NULL || !sj_text_read_u64(digits, num_digits, number_out)) {
    return false;
  }
  *name_out = open + 1;
  *name_length_out = (size_t)(close - open - 1);
  return true;
}

/* The line of the rendered source that its #line directives call number of name; 0 if there is none. */
static unsigned find_line(const compile_job *job, const char *name, size_t name_length, uint64_t number)
{
  const char *here = job->program_name;
  size_t here_length = strlen(here);
  uint64_t here_number = 1;
  unsigned line_number = 1;
  for (const char *line = job->source; *line != '\0'; line_number++) {
    size_t length = strcspn(line, "\n");
    if (!read_directive(line, length, &here_number, &here, &here_length)) {
      if (here_number == number && here_length == name_length && memcmp(here, name, name_length) == 0) {
        return line_number;
      }
      here_number++;
    }
    line += length + (line[length] == '\n');
  }
  return 0;
}

/* Whether the compiler's own line blames what it compiled. NVRTC and ptxas give the same result for a full memory or
 * disk, or a part of the installation that is missing, and the next compile may succeed. */
static bool is_source_at_fault(const char *compiler_log)
{
  static const char *const shortages[] = {"memory", "No space", "open", "nternal error", "builtins", "not found"};
  const char *error = find_error(compiler_log);
  const size_t length = strcspn(error, "\n");
  size_t name_length = 0;
  uint64_t number = 0;
  bool is_blamed =
      read_place(error, &name_length, &number) || (holds(error, length, "ptxas") && holds(error, length, "error"));
  for (unsigned i = 0; i < sizeof shortages / sizeof shortages[0]; i++) {
    is_blamed = is_blamed && !holds(error, length, shortages[i]);
  }
  return is_blamed;
}

static swa_jit_status fail_source(const compile_job *job, const char *compiler_log)
{
  const uint32_t version = job->api->version_code;
  const char *error = find_error(compiler_log);
  size_t name_length = 0;
  uint64_t number = 0;
  if (read_place(error, &name_length, &number)) {
    unsigned line_number = find_line(job, error, name_length, number);
    if (line_number > 0) {
      sj_log_source(job->log, job->source, line_number, SOURCE_CONTEXT);
    }
  }
  return sj_fail(SWA_JIT_COMPILE_FAILED,
                 "NVRTC %u.%u refused the source for %s; dump_dir or SWA_JIT_DUMP_DIR keeps it:\n%.*s", version / 1000,
                 version % 1000 / 10, job->arch->name, first_lines(error), error);
}

/* ---- The compile ----------------------------------------------------------------------------------------- */

typedef int (*get_size_fn)(sj_nvrtc_program program, size_t *size);
typedef int (*get_bytes_fn)(sj_nvrtc_program program, char *bytes);

/* One product of a compile, with a zero behind it. A size of 0 is what NVRTC says of a product that it did not make. */
static swa_jit_status fetch(const sj_nvrtc_api *api, sj_nvrtc_program program, const char *call, get_size_fn get_size,
                            get_bytes_fn get_bytes, char **bytes_out, size_t *count_out)
{
  size_t count = 0;
  int result = get_size(program, &count);
  if (result != NVRTC_SUCCESS) {
    return fail_call(api, call, result, "");
  }
  if (count == 0) {
    return sj_fail(SWA_JIT_NO_COMPILER, "%s: the compile succeeded, but %s gives 0 bytes: use another NVRTC", api->path,
                   call);
  }
  char *bytes = calloc(1, count + 1);
  if (bytes == NULL) {
    return sj_fail_memory();
  }
  result = get_bytes(program, bytes);
  if (result != NVRTC_SUCCESS) {
    free(bytes);
    return fail_call(api, call, result, "");
  }
  *bytes_out = bytes;
  *count_out = count;
  return SWA_JIT_OK;
}

static int compile_program(const compile_job *job, sj_nvrtc_program program)
{
  char storage[64];
  const char *options[SJ_MAX_COMPILE_OPTIONS + NUM_SILENT_OPTIONS];
  unsigned count = sj_compile_options(job->arch, storage, options);
  if (job->ptx == SJ_COMPILE_PTX_ALONE) { /* asked for the virtual architecture, NVRTC leaves ptxas out */
    snprintf(storage, sizeof storage, "--gpu-architecture=compute_%s", job->arch->name + strlen("sm_"));
  }
  for (unsigned i = 0; i < NUM_SILENT_OPTIONS; i++) {
    if (job->api->version_code >= silent_options[i].min_nvrtc) {
      options[count++] = silent_options[i].name;
    }
  }
  return job->api->compile_program(program, (int)count, options);
}

static swa_jit_status fetch_cubin(const compile_job *job, sj_nvrtc_program program, sj_compiled *compiled)
{
  const sj_nvrtc_api *api = job->api;
  char *cubin = NULL;
  if (job->ptx == SJ_COMPILE_PTX_ALONE) {
    return SWA_JIT_OK;
  }
  swa_jit_status status =
      fetch(api, program, "nvrtcGetCUBIN", api->get_cubin_size, api->get_cubin, &cubin, &compiled->cubin_bytes);
  compiled->cubin = cubin;
  return status;
}

static swa_jit_status fetch_ptx(const compile_job *job, sj_nvrtc_program program, sj_compiled *compiled)
{
  const sj_nvrtc_api *api = job->api;
  size_t count = 0;
  if (job->ptx == SJ_COMPILE_PTX_NONE) {
    return SWA_JIT_OK;
  }
  swa_jit_status status = fetch(api, program, "nvrtcGetPTX", api->get_ptx_size, api->get_ptx, &compiled->ptx, &count);
  if (status != SWA_JIT_OK && job->ptx == SJ_COMPILE_PTX_WISHED) {
    sj_log_line(job->log, SWA_JIT_LOG_WARN, "the PTX could not be dumped, and the kernel is used without: %s",
                sj_message());
    return SWA_JIT_OK;
  }
  return status;
}

static swa_jit_status run_program(const compile_job *job, sj_nvrtc_program program, sj_compiled *compiled)
{
  const sj_nvrtc_api *api = job->api;
  uint64_t start = sj_os_now_ns();
  int result = compile_program(job, program);
  compiled->compile_ns = sj_os_now_ns() - start;
  compiled->log = fetch_log(api, program);
  if (compiled->log == NULL) {
    return sj_fail_memory();
  }
  if (result == NVRTC_ERROR_COMPILATION) {
    compiled->is_source_at_fault = is_source_at_fault(compiled->log);
    return fail_source(job, compiled->log);
  }
  if (result != NVRTC_SUCCESS) {
    return fail_call(api, "nvrtcCompileProgram", result, compiled->log);
  }
  swa_jit_status status = fetch_cubin(job, program, compiled);
  if (status == SWA_JIT_OK) {
    status = fetch_ptx(job, program, compiled);
  }
  read_report(compiled->log, job->kernel_name, compiled);
  return status;
}

swa_jit_status sj_compile_run(const sj_nvrtc_api *api, const sj_arch *arch, const char *kernel_name, const char *source,
                              sj_compile_ptx ptx, const sj_log *log, sj_compiled *compiled_out)
{
  compile_job job = {.api = api, .arch = arch, .kernel_name = kernel_name, .source = source, .ptx = ptx, .log = log};
  snprintf(job.program_name, sizeof job.program_name, "%s.cu", kernel_name);
  *compiled_out = (sj_compiled){.nvrtc_version = api->version_code};
  swa_jit_status status = check_arch(api, arch);
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_nvrtc_program program = NULL;
  int result = api->create_program(&program, source, job.program_name, 0, NULL, NULL);
  if (result != NVRTC_SUCCESS) {
    return fail_call(api, "nvrtcCreateProgram", result, "");
  }
  status = run_program(&job, program, compiled_out);
  api->destroy_program(&program);
  return status;
}

void sj_compiled_finish(sj_compiled *compiled)
{
  free(compiled->cubin);
  free(compiled->ptx);
  free(compiled->log);
  *compiled = (sj_compiled){0};
}
