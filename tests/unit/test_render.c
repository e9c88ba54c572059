/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "render.h"
#include "status.h"

static const sj_tile_plan plan = {.exact_softmax = 1,
                                  .num_warps = 4,
                                  .min_ctas_per_sm = 2,
                                  .score_warps_m = 3,
                                  .score_warps_n = 5,
                                  .value_warps_m = 6,
                                  .value_warps_n = 7,
                                  .pass_heads = 16,
                                  .num_stages = 9,
                                  .q_stages = 4,
                                  .padded_window = 144,
                                  .row_bytes = 528,
                                  .v_row_bytes = 160,
                                  .shared_memory_bytes = 65552};

static char *render(const swa_jit_config *config)
{
  char *source = NULL;
  assert_int_equal(sj_render_make(config, &plan, &source), SWA_JIT_OK);
  assert_non_null(source);
  return source;
}

/* A part of that text, rendered without its #line; in a buffer of the test's. */
static const char *render_text(const char *bytes, uint32_t lse)
{
  static char rendered[1024];
  static const char line[] = "#line 1 \"kernel_templates/x.cuh\"\n";
  const sj_template_part part = {"kernel_templates/x.cuh", bytes, (unsigned)strlen(bytes)};
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.lse = lse;
  sj_text text = {0};
  assert_int_equal(sj_render_part(&part, &config, &plan, &text), SWA_JIT_OK);
  assert_ptr_equal(strstr(text.data, line), text.data);
  snprintf(rendered, sizeof rendered, "%s", text.data + strlen(line));
  sj_text_finish(&text);
  return rendered;
}

/* ---- the block -------------------------------------------------------------------------------------------- */

static void source_begins_with_the_configuration_and_its_constants(void **state)
{
  (void)state;
  static const char expected[] =
      "// Sliding-window attention decode kernel, rendered by swa-jit for: arch=sm_90a head_dim=128 head_group=64 "
      "kv_tile=32 window_size=130 kv_format=e4m3_slot index_type=int64 lens_type=int32 scale_type=bfloat16 lse=0\n"
      "#define SWA_RENDERED 1\n"
      "namespace swa {\n"
      "constexpr unsigned head_dim = 128;\n"
      "constexpr unsigned head_group = 64;\n"
      "constexpr unsigned kv_tile = 32;\n"
      "constexpr unsigned window_size = 130;\n"
      "constexpr unsigned head_dim_v = 128;\n"
      "constexpr unsigned extra_size = 0;\n"
      "[[maybe_unused]] constexpr bool has_own_v = false;\n"
      "using index_type = long long;\n"
      "using lens_type = int;\n"
      "[[maybe_unused]] constexpr bool scale_is_bf16 = true;\n"
      "[[maybe_unused]] constexpr bool with_lse = false;\n"
      "[[maybe_unused]] constexpr bool with_sinks = false;\n"
      "[[maybe_unused]] constexpr bool with_soft_cap = false;\n"
      "[[maybe_unused]] constexpr bool with_splits = false;\n"
      "constexpr unsigned cluster_ctas = 1;\n"
      "constexpr unsigned exact_softmax = 1;\n";
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.head_dim = 128;
  config.head_group = 64;
  config.kv_tile = 32;
  config.window_size = 130;
  config.index_type = SWA_JIT_INT64;
  config.scale_type = SWA_JIT_BFLOAT16;
  config.lse = 0;
  char *source = render(&config);
  assert_true(strlen(source) > strlen(expected));
  source[strlen(expected)] = '\0';
  assert_string_equal(source, expected);
  free(source);
}

static void source_of_the_same_inputs_is_the_same(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char *a = render(&config);
  char *b = render(&config);
  assert_string_equal(a, b);
  free(a);
  free(b);
}

