/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "arch.h"
#include "status.h"
#include "text.h"

/* ---- the table -------------------------------------------------------------------------------------------- */

#define COUNT(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))
#define OFFSET(field) offsetof(swa_jit_config, field)

enum { FOOTER_HEAD_DIM = 512 };

/* What the kernel of clusters is cut for, see docs/kernels/cluster.md. */
enum { CLUSTER_SIZE = 4, CLUSTER_HEAD_DIM = 512, CLUSTER_POSITIONS = 128, CLUSTER_HEADS = 16 };

static const uint32_t arch_values[] = {
    SWA_JIT_ARCH_NATIVE,  SWA_JIT_ARCH_SM_80,   SWA_JIT_ARCH_SM_89,   SWA_JIT_ARCH_SM_90A,
    SWA_JIT_ARCH_SM_100A, SWA_JIT_ARCH_SM_103A, SWA_JIT_ARCH_SM_120A,
};
static const char *const arch_names[] = {"native", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"};
static const uint32_t head_dim_values[] = {64, 96, 128, 192, 256, 512};
static const uint32_t head_group_values[] = {8, 16, 32, 64, 128};
static const uint32_t kv_tile_values[] = {16, 32, 64, 128};
static const uint32_t kv_format_values[] = {SWA_JIT_KV_E4M3_SLOT, SWA_JIT_KV_E4M3, SWA_JIT_KV_BF16,
                                            SWA_JIT_KV_FOOTER_584, SWA_JIT_KV_FOOTER_528};
static const char *const kv_format_names[] = {"e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528"};
static const uint32_t int_type_values[] = {SWA_JIT_INT32, SWA_JIT_INT64};
static const char *const int_type_names[] = {"int32", "int64"};
static const uint32_t scale_type_values[] = {SWA_JIT_FLOAT32, SWA_JIT_BFLOAT16};
static const char *const scale_type_names[] = {"float32", "bfloat16"};
static const uint32_t switch_values[] = {0, 1};
static const uint32_t head_dim_v_values[] = {0, 64, 96, 128, 192, 256, 512};
static const uint32_t kernel_values[] = {SWA_JIT_KERNEL_DECODE, SWA_JIT_KERNEL_MERGE};
static const char *const kernel_names[] = {"decode", "merge"};
static const uint32_t cluster_size_values[] = {0, CLUSTER_SIZE};

static const sj_config_field fields[] = {
    {.name = "arch",
     .offset = OFFSET(arch),
     .default_value = SWA_JIT_ARCH_SM_100A,
     .values = arch_values,
     .num_values = COUNT(arch_values),
     .value_names = arch_names,
     .help = "architecture that the kernel is compiled for; native: the device's"},
    {.name = "head_dim",
     .short_name = "hd",
     .always_named = true,
     .offset = OFFSET(head_dim),
     .default_value = 512,
     .values = head_dim_values,
     .num_values = COUNT(head_dim_values),
     .help = "elements of a row"},
    {.name = "head_group",
     .short_name = "hg",
     .always_named = true,
     .offset = OFFSET(head_group),
     .default_value = 16,
     .values = head_group_values,
     .num_values = COUNT(head_group_values),
     .help = "query heads per CTA"},
    {.name = "kv_tile",
     .short_name = "kt",
     .always_named = true,
     .offset = OFFSET(kv_tile),
     .default_value = 16,
     .values = kv_tile_values,
     .num_values = COUNT(kv_tile_values),
     .help = "KV rows per pipeline stage"},
    {.name = "window_size",
     .short_name = "w",
     .always_named = true,
     .offset = OFFSET(window_size),
     .default_value = 128,
     .minimum = 1,
     .maximum = 8192,
     .help = "most positions that a token attends to"},
    {.name = "kv_format",
     .short_name = "",
     .always_named = true,
     .offset = OFFSET(kv_format),
     .default_value = SWA_JIT_KV_E4M3_SLOT,
     .values = kv_format_values,
     .num_values = COUNT(kv_format_values),
     .value_names = kv_format_names,
     .help = "how a KV row is stored"},
    {.name = "index_type",
     .short_name = "ix_",
     .offset = OFFSET(index_type),
     .default_value = SWA_JIT_INT32,
     .values = int_type_values,
     .num_values = COUNT(int_type_values),
     .value_names = int_type_names,
     .help = "type of indices"},
    {.name = "lens_type",
     .offset = OFFSET(lens_type),
     .default_value = SWA_JIT_INT32,
     .values = int_type_values,
     .num_values = COUNT(int_type_values),
     .value_names = int_type_names,
     .help = "type of lens"},
    {.name = "scale_type",
     .offset = OFFSET(scale_type),
     .default_value = SWA_JIT_FLOAT32,
     .values = scale_type_values,
     .num_values = COUNT(scale_type_values),
     .value_names = scale_type_names,
     .help = "type of inv_scale"},
    {.name = "lse",
     .short_name = "lse",
     .offset = OFFSET(lse),
     .default_value = 1,
     .values = switch_values,
     .num_values = COUNT(switch_values),
     .help = "1: the kernel can write LSE; 0: it cannot"},
    {.name = "head_dim_v",
     .text_is_optional = true,
     .short_name = "hv",
     .offset = OFFSET(head_dim_v),
     .default_value = 0,
     .values = head_dim_v_values,
     .num_values = COUNT(head_dim_v_values),
     .help = "elements of a row of V's own pool; 0: V is K's row"},
    {.name = "sinks",
     .text_is_optional = true,
     .short_name = "sk",
     .offset = OFFSET(sinks),
     .default_value = 0,
     .values = switch_values,
     .num_values = COUNT(switch_values),
     .help = "1: the kernel takes a sink a head; 0: it does not"},
    {.name = "soft_cap",
     .text_is_optional = true,
     .short_name = "cap",
     .offset = OFFSET(soft_cap),
     .default_value = 0,
     .values = switch_values,
     .num_values = COUNT(switch_values),
     .help = "1: the kernel caps scores; 0: it does not"},
    {.name = "extra_size",
     .text_is_optional = true,
     .short_name = "x",
     .offset = OFFSET(extra_size),
     .default_value = 0,
     .minimum = 0,
     .maximum = 8192,
     .help = "most positions of a token in the extra scope; 0: no such scope"},
    {.name = "extra_format",
     .text_is_optional = true,
     .offset = OFFSET(extra_format),
     .default_value = SWA_JIT_KV_E4M3_SLOT,
     .values = kv_format_values,
     .num_values = COUNT(kv_format_values),
     .value_names = kv_format_names,
     .help = "how a row of the extra scope is stored"},
    {.name = "kernel",
     .text_is_optional = true,
     .short_name = "",
     .offset = OFFSET(kernel),
     .default_value = SWA_JIT_KERNEL_DECODE,
     .values = kernel_values,
     .num_values = COUNT(kernel_values),
     .value_names = kernel_names,
     .help = "decode: one step of attention; merge: partial results to one"},
    {.name = "splits",
     .text_is_optional = true,
     .short_name = "sp",
     .offset = OFFSET(splits),
     .default_value = 0,
     .values = switch_values,
     .num_values = COUNT(switch_values),
     .help = "1: several CTAs may share a token's positions; 0: they may not"},
    {.name = "cluster_size",
     .text_is_optional = true,
     .short_name = "cl",
     .offset = OFFSET(cluster_size),
     .default_value = 0,
     .values = cluster_size_values,
     .num_values = COUNT(cluster_size_values),
     .help = "CTAs of a cluster that share a token's heads; 0: each works by itself"},
};

/* Equality and hash read the struct as words: every word but the size is a field of the table. */
enum { NUM_FIELDS = sizeof fields / sizeof fields[0] };
_Static_assert(sizeof(swa_jit_config) == (NUM_FIELDS + 1) * sizeof(uint32_t), "a configuration field has no table row");

/* ---- fields ----------------------------------------------------------------------------------------------- */

const sj_config_field *sj_config_field_at(unsigned index)
{
  return index < NUM_FIELDS ? &fields[index] : NULL;
}

const sj_config_field *sj_config_field_find(const char *name, size_t length)
{
  for (unsigned i = 0; i < NUM_FIELDS; i++) {
    if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0) {
      return &fields[i];
    }
  }
  return NULL;
}

