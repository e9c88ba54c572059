/* SPDX-License-Identifier: Apache-2.0 */
#include "render.h"

#include <string.h>

#include "config.h"
#include "status.h"

/* ---- the rendered block ------------------------------------------------------------------------------------ */

typedef struct plan_constant {
  const char *name;
  size_t offset;
} plan_constant;

#define PLAN_CONSTANT(field)                                                                                           \
  {                                                                                                                    \
#field, offsetof(sj_tile_plan, field)                                                                              \
  }
static const plan_constant plan_constants[] = {
    PLAN_CONSTANT(exact_softmax),       PLAN_CONSTANT(num_warps),
    PLAN_CONSTANT(min_ctas_per_sm),     PLAN_CONSTANT(score_warps_m),
    PLAN_CONSTANT(score_warps_n),       PLAN_CONSTANT(value_warps_m),
    PLAN_CONSTANT(value_warps_n),       PLAN_CONSTANT(pass_heads),
    PLAN_CONSTANT(num_stages),          PLAN_CONSTANT(q_stages),
    PLAN_CONSTANT(padded_window),       PLAN_CONSTANT(row_bytes),
    PLAN_CONSTANT(shared_memory_bytes),
};
enum { NUM_PLAN_CONSTANTS = sizeof plan_constants / sizeof plan_constants[0] };
_Static_assert(sizeof(sj_tile_plan) == NUM_PLAN_CONSTANTS * sizeof(uint32_t), "a tile plan field is not rendered");

static void add_number(sj_text *text, const char *name, uint32_t value)
{
  sj_text_add_format(text, "constexpr unsigned %s = %u;\n", name, value);
}

/* maybe_unused: with_lse is asked by the markers only, and NVRTC would warn of it in every log. */
static void add_bool(sj_text *text, const char *name, bool value)
{
  sj_text_add_format(text, "[[maybe_unused]] constexpr bool %s = %s;\n", name, value ? "true" : "false");
}

static void add_int_type(sj_text *text, const char *name, uint32_t type)
{
  sj_text_add_format(text, "using %s = %s;\n", name, type == SWA_JIT_INT64 ? "long long" : "int");
}

static void add_config(sj_text *text, const swa_jit_config *config)
{
  add_number(text, "head_dim", config->head_dim);
  add_number(text, "head_group", config->head_group);
  add_number(text, "kv_tile", config->kv_tile);
  add_number(text, "window_size", config->window_size);
  add_int_type(text, "index_type", config->index_type);
  add_int_type(text, "lens_type", config->lens_type);
  add_bool(text, "scale_is_bf16", config->scale_type == SWA_JIT_BFLOAT16);
  add_bool(text, "with_lse", config->lse != 0);
}

static void add_plan(sj_text *text, const sj_tile_plan *plan)
{
  for (unsigned i = 0; i < NUM_PLAN_CONSTANTS; i++) {
    uint32_t value = 0;
    memcpy(&value, (const char *)plan + plan_constants[i].offset, sizeof value);
    add_number(text, plan_constants[i].name, value);
  }
}

/* ---- the parts --------------------------------------------------------------------------------------------- */

typedef struct part_line {
  const char *start; /* without the blanks around it */
  size_t length;
} part_line;

static part_line trim(const char *start, size_t length)
{
  while (length > 0 && (*start == ' ' || *start == '\t')) {
    start++;
    length--;
  }
  while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t')) {
    length--;
  }
  return (part_line){start, length};
}

static bool begins(part_line line, const char *prefix)
{
  return line.length >= strlen(prefix) && memcmp(line.start, prefix, strlen(prefix)) == 0;
}

static bool is(part_line line, const char *text)
{
  return line.length == strlen(text) && begins(line, text);
}

/* The rendered source is one file: what a part includes stands above it already. */
static bool is_own_include(part_line line)
{
  if (!begins(line, "#")) {
    return false;
  }
  const part_line directive = trim(line.start + 1, line.length - 1);
  if (!begins(directive, "include")) {
    return false;
  }
  return begins(trim(directive.start + strlen("include"), directive.length - strlen("include")), "\"");
}

static swa_jit_status refuse(const sj_template_part *part, unsigned line_number, part_line line, const char *reason)
{
  char shown[SJ_QUOTE_SIZE];
  sj_text_quote(line.start, line.length, shown);
  return sj_fail(SWA_JIT_COMPILE_FAILED, "%s:%u: \"%s\": %s", part->name, line_number, shown, reason);
}

/* What the lines of a part up to here have opened. */
typedef struct template_region {
  bool is_open, is_dropped;
  unsigned line_number; /* of its "if" */
} template_region;

static swa_jit_status read_marker(const sj_template_part *part, unsigned line_number, part_line line,
                                  const swa_jit_config *config, template_region *region)
{
  if (is(line, "//: if with_lse")) {
    if (region->is_open) {
      return refuse(part, line_number, line, "regions do not nest: end the one before");
    }
    region->is_open = true;
    region->is_dropped = config->lse == 0;
    region->line_number = line_number;
    return SWA_JIT_OK;
  }
  if (is(line, "//: end")) {
    if (!region->is_open) {
      return refuse(part, line_number, line, "no region is open here");
    }
    region->is_open = false;
    region->is_dropped = false;
    return SWA_JIT_OK;
  }
  return refuse(part, line_number, line, "unknown marker: use \"//: if with_lse\" or \"//: end\"");
}