static void source_with_any_field_changed_is_another(void **state)
{
  (void)state;
  const swa_jit_config base = SWA_JIT_CONFIG_INIT;
  char *base_source = render(&base);
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    for (unsigned v = 0; v < field->num_values; v++) {
      if (field->values[v] != field->default_value) {
        swa_jit_config changed = base;
        sj_config_set(&changed, field, field->values[v]);
        char *source = render(&changed);
        assert_string_not_equal(source, base_source);
        free(source);
      }
    }
  }
  free(base_source);
}

static void source_with_any_plan_field_changed_is_another(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char *base_source = render(&config);
  for (size_t offset = 0; offset < sizeof plan; offset += sizeof(uint32_t)) {
    sj_tile_plan changed = plan;
    uint32_t value = 4242;
    memcpy((char *)&changed + offset, &value, sizeof value);
    char *source = NULL;
    assert_int_equal(sj_render_make(&config, &changed, &source), SWA_JIT_OK);
    assert_string_not_equal(source, base_source);
    assert_non_null(strstr(source, " = 4242;\n"));
    free(source);
  }
  free(base_source);
}

/* ---- the embedded parts ------------------------------------------------------------------------------------ */

/* Whether the part stands in the source, and is at or after *place_inout, which moves behind its line; once. */
static bool has_part(const char *source, const sj_template_part *part, const char **place_inout)
{
  char line[256];
  snprintf(line, sizeof line, "#line 1 \"%s\"\n", part->name);
  if (strstr(source, line) == NULL) {
    return false;
  }
  const char *place = strstr(*place_inout, line);
  assert_non_null(place);
  *place_inout = place + strlen(line);
  assert_null(strstr(*place_inout, line));
  return true;
}

/* Whether name stands in a list of names, which has a blank before and behind each. */
static bool is_in(const char *list, const char *name)
{
  char word[64];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(list, word) != NULL;
}

static void source_has_each_part_of_its_kernel_once_and_in_order(void **state)
{
  (void)state;
  static const char other_formats[] = " kv/e4m3.cuh kv/bf16.cuh kv/footer_584.cuh kv/footer_528.cuh ";
  static const char merge_parts[] =
      " swa_merge_params.h ptx/load_store.cuh ptx/convert.cuh ptx/griddepcontrol.cuh swa_merge.cu ";
  /* of the decode kernel whose CTAs work alone; what has "cluster" in its name is of the other's, the rest of both */
  static const char cta_parts[] = " smem_plan.cuh softmax.cuh kv/mend.cuh gather.cuh load_q.cuh mma/factors.cuh "
                                  "mma/mma_sync.cuh epilogue.cuh splits.cuh swa_decode.cu ";
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char *decode = render(&config);
  config.cluster_size = 4;
  char *clusters = render(&config);
  config.cluster_size = 0;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  char *merge = render(&config);
  const char *decode_place = decode, *clusters_place = clusters, *merge_place = merge;
  unsigned num_merge_parts = 0, num_cta_parts = 0, num_cluster_parts = 0;
  for (unsigned i = 0; i < sj_num_template_parts; i++) {
    const sj_template_part *part = &sj_template_parts[i];
    const char *name = part->name + strlen("kernel_templates/");
    const bool is_of_decode = strstr(name, "merge") == NULL && !is_in(other_formats, name);
    const bool is_of_ctas = is_in(cta_parts, name), is_of_clusters = strstr(name, "cluster") != NULL;
    assert_int_equal(has_part(decode, part, &decode_place), is_of_decode && !is_of_clusters);
    assert_int_equal(has_part(clusters, part, &clusters_place), is_of_decode && !is_of_ctas);
    assert_int_equal(has_part(merge, part, &merge_place), is_in(merge_parts, name));
    num_merge_parts += is_in(merge_parts, name);
    num_cta_parts += is_of_ctas;
    num_cluster_parts += is_of_clusters;
  }
  assert_int_equal(num_merge_parts, 5);
  assert_int_equal(num_cta_parts, 10);
  assert_true(num_cluster_parts >= 7);
  free(merge);
  free(clusters);
  free(decode);
}