uint32_t sj_config_get(const swa_jit_config *config, const sj_config_field *field)
{
  uint32_t value = 0;
  memcpy(&value, (const char *)config + field->offset, sizeof value);
  return value;
}

void sj_config_set(swa_jit_config *config, const sj_config_field *field, uint32_t value)
{
  memcpy((char *)config + field->offset, &value, sizeof value);
}

void sj_config_init(swa_jit_config *config)
{
  *config = (swa_jit_config){.size = sizeof *config};
  for (unsigned i = 0; i < NUM_FIELDS; i++) {
    sj_config_set(config, &fields[i], fields[i].default_value);
  }
}

/* ---- values ----------------------------------------------------------------------------------------------- */

static bool is_legal(const sj_config_field *field, uint32_t value)
{
  if (field->values == NULL) {
    return value >= field->minimum && value <= field->maximum;
  }
  for (unsigned i = 0; i < field->num_values; i++) {
    if (field->values[i] == value) {
      return true;
    }
  }
  return false;
}

const char *sj_config_value_text(const sj_config_field *field, uint32_t value, char buffer[16])
{
  if (field->value_names == NULL) {
    snprintf(buffer, 16, "%u", value);
    return buffer;
  }
  for (unsigned i = 0; i < field->num_values; i++) {
    if (field->values[i] == value) {
      return field->value_names[i];
    }
  }
  return NULL;
}

