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
    PLAN_CONSTANT(exact_softmax), PLAN_CONSTANT(num_warps),           PLAN_CONSTANT(min_ctas_per_sm),
    PLAN_CONSTANT(score_warps_m), PLAN_CONSTANT(score_warps_n),       PLAN_CONSTANT(value_warps_m),
    PLAN_CONSTANT(value_warps_n), PLAN_CONSTANT(pass_heads),          PLAN_CONSTANT(num_stages),
    PLAN_CONSTANT(q_stages),      PLAN_CONSTANT(padded_window),       PLAN_CONSTANT(row_bytes),
    PLAN_CONSTANT(v_row_bytes),   PLAN_CONSTANT(shared_memory_bytes),
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

static const char *format_name(uint32_t format)
{
  static const char name[] = "kv_format";
  return sj_config_value_text(sj_config_field_find(name, strlen(name)), format, NULL);
}

/* Types of the parts below, kv/<format>.cuh. Where there is no extra scope its type is the window's, and unused. */
static void add_formats(sj_text *text, const swa_jit_config *config)
{
  const char *window = format_name(config->kv_format);
  const char *extra = config->extra_size != 0 ? format_name(config->extra_format) : window;
  sj_text_add_format(text, "namespace swa {\nnamespace kv {\ntemplate <unsigned dims> struct %s;\n", window);
  if (strcmp(window, extra) != 0) {
    sj_text_add_format(text, "template <unsigned dims> struct %s;\n", extra);
  }
  sj_text_add_format(text, "}\nusing k_format = kv::%s<head_dim>;\nusing v_format = kv::%s<head_dim_v>;\n", window,
                     window);
  sj_text_add_format(text, "using extra_format = kv::%s<head_dim>;\n}\n", extra);
}