static void source_of_clusters_has_their_size_and_entry(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.kv_tile = 128;
  config.cluster_size = 4;
  char *source = render(&config);
  assert_non_null(strstr(source, " kv_tile=128 window_size=128 "));
  assert_non_null(strstr(source, " cluster_size=4\n#define SWA_RENDERED 1\n"));
  assert_non_null(strstr(source, "constexpr unsigned cluster_ctas = 4;\n"));
  assert_non_null(strstr(source, " swa_decode("));
  assert_string_equal(sj_render_kernel_name(&config), "swa_decode");
  free(source);
}

static void source_of_the_merge_begins_with_its_constant_alone(void **state)
{
  (void)state;
  static const char expected[] =
      "// Merge kernel, rendered by swa-jit for: arch=sm_90a head_dim=512 head_group=16 kv_tile=16 window_size=128 "
      "kv_format=e4m3_slot index_type=int32 lens_type=int32 scale_type=float32 lse=1 kernel=merge\n"
      "#define SWA_RENDERED 1\n"
      "namespace swa {\n"
      "constexpr unsigned num_warps = 4;\n"
      "}\n"
      "#line 1 \"kernel_templates/swa_merge_params.h\"\n";
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  char *source = render(&config);
  assert_true(strlen(source) > strlen(expected));
  assert_memory_equal(source, expected, strlen(expected));
  assert_non_null(strstr(source, " swa_merge("));
  assert_null(strstr(source, "swa_decode"));
  assert_string_equal(sj_render_kernel_name(&config), "swa_merge");
  config.kernel = SWA_JIT_KERNEL_DECODE;
  assert_string_equal(sj_render_kernel_name(&config), "swa_decode");
  free(source);
}

static void source_has_no_marker_and_no_own_include(void **state)
{
  (void)state;
  for (uint32_t lse = 0; lse < 2; lse++) {
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    config.lse = lse;
    char *source = render(&config);
    assert_null(strstr(source, "//:"));
    assert_null(strstr(source, "#include \""));
    assert_null(strstr(source, "# include"));
    assert_null(strstr(source, "#include <")); /* no vendor header: a compile stays short */
    free(source);
  }
}

/* The format whose part it is; the default where it is of none. */
static uint32_t format_of(const char *name)
{
  const sj_config_field *field = sj_config_field_find("kv_format", strlen("kv_format"));
  for (unsigned v = 0; v < field->num_values; v++) {
    char file[64];
    snprintf(file, sizeof file, "kernel_templates/kv/%s.cuh", field->value_names[v]);
    if (strcmp(name, file) == 0) {
      return field->values[v];
    }
  }
  return field->default_value;
}

static void parts_keep_their_number_of_lines(void **state)
{
  (void)state;
  for (uint32_t lse = 0; lse < 2; lse++) {
    for (unsigned i = 0; i < sj_num_template_parts; i++) {
      const sj_template_part *part = &sj_template_parts[i];
      swa_jit_config config = SWA_JIT_CONFIG_INIT;
      config.lse = lse;
      config.kernel = strstr(part->name, "merge") != NULL ? SWA_JIT_KERNEL_MERGE : SWA_JIT_KERNEL_DECODE;
      config.cluster_size = strstr(part->name, "cluster") != NULL ? 4 : 0;
      config.kv_format = format_of(part->name);
      sj_text text = {0};
      assert_int_equal(sj_render_part(part, &config, &plan, &text), SWA_JIT_OK);
      unsigned num_lines = 0, num_rendered = 0;
      for (unsigned b = 0; b < part->length; b++) {
        num_lines += part->bytes[b] == '\n';
      }
      for (size_t b = 0; b < text.length; b++) {
        num_rendered += text.data[b] == '\n';
      }
      assert_int_equal(part->bytes[part->length - 1], '\n');
      assert_int_equal(num_rendered, num_lines + 1);
      sj_text_finish(&text);
    }
  }
}