void sj_config_values_text(const sj_config_field *field, char *text, size_t text_size)
{
  if (field->values == NULL) {
    snprintf(text, text_size, "%u to %u", field->minimum, field->maximum);
    return;
  }
  size_t length = 0;
  text[0] = '\0';
  for (unsigned i = 0; i < field->num_values && length < text_size; i++) {
    char buffer[16];
    const char *joint = i == 0 ? "" : i + 1 == field->num_values ? " or " : ", ";
    const char *value = sj_config_value_text(field, field->values[i], buffer);
    length += (size_t)snprintf(text + length, text_size - length, "%s%s", joint, value);
  }
}

static swa_jit_status refuse(const sj_config_field *field, const char *shown)
{
  char values[SJ_CONFIG_VALUES_SIZE];
  sj_config_values_text(field, values, sizeof values);
  return sj_fail(SWA_JIT_INVALID, "%s is %s: use %s", field->name, shown, values);
}

swa_jit_status sj_config_read_value(const sj_config_field *field, const char *text, size_t length, uint32_t *value_out)
{
  if (field == &fields[0]) {
    return sj_arch_read_name(text, length, value_out);
  }
  if (field->value_names != NULL) {
    for (unsigned i = 0; i < field->num_values; i++) {
      if (strlen(field->value_names[i]) == length && memcmp(field->value_names[i], text, length) == 0) {
        *value_out = field->values[i];
        return SWA_JIT_OK;
      }
    }
  }
  uint64_t number = 0;
  const bool is_number = sj_text_read_u64(text, length, &number);
  if (field->value_names == NULL && is_number && number <= UINT32_MAX && is_legal(field, (uint32_t)number)) {
    *value_out = (uint32_t)number;
    return SWA_JIT_OK;
  }
  char quoted[SJ_QUOTE_SIZE], shown[SJ_QUOTE_SIZE + 2];
  sj_text_quote(text, length, quoted);
  snprintf(shown, sizeof shown, is_number ? "%s" : "\"%s\"", quoted);
  return refuse(field, shown);
}

/* ---- whole configurations --------------------------------------------------------------------------------- */

static swa_jit_status check_values(const swa_jit_config *config)
{
  for (unsigned i = 0; i < NUM_FIELDS; i++) {
    const uint32_t value = sj_config_get(config, &fields[i]);
    if (!is_legal(&fields[i], value)) {
      char shown[16];
      snprintf(shown, sizeof shown, "%u", value);
      return refuse(&fields[i], shown);
    }
  }
  return SWA_JIT_OK;
}