/* The merge kernel has these parts. The decode kernel has all but those that begin with the merge's name. */
static bool is_of_kernel(const sj_template_part *part, const swa_jit_config *config)
{
  static const char *const merge_parts[] = {
      "kernel_templates/swa_merge_params.h",
      "kernel_templates/ptx/load_store.cuh",
      "kernel_templates/ptx/convert.cuh",
      "kernel_templates/swa_merge.cu",
  };
  static const char merge_start[] = "kernel_templates/swa_merge";
  if (config->kernel == SWA_JIT_KERNEL_DECODE) {
    return strncmp(part->name, merge_start, strlen(merge_start)) != 0;
  }
  for (unsigned i = 0; i < sizeof merge_parts / sizeof merge_parts[0]; i++) {
    if (strcmp(part->name, merge_parts[i]) == 0) {
      return true;
    }
  }
  return false;
}

/* Of the KV formats only the chosen one's part is rendered: kernel_templates/kv/<format>.cuh. */
static bool is_chosen(const sj_template_part *part, const swa_jit_config *config)
{
  if (!is_of_kernel(part, config)) {
    return false;
  }
  static const char folder[] = "kernel_templates/kv/";
  if (strncmp(part->name, folder, strlen(folder)) != 0) {
    return true;
  }
  char buffer[16];
  const sj_config_field *field = sj_config_field_find("kv_format", strlen("kv_format"));
  const char *format = sj_config_value_text(field, config->kv_format, buffer);
  const char *file = part->name + strlen(folder);
  return strncmp(file, format, strlen(format)) == 0 && strcmp(file + strlen(format), ".cuh") == 0;
}

swa_jit_status sj_render_part(const sj_template_part *part, const swa_jit_config *config, sj_text *text)
{
  if (!is_chosen(part, config)) {
    return SWA_JIT_OK;
  }
  sj_text_add_format(text, "#line 1 \"%s\"\n", part->name);
  template_region region = {0};
  const char *rest = part->bytes;
  const char *end = part->bytes + part->length;
  for (unsigned line_number = 1; rest < end; line_number++) {
    const char *newline = memchr(rest, '\n', (size_t)(end - rest));
    const size_t length = (size_t)((newline != NULL ? newline : end) - rest);
    const part_line line = trim(rest, length);
    if (begins(line, "//:")) {
      const swa_jit_status status = read_marker(part, line_number, line, config, &region);
      if (status != SWA_JIT_OK) {
        return status;
      }
    } else if (!region.is_dropped && !is_own_include(line)) {
      sj_text_add_bytes(text, rest, length);
    }
    sj_text_add(text, "\n"); /* for a dropped line too: the numbers stay */
    rest += length + 1;
  }
  if (region.is_open) {
    const char marker[] = "//: if with_lse";
    return refuse(part, region.line_number, trim(marker, strlen(marker)), "it has no \"//: end\"");
  }
  return SWA_JIT_OK;
}

/* ---- all together ------------------------------------------------------------------------------------------ */

static swa_jit_status render(const swa_jit_config *config, const sj_tile_plan *plan, sj_text *text)
{
  char config_text[512];
  const swa_jit_status status = sj_config_to_text(config, config_text, sizeof config_text);
  if (status != SWA_JIT_OK) {
    return status;
  }
  const bool is_merge = config->kernel == SWA_JIT_KERNEL_MERGE;
  sj_text_add_format(text, "// %s kernel, rendered by swa-jit for: %s\n",
                     is_merge ? "Merge" : "Sliding-window attention decode", config_text);
  sj_text_add(text, "#define SWA_RENDERED 1\nnamespace swa {\n");
  if (is_merge) {
    add_number(text, "num_warps", plan->num_warps);
  } else {
    add_config(text, config);
    add_plan(text, plan);
  }
  sj_text_add(text, "}\n");
  for (unsigned i = 0; i < sj_num_template_parts; i++) {
    const swa_jit_status part_status = sj_render_part(&sj_template_parts[i], config, text);
    if (part_status != SWA_JIT_OK) {
      return part_status;
    }
  }
  return text->failed ? sj_fail_memory() : SWA_JIT_OK;
}

const char *sj_render_kernel_name(const swa_jit_config *config)
{
  return config->kernel == SWA_JIT_KERNEL_MERGE ? "swa_merge" : "swa_decode";
}

swa_jit_status sj_render_make(const swa_jit_config *config, const sj_tile_plan *plan, char **source_out)
{
  sj_text text = {0};
  const swa_jit_status status = render(config, plan, &text);
  if (status != SWA_JIT_OK) {
    sj_text_finish(&text);
    return status;
  }
  *source_out = sj_text_take(&text);
  return SWA_JIT_OK;
}