/* A declaration of the block, "constexpr unsigned head_dim", from its line, less its attribute; NULL past the block's
 * end. */
static const char *next_declaration(const char *line, char declaration[64])
{
  static const char attribute[] = "[[maybe_unused]] ";
  while (strncmp(line, "constexpr ", 10) != 0 && strncmp(line, "using ", 6) != 0) {
    if (strncmp(line, attribute, strlen(attribute)) == 0) {
      line += strlen(attribute);
      continue;
    }
    const char *newline = strchr(line, '\n');
    if (newline == NULL || line[0] == '}') {
      return NULL;
    }
    line = newline + 1;
  }
  const size_t length = strcspn(line, "=\n");
  assert_true(line[length] == '=' && length < 64);
  snprintf(declaration, 64, "%.*s", (int)length, line);
  return strchr(line, '\n') + 1;
}

/* Each declaration of the first block with the constants of a, in the order of a, stands in b; how many they are. */
static unsigned count_declarations_in(const char *a, const char *b)
{
  unsigned num_declarations = 0;
  char declaration[64];
  const char *end = strstr(b, "\n}");
  assert_non_null(end);
  for (const char *line = a; (line = next_declaration(line, declaration)) != NULL; num_declarations++) {
    const char *place = strstr(b, declaration);
    assert_true(place != NULL && place < end);
  }
  return num_declarations;
}

/* A part that parses alone in an editor sees the same names as a rendered one. */
static void constants_of_the_block_and_the_neutral_defaults_agree(void **state)
{
  (void)state;
  const char *neutral = NULL;
  for (unsigned i = 0; i < sj_num_template_parts; i++) {
    if (strcmp(sj_template_parts[i].name, "kernel_templates/swa_config.cuh") == 0) {
      neutral = strstr(sj_template_parts[i].bytes, "#ifndef SWA_RENDERED\n");
    }
  }
  assert_non_null(neutral);
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char *source = render(&config);
  const char *block = strstr(source, "namespace swa");
  const unsigned num_rendered = count_declarations_in(block, neutral);
  assert_true(num_rendered > 0);
  assert_int_equal(count_declarations_in(neutral, block), num_rendered);
  free(source);
}

/* ---- the rules for a part's lines -------------------------------------------------------------------------- */

static void part_own_includes_become_empty_lines(void **state)
{
  (void)state;
  assert_string_equal(render_text("a\n#include \"b.cuh\"\n  #  include\t\"../c.h\" // c\nd\n", 1), "a\n\n\nd\n");
  assert_string_equal(render_text("#include <b.h>\n// #include \"b.h\"\n#included \"x\"\n", 1),
                      "#include <b.h>\n// #include \"b.h\"\n#included \"x\"\n");
}

static void part_region_is_kept_or_dropped_by_its_constant(void **state)
{
  (void)state;
  static const char part[] = "a\n  //: if with_lse\nb\nc\n//: end\t\nd\n//: if with_lse\ne\n//: end\n";
  assert_string_equal(render_text(part, 1), "a\n\nb\nc\n\nd\n\ne\n\n");
  assert_string_equal(render_text(part, 0), "a\n\n\n\n\nd\n\n\n\n");
}

static void part_regions_nest_and_an_outer_one_drops_the_inner(void **state)
{
  (void)state;
  static const char part[] = "//: if with_lse\na\n//: if with_codes\nb\n//: end\n//: if with_sinks\nc\n//: end\nd\n"
                             "//: end\ne\n";
  assert_string_equal(render_text(part, 1), "\na\n\nb\n\n\n\n\nd\n\ne\n");
  assert_string_equal(render_text(part, 0), "\n\n\n\n\n\n\n\n\n\ne\n");
}