/* The first release's struct is the whole struct: with a later field this becomes its offset's neighbour. */
enum { FIRST_SIZE = offsetof(swa_jit_config, cluster_size) + sizeof(uint32_t) };

/* The caller's struct as this library's, values unchecked. */
static swa_jit_status copy_given(const swa_jit_config *given, swa_jit_config *config_out)
{
  const swa_jit_status status = sj_abi_check(given, FIRST_SIZE, sizeof *given, "swa_jit_config");
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_config_init(config_out);
  memcpy(config_out, given, given->size < sizeof *config_out ? given->size : sizeof *config_out);
  config_out->size = sizeof *config_out;
  return SWA_JIT_OK;
}

/* ---- fields that do not fit each other: the messages say why ---- */

static bool is_footer(uint32_t format)
{
  return format == SWA_JIT_KV_FOOTER_584 || format == SWA_JIT_KV_FOOTER_528;
}

/* The values are checked: a format is its name's place in the list. */
static swa_jit_status check_footer(const swa_jit_config *config, const char *field_name, uint32_t format)
{
  if (is_footer(format) && config->head_dim != FOOTER_HEAD_DIM) {
    return sj_fail(SWA_JIT_INVALID, "%s %s with head_dim %u: its rows have %d elements; set head_dim to %d", field_name,
                   kv_format_names[format], config->head_dim, FOOTER_HEAD_DIM, FOOTER_HEAD_DIM);
  }
  if (is_footer(format) && config->head_dim_v != 0) {
    return sj_fail(SWA_JIT_INVALID, "%s %s with head_dim_v %u: its rows are K and V alike; set head_dim_v to 0",
                   field_name, kv_format_names[format], config->head_dim_v);
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_extra(const swa_jit_config *config)
{
  if (config->extra_size == 0) {
    if (config->extra_format == SWA_JIT_KV_E4M3_SLOT) {
      return SWA_JIT_OK;
    }
    return sj_fail(SWA_JIT_INVALID,
                   "extra_format %s with extra_size 0: there is no extra scope; leave extra_format at e4m3_slot, or "
                   "set extra_size",
                   kv_format_names[config->extra_format]);
  }
  if (config->head_dim_v != 0) {
    return sj_fail(SWA_JIT_INVALID,
                   "extra_size %u with head_dim_v %u: with a pool of its own for V there is one scope only; set one of "
                   "the two to 0, or make two calls and join them with swa_jit_merge",
                   config->extra_size, config->head_dim_v);
  }
  if ((config->kv_format == SWA_JIT_KV_BF16) != (config->extra_format == SWA_JIT_KV_BF16)) {
    return sj_fail(SWA_JIT_UNSUPPORTED,
                   "kv_format %s with extra_format %s: a kernel does not mix bf16 with e4m3; make two calls and join "
                   "them with swa_jit_merge",
                   kv_format_names[config->kv_format], kv_format_names[config->extra_format]);
  }
  return check_footer(config, "extra_format", config->extra_format);
}

/* Where a field is not read it keeps its default, so that one kernel has one key. */
static swa_jit_status check_scale_type(const swa_jit_config *config)
{
  const bool has_extra = config->extra_size != 0;
  if (config->scale_type == SWA_JIT_FLOAT32 || config->kv_format == SWA_JIT_KV_E4M3_SLOT
      || (has_extra && config->extra_format == SWA_JIT_KV_E4M3_SLOT)) {
    return SWA_JIT_OK;
  }
  return sj_fail(SWA_JIT_INVALID,
                 "scale_type %s with kv_format %s%s%s: only e4m3_slot has a scale a slot; leave scale_type at float32",
                 scale_type_names[config->scale_type], kv_format_names[config->kv_format],
                 has_extra ? " and extra_format " : "", has_extra ? kv_format_names[config->extra_format] : "");
}

/* A field that clusters take in part. */
typedef struct cluster_limit {
  size_t offset;
  uint32_t least, most;
  const char *remedy;
} cluster_limit;

static swa_jit_status check_cluster(const swa_jit_config *config)
{
  static const cluster_limit limits[] = {
      {OFFSET(head_dim), CLUSTER_HEAD_DIM, CLUSTER_HEAD_DIM, "set head_dim to 512"},
      {OFFSET(head_group), 0, CLUSTER_HEADS, "set head_group to 8 or 16"},
      {OFFSET(kv_tile), CLUSTER_POSITIONS, CLUSTER_POSITIONS, "set kv_tile to 128"},
      {OFFSET(window_size), 0, CLUSTER_POSITIONS, "set window_size to 128 at most"},
      {OFFSET(head_dim_v), 0, 0, "set head_dim_v to 0"},
      {OFFSET(extra_size), 0, 0, "set extra_size to 0"},
      {OFFSET(splits), 0, 0, "set splits to 0"},
  };
  if (config->cluster_size == 0) {
    return SWA_JIT_OK;
  }
  if (config->kv_format == SWA_JIT_KV_BF16) {
    return sj_fail(SWA_JIT_INVALID,
                   "cluster_size %u with kv_format bf16: set kv_format to another, or cluster_size to 0",
                   config->cluster_size);
  }
  for (unsigned i = 0; i < NUM_FIELDS; i++) {
    const uint32_t value = sj_config_get(config, &fields[i]);
    for (unsigned k = 0; k < COUNT(limits); k++) {
      if (limits[k].offset == fields[i].offset && (value < limits[k].least || value > limits[k].most)) {
        char shown[16];
        return sj_fail(SWA_JIT_INVALID, "cluster_size %u with %s %s: %s, or cluster_size to 0", config->cluster_size,
                       fields[i].name, sj_config_value_text(&fields[i], value, shown), limits[k].remedy);
      }
    }
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_merge(const swa_jit_config *config)
{
  for (unsigned i = 0; i < NUM_FIELDS; i++) {
    char shown[16], usual[16];
    const uint32_t value = sj_config_get(config, &fields[i]);
    if (fields[i].offset != OFFSET(arch) && fields[i].offset != OFFSET(kernel) && value != fields[i].default_value) {
      return sj_fail(SWA_JIT_INVALID,
                     "%s %s with kernel merge: the merge kernel takes every shape at launch; leave %s at %s",
                     fields[i].name, sj_config_value_text(&fields[i], value, shown), fields[i].name,
                     sj_config_value_text(&fields[i], fields[i].default_value, usual));
    }
  }
  return SWA_JIT_OK;
}

static swa_jit_status check_together(const swa_jit_config *config)
{
  if (config->kernel == SWA_JIT_KERNEL_MERGE) {
    return check_merge(config);
  }
  swa_jit_status status = check_footer(config, "kv_format", config->kv_format);
  if (status == SWA_JIT_OK) {
    status = check_extra(config);
  }
  if (status == SWA_JIT_OK) {
    status = check_scale_type(config);
  }
  return status == SWA_JIT_OK ? check_cluster(config) : status;
}

swa_jit_status sj_config_take(const swa_jit_config *given, swa_jit_config *config_out)
{
  swa_jit_config config;
  swa_jit_status status = copy_given(given, &config);
  if (status == SWA_JIT_OK) {
    status = check_values(&config);
  }
  if (status == SWA_JIT_OK) {
    status = check_together(&config);
  }
  if (status == SWA_JIT_OK) {
    *config_out = config;
  }
  return status;
}

bool sj_config_equal(const swa_jit_config *a, const swa_jit_config *b)
{
  const size_t offset = offsetof(swa_jit_config, arch);
  return memcmp((const char *)a + offset, (const char *)b + offset, sizeof *a - offset) == 0;
}

/* Fields in pairs, whose products do not wait for each other: a lookup is on the hot path. */
uint64_t sj_config_hash(const swa_jit_config *config)
{
  uint64_t hash = 0;
  for (size_t i = 0; i < NUM_FIELDS; i += 2) {
    uint64_t pair = 0;
    const size_t words = i + 1 < NUM_FIELDS ? 2 : 1;
    memcpy(&pair, (const char *)config + offsetof(swa_jit_config, arch) + i * sizeof(uint32_t),
           words * sizeof(uint32_t));
    pair = (pair + 1) * (UINT64_C(0x9e3779b97f4a7c15) + 2 * i * UINT64_C(0xd1342543de82ef95));
    hash ^= pair ^ (pair >> 29);
  }
  hash *= UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 32);
}

/* ---- text ------------------------------------------------------------------------------------------------- */

swa_jit_status sj_config_to_text(const swa_jit_config *given, char *text, size_t text_size)
{
  swa_jit_config config;
  const swa_jit_status status = copy_given(given, &config);
  if (status != SWA_JIT_OK) {
    return status;
  }
  char line[512]; /* above any text's length: tests/unit/test_config.c has the longest */
  size_t length = 0;
  for (unsigned i = 0; i < NUM_FIELDS; i++) {
    char buffer[16];
    const uint32_t value = sj_config_get(&config, &fields[i]);
    const char *value_text = sj_config_value_text(&fields[i], value, buffer);
    if (value_text == NULL) {
      snprintf(buffer, sizeof buffer, "%u", value);
      return refuse(&fields[i], buffer);
    }
    if (!fields[i].text_is_optional || value != fields[i].default_value) {
      length += (size_t)snprintf(line + length, sizeof line - length, "%s%s=%s", i == 0 ? "" : " ", fields[i].name,
                                 value_text);
    }
  }
  if (text == NULL || length >= text_size) {
    return sj_fail(SWA_JIT_INVALID, "text_size is %zu: %zu bytes are needed; 512 are always enough",
                   text == NULL ? (size_t)0 : text_size, length + 1);
  }
  memcpy(text, line, length + 1);
  return SWA_JIT_OK;
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* One "name=value" of that many bytes. *seen: a bit for each field already given. */
static swa_jit_status read_assignment(const char *word, size_t length, swa_jit_config *config, uint32_t *seen)
{
  const char *equals = memchr(word, '=', length);
  const size_t name_length = equals == NULL ? length : (size_t)(equals - word);
  const sj_config_field *field = sj_config_field_find(word, name_length);
  char shown[SJ_QUOTE_SIZE];
  if (equals == NULL) {
    sj_text_quote(word, length, shown);
    return sj_fail(SWA_JIT_INVALID, "\"%s\" is no name=value pair: write for instance head_dim=512", shown);
  }
  if (field == NULL) {
    sj_text_quote(word, name_length, shown);
    return sj_fail(SWA_JIT_INVALID,
                   "\"%s\" is no configuration field: use arch, head_dim, head_group, kv_tile, window_size, kv_format, "
                   "index_type, lens_type, scale_type, lse, head_dim_v, sinks, soft_cap, extra_size, extra_format, "
                   "kernel, splits or cluster_size",
                   shown);
  }
  const uint32_t bit = UINT32_C(1) << (field - fields);
  if ((*seen & bit) != 0) {
    return sj_fail(SWA_JIT_INVALID, "%s is given twice: give each field once", field->name);
  }
  *seen |= bit;
  uint32_t value = 0;
  const swa_jit_status status = sj_config_read_value(field, equals + 1, length - name_length - 1, &value);
  if (status == SWA_JIT_OK) {
    sj_config_set(config, field, value);
  }
  return status;
}

swa_jit_status sj_config_from_text(const char *text, swa_jit_config *config_out)
{
  if (text == NULL) {
    return sj_fail(SWA_JIT_INVALID, "text is NULL: pass \"\" for the defaults");
  }
  swa_jit_config config;
  sj_config_init(&config);
  uint32_t seen = 0;
  while (*text != '\0') {
    if (is_blank(*text)) {
      text++;
      continue;
    }
    size_t length = 0;
    while (text[length] != '\0' && !is_blank(text[length])) {
      length++;
    }
    const swa_jit_status status = read_assignment(text, length, &config, &seen);
    if (status != SWA_JIT_OK) {
      return status;
    }
    text += length;
  }
  *config_out = config;
  return SWA_JIT_OK;
}