static void add_config(sj_text *text, const swa_jit_config *config)
{
  add_number(text, "head_dim", config->head_dim);
  add_number(text, "head_group", config->head_group);
  add_number(text, "kv_tile", config->kv_tile);
  add_number(text, "window_size", config->window_size);
  add_number(text, "head_dim_v", config->head_dim_v != 0 ? config->head_dim_v : config->head_dim);
  add_number(text, "extra_size", config->extra_size);
  add_bool(text, "has_own_v", config->head_dim_v != 0);
  add_int_type(text, "index_type", config->index_type);
  add_int_type(text, "lens_type", config->lens_type);
  add_bool(text, "scale_is_bf16", config->scale_type == SWA_JIT_BFLOAT16);
  add_bool(text, "with_lse", config->lse != 0);
  add_bool(text, "with_sinks", config->sinks != 0);
  add_bool(text, "with_soft_cap", config->soft_cap != 0);
  add_bool(text, "with_splits", config->splits != 0);
  add_number(text, "cluster_ctas", config->cluster_size != 0 ? config->cluster_size : 1);
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

static bool has_format(const swa_jit_config *config, uint32_t format)
{
  return config->kv_format == format || (config->extra_size != 0 && config->extra_format == format);
}

typedef struct part_names {
  const char *const *names;
  size_t count;
} part_names;

static bool is_among(const sj_template_part *part, part_names among)
{
  for (size_t i = 0; i < among.count; i++) {
    if (strcmp(part->name, among.names[i]) == 0) {
      return true;
    }
  }
  return false;
}

#define TEMPLATE(name) "kernel_templates/" name
static const char *const merge_names[] = {
    TEMPLATE("swa_merge_params.h"), TEMPLATE("ptx/load_store.cuh"),     TEMPLATE("ptx/convert.cuh"),
    TEMPLATE("swa_merge.cu"),       TEMPLATE("ptx/griddepcontrol.cuh"),
};
static const char *const cluster_names[] = {
    TEMPLATE("ptx/cluster.cuh"),    TEMPLATE("cluster/smem.cuh"),      TEMPLATE("cluster/groups.cuh"),
    TEMPLATE("cluster/gather.cuh"), TEMPLATE("cluster/scores.cuh"),    TEMPLATE("cluster/exchange.cuh"),
    TEMPLATE("cluster/values.cuh"), TEMPLATE("swa_decode_cluster.cu"),
};
static const char *const cta_names[] = {
    TEMPLATE("smem_plan.cuh"), TEMPLATE("softmax.cuh"),     TEMPLATE("kv/mend.cuh"),      TEMPLATE("gather.cuh"),
    TEMPLATE("load_q.cuh"),    TEMPLATE("mma/factors.cuh"), TEMPLATE("mma/mma_sync.cuh"), TEMPLATE("epilogue.cuh"),
    TEMPLATE("splits.cuh"),    TEMPLATE("swa_decode.cu"),
};
#define PARTS(names)                                                                                                   \
  {                                                                                                                    \
    (names), sizeof(names) / sizeof(names)[0]                                                                          \
  }
static const part_names merge_parts = PARTS(merge_names);     /* all of the merge kernel's */
static const part_names cluster_parts = PARTS(cluster_names); /* that only the decode kernel of clusters has */
static const part_names cta_parts = PARTS(cta_names);         /* that only the decode kernel of single CTAs has */

static bool is_of_kernel(const sj_template_part *part, const swa_jit_config *config)
{
  static const char merge_start[] = TEMPLATE("swa_merge");
  if (config->kernel == SWA_JIT_KERNEL_MERGE) {
    return is_among(part, merge_parts);
  }
  return strncmp(part->name, merge_start, strlen(merge_start)) != 0
         && !is_among(part, config->cluster_size != 0 ? cta_parts : cluster_parts);
}

/* What "//: if" may ask. */
typedef struct subject {
  const swa_jit_config *config;
  const sj_tile_plan *plan;
} subject;

typedef struct condition {
  const char *name;
  bool (*holds)(const subject *of);
} condition;

static bool with_lse(const subject *of)
{
  return of->config->lse != 0;
}

static bool with_sinks(const subject *of)
{
  return of->config->sinks != 0;
}

static bool with_soft_cap(const subject *of)
{
  return of->config->soft_cap != 0;
}

static bool with_extra(const subject *of)
{
  return of->config->extra_size != 0;
}

static bool with_own_v(const subject *of)
{
  return of->config->head_dim_v != 0;
}

static bool with_splits(const subject *of)
{
  return of->config->splits != 0;
}

static bool without_splits(const subject *of)
{
  return of->config->splits == 0;
}

static bool with_tail(const subject *of)
{
  return has_format(of->config, SWA_JIT_KV_FOOTER_584);
}

static bool with_groups(const subject *of)
{
  return with_tail(of) || has_format(of->config, SWA_JIT_KV_FOOTER_528);
}

static bool with_codes(const subject *of)
{
  return of->config->kv_format != SWA_JIT_KV_BF16;
}

static bool without_codes(const subject *of)
{
  return of->config->kv_format == SWA_JIT_KV_BF16;
}

static bool with_exact_softmax(const subject *of)
{
  return of->plan->exact_softmax != 0;
}

static bool with_online_softmax(const subject *of)
{
  return of->plan->exact_softmax == 0;
}

/* As swa_config.cuh has it: q_is_resident. */
static bool with_resident_q(const subject *of)
{
  return of->plan->q_stages >= (of->config->head_dim + 63) / 64;
}

static bool with_q_in_turns(const subject *of)
{
  return !with_resident_q(of);
}

static const condition conditions[] = {
    {"with_lse", with_lse},
    {"with_sinks", with_sinks},
    {"with_soft_cap", with_soft_cap},
    {"with_extra", with_extra},
    {"with_own_v", with_own_v},
    {"with_tail", with_tail},
    {"with_groups", with_groups},
    {"with_codes", with_codes},
    {"without_codes", without_codes},
    {"with_splits", with_splits},
    {"without_splits", without_splits},
    {"with_exact_softmax", with_exact_softmax},
    {"with_online_softmax", with_online_softmax},
    {"with_resident_q", with_resident_q},
    {"with_q_in_turns", with_q_in_turns},
};

/* The regions that the lines of a part up to here have opened. */
enum { MAX_REGIONS = 4 };
typedef struct template_regions {
  unsigned num_open, num_dropped; /* of the open ones, the innermost are dropped */
  unsigned line_numbers[MAX_REGIONS];
  part_line lines[MAX_REGIONS];
} template_regions;

static swa_jit_status open_region(const sj_template_part *part, unsigned line_number, part_line line, const subject *of,
                                  template_regions *regions)
{
  const size_t word = strlen("//: if ");
  for (unsigned i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
    const part_line name = {line.start + word, line.length - word};
    if (is(name, conditions[i].name)) {
      if (regions->num_open == MAX_REGIONS) {
        return refuse(part, line_number, line, "regions nest four deep at most: end one before");
      }
      regions->line_numbers[regions->num_open] = line_number;
      regions->lines[regions->num_open++] = line;
      if (regions->num_dropped != 0 || !conditions[i].holds(of)) {
        regions->num_dropped++;
      }
      return SWA_JIT_OK;
    }
  }
  return refuse(part, line_number, line, "unknown condition: src/render.c lists them");
}

static swa_jit_status read_marker(const sj_template_part *part, unsigned line_number, part_line line, const subject *of,
                                  template_regions *regions)
{
  if (begins(line, "//: if ")) {
    return open_region(part, line_number, line, of, regions);
  }
  if (is(line, "//: end")) {
    if (regions->num_open == 0) {
      return refuse(part, line_number, line, "no region is open here");
    }
    regions->num_open--;
    regions->num_dropped -= regions->num_dropped != 0;
    return SWA_JIT_OK;
  }
  return refuse(part, line_number, line, "unknown marker: use \"//: if <condition>\" or \"//: end\"");
}

/* Of the KV formats' parts only those of the scopes' formats are rendered: kernel_templates/kv/<format>.cuh. */
static bool is_chosen(const sj_template_part *part, const swa_jit_config *config)
{
  if (!is_of_kernel(part, config)) {
    return false;
  }
  static const char folder[] = "kernel_templates/kv/";
  static const char name[] = "kv_format";
  if (strncmp(part->name, folder, strlen(folder)) != 0) {
    return true;
  }
  const sj_config_field *field = sj_config_field_find(name, strlen(name));
  const char *file = part->name + strlen(folder);
  for (unsigned i = 0; i < field->num_values; i++) {
    const char *format = field->value_names[i];
    if (strncmp(file, format, strlen(format)) == 0 && strcmp(file + strlen(format), ".cuh") == 0) {
      return has_format(config, field->values[i]);
    }
  }
  return true;
}

swa_jit_status sj_render_part(const sj_template_part *part, const swa_jit_config *config, const sj_tile_plan *plan,
                              sj_text *text)
{
  if (!is_chosen(part, config)) {
    return SWA_JIT_OK;
  }
  sj_text_add_format(text, "#line 1 \"%s\"\n", part->name);
  const subject of = {config, plan};
  template_regions regions = {0};
  const char *rest = part->bytes;
  const char *end = part->bytes + part->length;
  for (unsigned line_number = 1; rest < end; line_number++) {
    const char *newline = memchr(rest, '\n', (size_t)(end - rest));
    const size_t length = (size_t)((newline != NULL ? newline : end) - rest);
    const part_line line = trim(rest, length);
    if (begins(line, "//:")) {
      const swa_jit_status status = read_marker(part, line_number, line, &of, &regions);
      if (status != SWA_JIT_OK) {
        return status;
      }
    } else if (regions.num_dropped == 0 && !is_own_include(line)) {
      sj_text_add_bytes(text, rest, length);
    }
    sj_text_add(text, "\n"); /* for a dropped line too: the numbers stay */
    rest += length + 1;
  }
  if (regions.num_open != 0) {
    const unsigned inner = regions.num_open - 1;
    return refuse(part, regions.line_numbers[inner], regions.lines[inner], "it has no \"//: end\"");
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
  if (!is_merge) {
    add_formats(text, config);
  }
  for (unsigned i = 0; i < sj_num_template_parts; i++) {
    const swa_jit_status part_status = sj_render_part(&sj_template_parts[i], config, plan, text);
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