/* Each condition holds for its configurations, and not for the defaults but with_lse and with_codes. */
static void part_conditions_follow_the_configuration(void **state)
{
  (void)state;
  static const char *const rows[][2] = {
      {"with_sinks", "sinks=1"},
      {"with_soft_cap", "soft_cap=1"},
      {"with_extra", "extra_size=64"},
      {"with_own_v", "head_dim_v=128"},
      {"with_splits", "splits=1"},
      {"with_tail", "kv_format=footer_584"},
      {"with_tail", "extra_size=1 extra_format=footer_584"},
      {"with_groups", "kv_format=footer_584"},
      {"with_groups", "kv_format=footer_528"},
      {"with_groups", "extra_size=1 extra_format=footer_528"},
      {"without_codes", "kv_format=bf16"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char bytes[64];
    snprintf(bytes, sizeof bytes, "//: if %s\nx\n//: end\n", rows[i][0]);
    const sj_template_part part = {"kernel_templates/x.cuh", bytes, (unsigned)strlen(bytes)};
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    sj_text text = {0};
    assert_int_equal(sj_config_from_text(rows[i][1], &config), SWA_JIT_OK);
    assert_int_equal(sj_render_part(&part, &config, &plan, &text), SWA_JIT_OK);
    assert_non_null(strstr(text.data, "\nx\n"));
    assert_null(strstr(render_text(bytes, 1), "x"));
    sj_text_finish(&text);
  }
}

/* Those of the tile plan: either holds, as the plan says. */
static void part_conditions_follow_the_plan(void **state)
{
  (void)state;
  static const char bytes[] = "//: if with_exact_softmax\ne\n//: end\n//: if with_online_softmax\no\n//: end\n"
                              "//: if with_resident_q\nr\n//: end\n//: if with_q_in_turns\nt\n//: end\n";
  static const struct {
    uint32_t exact_softmax, q_stages;
    const char *rendered;
  } rows[] = {
      {1, 8, "\ne\n\n\n\n\n\nr\n\n\n\n\n"},
      {0, 8, "\n\n\n\no\n\n\nr\n\n\n\n\n"},
      {1, 4, "\ne\n\n\n\n\n\n\n\n\nt\n\n"},
      {0, 7, "\n\n\n\no\n\n\n\n\n\nt\n\n"},
  };
  const sj_template_part part = {"kernel_templates/x.cuh", bytes, (unsigned)strlen(bytes)};
  const swa_jit_config config = SWA_JIT_CONFIG_INIT; /* head_dim 512: 8 chunks */
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    sj_tile_plan changed = plan;
    changed.exact_softmax = rows[i].exact_softmax;
    changed.q_stages = rows[i].q_stages;
    sj_text text = {0};
    assert_int_equal(sj_render_part(&part, &config, &changed, &text), SWA_JIT_OK);
    assert_string_equal(strchr(text.data, '\n') + 1, rows[i].rendered);
    sj_text_finish(&text);
  }
}

static void part_without_a_last_newline_gets_one(void **state)
{
  (void)state;
  assert_string_equal(render_text("a\nb", 1), "a\nb\n");
  assert_string_equal(render_text("a\n//: if with_lse\nb\n//: end", 1), "a\n\nb\n\n");
  assert_string_equal(render_text("", 1), "");
}

static void part_of_another_kv_format_is_not_rendered(void **state)
{
  (void)state;
  static const struct {
    const char *name;
    bool is_rendered;
  } rows[] = {
      {"kernel_templates/kv/e4m3_slot.cuh", true},   {"kernel_templates/kv/bf16.cuh", false},
      {"kernel_templates/kv/e4m3.cuh", false},       {"kernel_templates/kv/format.cuh", true},
      {"kernel_templates/kv/footer_528.cuh", false}, {"kernel_templates/gather.cuh", true},
      {"kernel_templates/ptx/e4m3_slot.cuh", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const sj_template_part part = {rows[i].name, "a\n", 2};
    const swa_jit_config config = SWA_JIT_CONFIG_INIT;
    sj_text text = {0};
    assert_int_equal(sj_render_part(&part, &config, &plan, &text), SWA_JIT_OK);
    assert_int_equal(text.length > 0, rows[i].is_rendered);
    sj_text_finish(&text);
  }
}

static void part_with_a_wrong_marker_is_refused(void **state)
{
  (void)state;
  static const char *const rows[][2] = {
      {"a\n//: if with_foo\n//: end\n", "kernel_templates/x.cuh:2: \"//: if with_foo\": unknown condition"},
      {"//: if\n//: end\n", "kernel_templates/x.cuh:1: \"//: if\": unknown marker"},
      {"//: endif\n", "kernel_templates/x.cuh:1: \"//: endif\": unknown marker"},
      {"//:end\n", "kernel_templates/x.cuh:1: \"//:end\": unknown marker"},
      {"  //: if with_lse // why\n", "kernel_templates/x.cuh:1: \"//: if with_lse // why\": unknown condition"},
      {"//: else\n", "kernel_templates/x.cuh:1: \"//: else\": unknown marker"},
      {"a\nb\n//: end\n", "kernel_templates/x.cuh:3: \"//: end\": no region is open here"},
      {"//: if with_lse\n//: if with_lse\n//: end\n", "kernel_templates/x.cuh:1: \"//: if with_lse\": it has no"},
      {"//: if with_lse\n//: if with_lse\n//: if with_lse\n//: if with_lse\n//: if with_codes\n",
       "kernel_templates/x.cuh:5: \"//: if with_codes\": regions nest four deep"},
      {"a\n//: if with_lse\nb\n", "kernel_templates/x.cuh:2: \"//: if with_lse\": it has no \"//: end\""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (uint32_t lse = 0; lse < 2; lse++) { /* a dropped region is read with the same care */
      const sj_template_part part = {"kernel_templates/x.cuh", rows[i][0], (unsigned)strlen(rows[i][0])};
      swa_jit_config config = SWA_JIT_CONFIG_INIT;
      config.lse = lse;
      sj_text text = {0};
      assert_int_equal(sj_render_part(&part, &config, &plan, &text), SWA_JIT_COMPILE_FAILED);
      assert_ptr_equal(strstr(sj_message(), rows[i][1]), sj_message());
      sj_text_finish(&text);
    }
  }
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(source_begins_with_the_configuration_and_its_constants),
      cmocka_unit_test(source_of_the_same_inputs_is_the_same),
      cmocka_unit_test(source_with_any_field_changed_is_another),
      cmocka_unit_test(source_with_any_plan_field_changed_is_another),
      cmocka_unit_test(source_has_each_part_of_its_kernel_once_and_in_order),
      cmocka_unit_test(source_of_clusters_has_their_size_and_entry),
      cmocka_unit_test(source_of_the_merge_begins_with_its_constant_alone),
      cmocka_unit_test(source_has_no_marker_and_no_own_include),
      cmocka_unit_test(parts_keep_their_number_of_lines),
      cmocka_unit_test(constants_of_the_block_and_the_neutral_defaults_agree),
      cmocka_unit_test(part_own_includes_become_empty_lines),
      cmocka_unit_test(part_region_is_kept_or_dropped_by_its_constant),
      cmocka_unit_test(part_regions_nest_and_an_outer_one_drops_the_inner),
      cmocka_unit_test(part_conditions_follow_the_configuration),
      cmocka_unit_test(part_conditions_follow_the_plan),
      cmocka_unit_test(part_without_a_last_newline_gets_one),
      cmocka_unit_test(part_of_another_kv_format_is_not_rendered),
      cmocka_unit_test(part_with_a_wrong_marker_is_refused),
  };
  return SJ_TEST_RUN(tests);
}
