/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "arch.h"
#include "config.h"
#include "status.h"

static const char default_text[] = "arch=sm_100a head_dim=512 head_group=16 kv_tile=16 window_size=128 "
                                   "kv_format=e4m3_slot index_type=int32 lens_type=int32 scale_type=float32 lse=1";

/* A legal value of the field that is not the default; the default where there is no other. */
static uint32_t other_value(const sj_config_field *field)
{
  if (field->values == NULL) {
    return field->maximum;
  }
  const uint32_t last = field->values[field->num_values - 1];
  return last != field->default_value ? last : field->values[0];
}

static const sj_config_field *find(const char *name)
{
  const sj_config_field *field = sj_config_field_find(name, strlen(name));
  assert_non_null(field);
  return field;
}

/* ---- the table -------------------------------------------------------------------------------------------- */

static void defaults_of_table_and_initialiser_agree(void **state)
{
  (void)state;
  const swa_jit_config macro = SWA_JIT_CONFIG_INIT;
  swa_jit_config config;
  memset(&config, 0xff, sizeof config);
  sj_config_init(&config);
  assert_int_equal(config.size, sizeof config);
  assert_int_equal(macro.size, sizeof macro);
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    assert_int_equal(sj_config_get(&config, field), field->default_value);
    assert_int_equal(sj_config_get(&macro, field), field->default_value);
  }
}

static void defaults_are_the_documented_ones(void **state)
{
  (void)state;
  swa_jit_config config;
  sj_config_init(&config);
  assert_int_equal(config.arch, SWA_JIT_ARCH_SM_100A);
  assert_int_equal(config.head_dim, 512);
  assert_int_equal(config.head_group, 16);
  assert_int_equal(config.kv_tile, 16);
  assert_int_equal(config.window_size, 128);
  assert_int_equal(config.kv_format, SWA_JIT_KV_E4M3_SLOT);
  assert_int_equal(config.index_type, SWA_JIT_INT32);
  assert_int_equal(config.lens_type, SWA_JIT_INT32);
  assert_int_equal(config.scale_type, SWA_JIT_FLOAT32);
  assert_int_equal(config.lse, 1);
  assert_int_equal(config.head_dim_v, 0);
  assert_int_equal(config.sinks, 0);
  assert_int_equal(config.soft_cap, 0);
  assert_int_equal(config.extra_size, 0);
  assert_int_equal(config.extra_format, SWA_JIT_KV_E4M3_SLOT);
  assert_int_equal(config.kernel, SWA_JIT_KERNEL_DECODE);
  assert_int_equal(config.splits, 0);
  assert_int_equal(config.cluster_size, 0);
}

static void table_every_field_is_found_by_its_name_only(void **state)
{
  (void)state;
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    assert_ptr_equal(sj_config_field_find(field->name, strlen(field->name)), field);
    assert_null(sj_config_field_find(field->name, strlen(field->name) - 1));
    assert_true(strlen(field->help) > 0);
  }
  assert_string_equal(sj_config_field_at(0)->name, "arch");
  assert_null(sj_config_field_find("", 0));
  assert_null(sj_config_field_find("size", 4));
  assert_null(sj_config_field_at(UINT32_MAX));
}

static void table_names_every_architecture_and_native(void **state)
{
  (void)state;
  const sj_config_field *arch = sj_config_field_at(0);
  char buffer[16];
  unsigned num_archs = 0;
  for (; sj_arch_at(num_archs) != NULL; num_archs++) {
    assert_string_equal(sj_config_value_text(arch, sj_arch_at(num_archs)->id, buffer), sj_arch_at(num_archs)->name);
  }
  assert_int_equal(arch->num_values, num_archs + 1);
  assert_string_equal(sj_config_value_text(arch, SWA_JIT_ARCH_NATIVE, buffer), "native");
}

static void values_text_lists_what_is_legal(void **state)
{
  (void)state;
  char text[SJ_CONFIG_VALUES_SIZE];
  sj_config_values_text(find("head_dim"), text, sizeof text);
  assert_string_equal(text, "64, 96, 128, 192, 256 or 512");
  sj_config_values_text(find("window_size"), text, sizeof text);
  assert_string_equal(text, "1 to 8192");
  sj_config_values_text(find("kv_format"), text, sizeof text);
  assert_string_equal(text, "e4m3_slot, e4m3, bf16, footer_584 or footer_528");
  sj_config_values_text(find("lens_type"), text, sizeof text);
  assert_string_equal(text, "int32 or int64");
}

static void values_text_in_a_short_buffer_is_cut(void **state)
{
  (void)state;
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    char whole[2 * SJ_CONFIG_VALUES_SIZE];
    sj_config_values_text(field, whole, sizeof whole);
    assert_true(strlen(whole) < SJ_CONFIG_VALUES_SIZE);
    for (size_t size = 1; size <= strlen(whole); size++) {
      char cut[SJ_CONFIG_VALUES_SIZE];
      memset(cut, '#', sizeof cut);
      sj_config_values_text(field, cut, size);
      assert_int_equal(strlen(cut), size - 1);
      assert_memory_equal(cut, whole, size - 1);
      assert_int_equal(cut[size], '#');
    }
  }
}

static void value_text_without_a_name_is_null(void **state)
{
  (void)state;
  char buffer[16];
  assert_null(sj_config_value_text(find("arch"), 77, buffer));
  assert_null(sj_config_value_text(find("kv_format"), 9, buffer));
  assert_string_equal(sj_config_value_text(find("head_dim"), UINT32_MAX, buffer), "4294967295");
}

/* ---- taking ----------------------------------------------------------------------------------------------- */

static void assert_legal(const swa_jit_config *given)
{
  swa_jit_config taken;
  assert_int_equal(sj_config_take(given, &taken), SWA_JIT_OK);
  assert_true(sj_config_equal(given, &taken));
}

/* Each beside what it needs of other fields. */
static void config_with_every_legal_value_is_taken(void **state)
{
  (void)state;
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    for (unsigned v = 0; v < field->num_values; v++) {
      swa_jit_config given = SWA_JIT_CONFIG_INIT;
      sj_config_set(&given, field, field->values[v]);
      given.extra_size = field == find("extra_format") ? 512 : given.extra_size;
      given.kv_format = field == find("extra_format") ? field->values[v] : given.kv_format;
      given.kv_tile = field == find("cluster_size") ? 128 : given.kv_tile;
      assert_legal(&given);
    }
  }
}

/* ---- fields together -------------------------------------------------------------------------------------- */

typedef struct together_case {
  const char *text;
  swa_jit_status status;
  const char *message; /* its whole text */
} together_case;

static swa_jit_config config_of(const char *text)
{
  swa_jit_config config;
  assert_int_equal(sj_config_from_text(text, &config), SWA_JIT_OK);
  return config;
}

#define REFUSED(other) "cluster_size 4 with " other ", or cluster_size to 0"

static void config_whose_fields_do_not_fit_is_refused_with_the_remedy(void **state)
{
  (void)state;
  static const together_case rows[] = {
      {"kv_format=footer_584 head_dim=256", SWA_JIT_INVALID,
       "kv_format footer_584 with head_dim 256: its rows have 512 elements; set head_dim to 512"},
      {"kv_format=footer_528 head_dim=64", SWA_JIT_INVALID,
       "kv_format footer_528 with head_dim 64: its rows have 512 elements; set head_dim to 512"},
      {"kv_format=footer_584 head_dim_v=512", SWA_JIT_INVALID,
       "kv_format footer_584 with head_dim_v 512: its rows are K and V alike; set head_dim_v to 0"},
      {"kv_format=footer_528 head_dim_v=128", SWA_JIT_INVALID,
       "kv_format footer_528 with head_dim_v 128: its rows are K and V alike; set head_dim_v to 0"},
      {"extra_size=512 extra_format=footer_584 head_dim=128", SWA_JIT_INVALID,
       "extra_format footer_584 with head_dim 128: its rows have 512 elements; set head_dim to 512"},
      {"extra_size=512 extra_format=footer_528 head_dim=192", SWA_JIT_INVALID,
       "extra_format footer_528 with head_dim 192: its rows have 512 elements; set head_dim to 512"},
      {"extra_size=512 head_dim_v=128", SWA_JIT_INVALID,
       "extra_size 512 with head_dim_v 128: with a pool of its own for V there is one scope only; set one of the two "
       "to "
       "0, or make two calls and join them with swa_jit_merge"},
      {"extra_format=bf16 kv_format=bf16", SWA_JIT_INVALID,
       "extra_format bf16 with extra_size 0: there is no extra scope; leave extra_format at e4m3_slot, or set "
       "extra_size"},
      {"scale_type=bfloat16 kv_format=bf16", SWA_JIT_INVALID,
       "scale_type bfloat16 with kv_format bf16: only e4m3_slot has a scale a slot; leave scale_type at float32"},
      {"scale_type=bfloat16 kv_format=e4m3 extra_size=64 extra_format=footer_528", SWA_JIT_INVALID,
       "scale_type bfloat16 with kv_format e4m3 and extra_format footer_528: only e4m3_slot has a scale a slot; leave "
       "scale_type at float32"},
      {"kv_format=bf16 extra_size=64", SWA_JIT_UNSUPPORTED,
       "kv_format bf16 with extra_format e4m3_slot: a kernel does not mix bf16 with e4m3; make two calls and join them "
       "with swa_jit_merge"},
      {"kv_format=footer_584 extra_size=64 extra_format=bf16", SWA_JIT_UNSUPPORTED,
       "kv_format footer_584 with extra_format bf16: a kernel does not mix bf16 with e4m3; make two calls and join "
       "them "
       "with swa_jit_merge"},
      {"cluster_size=4 kv_tile=128 head_dim=256", SWA_JIT_INVALID, REFUSED("head_dim 256: set head_dim to 512")},
      {"cluster_size=4 kv_tile=128 head_group=32", SWA_JIT_INVALID,
       REFUSED("head_group 32: set head_group to 8 or 16")},
      {"cluster_size=4 kv_tile=64", SWA_JIT_INVALID, REFUSED("kv_tile 64: set kv_tile to 128")},
      {"cluster_size=4 kv_tile=128 window_size=129", SWA_JIT_INVALID,
       REFUSED("window_size 129: set window_size to 128 at most")},
      {"cluster_size=4 kv_tile=128 kv_format=bf16", SWA_JIT_INVALID,
       REFUSED("kv_format bf16: set kv_format to another")},
      {"cluster_size=4 kv_tile=128 head_dim_v=512", SWA_JIT_INVALID, REFUSED("head_dim_v 512: set head_dim_v to 0")},
      {"cluster_size=4 kv_tile=128 extra_size=64", SWA_JIT_INVALID, REFUSED("extra_size 64: set extra_size to 0")},
      {"cluster_size=4 kv_tile=128 splits=1", SWA_JIT_INVALID, REFUSED("splits 1: set splits to 0")},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const swa_jit_config given = config_of(rows[i].text);
    swa_jit_config taken;
    memset(&taken, 0x5a, sizeof taken);
    assert_int_equal(sj_config_take(&given, &taken), rows[i].status);
    assert_string_equal(sj_message(), rows[i].message);
    assert_int_equal(taken.size, 0x5a5a5a5a);
  }
}

static void config_whose_fields_fit_is_legal(void **state)
{
  (void)state;
  static const char *const texts[] = {
      "kv_format=footer_584",
      "kv_format=footer_584 extra_size=512 extra_format=footer_584 sinks=1",
      "kv_format=footer_528 extra_size=8192 extra_format=e4m3",
      "kv_format=bf16 extra_size=1 extra_format=bf16 head_dim=64",
      "kv_format=bf16 head_dim=192 head_dim_v=128 sinks=1",
      "kv_format=e4m3 extra_size=64 scale_type=bfloat16",
      "extra_size=64 extra_format=footer_528 scale_type=bfloat16",
      "head_dim=64 head_dim_v=64 scale_type=bfloat16 soft_cap=1",
      "cluster_size=4 kv_tile=128 head_group=8 window_size=1 scale_type=bfloat16 sinks=1 soft_cap=1 lse=0",
      "cluster_size=4 kv_tile=128 head_group=16 kv_format=e4m3 index_type=int64 lens_type=int64",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    const swa_jit_config config = config_of(texts[i]);
    assert_legal(&config);
  }
}

/* Values come before what they make together, and both before what is served. */
static void config_with_several_faults_names_the_values_first(void **state)
{
  (void)state;
  swa_jit_config given = config_of("kv_format=footer_584 head_dim=64 sinks=1"), taken;
  given.lens_type = 7;
  assert_int_equal(sj_config_take(&given, &taken), SWA_JIT_INVALID);
  assert_string_equal(sj_message(), "lens_type is 7: use int32 or int64");
  given.lens_type = SWA_JIT_INT32;
  assert_int_equal(sj_config_take(&given, &taken), SWA_JIT_INVALID);
  assert_string_equal(sj_message(), "kv_format footer_584 with head_dim 64: its rows have 512 elements; set head_dim "
                                    "to 512");
}

static void config_of_merge_takes_its_architecture_and_no_other_field(void **state)
{
  (void)state;
  swa_jit_config given = config_of("kernel=merge arch=sm_90a"), taken;
  assert_legal(&given);
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    given = config_of("kernel=merge");
    sj_config_set(&given, field, other_value(field));
    if (field == find("arch") || field == find("kernel")) {
      continue;
    }
    char value[16], usual[16], expected[256];
    snprintf(expected, sizeof expected,
             "%s %s with kernel merge: the merge kernel takes every shape at launch; leave %s at %s", field->name,
             sj_config_value_text(field, other_value(field), value), field->name,
             sj_config_value_text(field, field->default_value, usual));
    assert_int_equal(sj_config_take(&given, &taken), SWA_JIT_INVALID);
    assert_string_equal(sj_message(), expected);
  }
}

/* ---- single values ---------------------------------------------------------------------------------------- */

static void config_with_a_value_outside_is_invalid_and_output_untouched(void **state)
{
  (void)state;
  static const struct {
    const char *name;
    uint32_t value;
    const char *message;
  } rows[] = {
      {"head_dim", 100, "head_dim is 100: use 64, 96, 128, 192, 256 or 512"},
      {"head_dim", 0, "head_dim is 0: use 64, 96, 128, 192, 256 or 512"},
      {"head_group", 0, "head_group is 0: use 8, 16, 32, 64 or 128"},
      {"head_group", 256, "head_group is 256: use 8, 16, 32, 64 or 128"},
      {"kv_tile", 8, "kv_tile is 8: use 16, 32, 64 or 128"},
      {"window_size", 0, "window_size is 0: use 1 to 8192"},
      {"window_size", 8193, "window_size is 8193: use 1 to 8192"},
      {"window_size", 0x80000000u, "window_size is 2147483648: use 1 to 8192"},
      {"kv_format", 5, "kv_format is 5: use e4m3_slot, e4m3, bf16, footer_584 or footer_528"},
      {"index_type", 2, "index_type is 2: use int32 or int64"},
      {"lens_type", 64, "lens_type is 64: use int32 or int64"},
      {"scale_type", UINT32_MAX, "scale_type is 4294967295: use float32 or bfloat16"},
      {"lse", 2, "lse is 2: use 0 or 1"},
      {"head_dim_v", 32, "head_dim_v is 32: use 0, 64, 96, 128, 192, 256 or 512"},
      {"sinks", 2, "sinks is 2: use 0 or 1"},
      {"soft_cap", 50, "soft_cap is 50: use 0 or 1"},
      {"extra_size", 8193, "extra_size is 8193: use 0 to 8192"},
      {"extra_format", 5, "extra_format is 5: use e4m3_slot, e4m3, bf16, footer_584 or footer_528"},
      {"kernel", 2, "kernel is 2: use decode or merge"},
      {"cluster_size", 2, "cluster_size is 2: use 0 or 4"},
      {"arch", 75, "arch is 75: use native, sm_80, sm_89, sm_90a, sm_100a, sm_103a or sm_120a"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    swa_jit_config given = SWA_JIT_CONFIG_INIT, taken;
    memset(&taken, 0x5a, sizeof taken);
    sj_config_set(&given, find(rows[i].name), rows[i].value);
    assert_int_equal(sj_config_take(&given, &taken), SWA_JIT_INVALID);
    assert_string_equal(sj_message(), rows[i].message);
    assert_int_equal(taken.size, 0x5a5a5a5a);
    assert_int_equal(taken.lse, 0x5a5a5a5a);
  }
}

static void config_of_window_bounds_is_taken(void **state)
{
  (void)state;
  swa_jit_config given = SWA_JIT_CONFIG_INIT, taken;
  given.window_size = 1;
  assert_int_equal(sj_config_take(&given, &taken), SWA_JIT_OK);
  given.window_size = 8192;
  assert_int_equal(sj_config_take(&given, &taken), SWA_JIT_OK);
  assert_int_equal(taken.window_size, 8192);
}

static void config_of_another_size_follows_the_rule(void **state)
{
  (void)state;
  struct {
    swa_jit_config config;
    uint32_t newer;
  } given = {SWA_JIT_CONFIG_INIT, 0};
  swa_jit_config taken;
  given.config.size = sizeof given;
  assert_int_equal(sj_config_take(&given.config, &taken), SWA_JIT_OK);
  assert_int_equal(taken.size, sizeof taken);
  given.newer = 1;
  assert_int_equal(sj_config_take(&given.config, &taken), SWA_JIT_NEWER);
  given.config.size = sizeof given.config - 1;
  assert_int_equal(sj_config_take(&given.config, &taken), SWA_JIT_INVALID);
  assert_int_equal(sj_config_take(NULL, &taken), SWA_JIT_INVALID);
}

/* ---- equality and hash ------------------------------------------------------------------------------------ */

static void equality_and_hash_see_every_field(void **state)
{
  (void)state;
  const swa_jit_config base = SWA_JIT_CONFIG_INIT;
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    swa_jit_config changed = base;
    sj_config_set(&changed, field, field->default_value + 1);
    assert_false(sj_config_equal(&base, &changed));
    assert_true(sj_config_hash(&base) != sj_config_hash(&changed));
  }
}

static void equality_and_hash_ignore_the_structs_size(void **state)
{
  (void)state;
  const swa_jit_config base = SWA_JIT_CONFIG_INIT;
  swa_jit_config larger = base;
  larger.size += 8;
  assert_true(sj_config_equal(&base, &larger));
  assert_int_equal(sj_config_hash(&base), sj_config_hash(&larger));
}

static void hash_of_neighbours_spreads_over_the_low_bits(void **state)
{
  (void)state;
  unsigned used[64] = {0}, num_used = 0;
  for (uint32_t window_size = 1; window_size <= 256; window_size++) {
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    config.window_size = window_size;
    num_used += used[sj_config_hash(&config) % 64]++ == 0;
  }
  assert_true(num_used >= 56); /* 63 are expected of 256 random draws */
}

/* ---- text ------------------------------------------------------------------------------------------------- */

static void text_of_the_defaults_is_as_documented(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[512];
  assert_int_equal(sj_config_to_text(&config, text, sizeof text), SWA_JIT_OK);
  assert_string_equal(text, default_text);
}

static void text_of_every_field_changed_comes_back_the_same(void **state)
{
  (void)state;
  swa_jit_config all = SWA_JIT_CONFIG_INIT;
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    swa_jit_config config = SWA_JIT_CONFIG_INIT, back;
    char text[512];
    sj_config_set(&config, field, other_value(field));
    sj_config_set(&all, field, other_value(field));
    assert_int_equal(sj_config_to_text(&config, text, sizeof text), SWA_JIT_OK);
    assert_int_equal(sj_config_from_text(text, &back), SWA_JIT_OK);
    assert_true(sj_config_equal(&config, &back));
    assert_int_equal(sj_config_to_text(&all, text, sizeof text), SWA_JIT_OK);
    assert_int_equal(sj_config_from_text(text, &back), SWA_JIT_OK);
    assert_true(sj_config_equal(&all, &back));
  }
}

static void text_longest_fits_512_bytes(void **state)
{
  (void)state;
  size_t length = 0;
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    size_t longest = strlen("4294967295");
    for (unsigned v = 0; field->value_names != NULL && v < field->num_values; v++) {
      longest = strlen(field->value_names[v]) > longest ? strlen(field->value_names[v]) : longest;
    }
    length += strlen(field->name) + longest + strlen("= ");
  }
  assert_true(length <= 512);
}

static void text_too_small_is_invalid_and_untouched(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[512];
  memset(text, '#', sizeof text);
  assert_int_equal(sj_config_to_text(&config, text, strlen(default_text)), SWA_JIT_INVALID);
  assert_int_equal(text[0], '#');
  assert_non_null(strstr(sj_message(), "512 are always enough"));
  assert_int_equal(sj_config_to_text(&config, text, strlen(default_text) + 1), SWA_JIT_OK);
  assert_int_equal(text[strlen(default_text) + 1], '#');
  assert_int_equal(sj_config_to_text(&config, NULL, 256), SWA_JIT_INVALID);
}

static void text_of_a_value_without_a_name_is_invalid(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[512];
  config.scale_type = 5;
  assert_int_equal(sj_config_to_text(&config, text, sizeof text), SWA_JIT_INVALID);
  assert_string_equal(sj_message(), "scale_type is 5: use float32 or bfloat16");
}

static void text_with_some_fields_leaves_the_others_default(void **state)
{
  (void)state;
  swa_jit_config config, expected = SWA_JIT_CONFIG_INIT;
  assert_int_equal(sj_config_from_text("", &config), SWA_JIT_OK);
  assert_true(sj_config_equal(&config, &expected));
  expected.window_size = 512;
  expected.arch = SWA_JIT_ARCH_SM_90A;
  expected.lens_type = SWA_JIT_INT64;
  assert_int_equal(sj_config_from_text("  window_size=512\tarch=sm_90a lens_type=int64\r\n", &config), SWA_JIT_OK);
  assert_true(sj_config_equal(&config, &expected));
  assert_int_equal(config.size, sizeof config);
}

static void text_bad_is_invalid_with_a_reason_and_output_untouched(void **state)
{
  (void)state;
  static const char *const rows[][2] = {
      {"head_dim=100", "head_dim is 100: use 64, 96, 128, 192, 256 or 512"},
      {"head_dim=0512x", "head_dim is \"0512x\": use"},
      {"head_dim=+512", "head_dim is \"+512\": use"},
      {"head_dim=", "head_dim is \"\": use"},
      {"head_group=4294967312", "head_group is 4294967312: use"}, /* 2^32 + 16 */
      {"head_group=99999999999999999999", "head_group is \"99999999999999999999\": use"},
      {"window_size=-1", "window_size is \"-1\": use 1 to 8192"},
      {"index_type=0", "index_type is 0: use int32 or int64"},
      {"kv_format=E4M3_SLOT", "kv_format is \"E4M3_SLOT\": use e4m3_slot"},
      {"arch=sm_100", "arch is \"sm_100\": use sm_100a"},
      {"arch=100", "arch is \"100\": use native, sm_80"},
      {"lse=1 head_dim=64 lse=1", "lse is given twice"},
      {"head_dim", "\"head_dim\" is no name=value pair"},
      {"head_dim =64", "\"head_dim\" is no name=value pair"},
      {"=64", "\"\" is no configuration field"},
      {"size=44", "\"size\" is no configuration field: use arch, head_dim"},
      {"head_dim=64,kv_tile=16", "head_dim is \"64,kv_tile=16\": use"},
      {"\x01\xff=1", "\"??\" is no configuration field"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    swa_jit_config config;
    memset(&config, 0x5a, sizeof config);
    assert_int_equal(sj_config_from_text(rows[i][0], &config), SWA_JIT_INVALID);
    assert_ptr_equal(strstr(sj_message(), rows[i][1]), sj_message());
    assert_int_equal(config.size, 0x5a5a5a5a);
  }
  swa_jit_config config;
  assert_int_equal(sj_config_from_text(NULL, &config), SWA_JIT_INVALID);
}

static void text_of_an_unknown_field_lists_every_field(void **state)
{
  (void)state;
  swa_jit_config config;
  assert_int_equal(sj_config_from_text("headdim=64", &config), SWA_JIT_INVALID);
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    assert_non_null(strstr(sj_message(), field->name));
  }
}

static void text_very_long_is_quoted_short(void **state)
{
  (void)state;
  char text[20000];
  swa_jit_config config;
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  assert_int_equal(sj_config_from_text(text, &config), SWA_JIT_INVALID);
  assert_true(strlen(sj_message()) < 200);
  memcpy(text, "head_dim=", strlen("head_dim="));
  assert_int_equal(sj_config_from_text(text, &config), SWA_JIT_INVALID);
  assert_true(strlen(sj_message()) < 200);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_of_table_and_initialiser_agree),
      cmocka_unit_test(defaults_are_the_documented_ones),
      cmocka_unit_test(table_every_field_is_found_by_its_name_only),
      cmocka_unit_test(table_names_every_architecture_and_native),
      cmocka_unit_test(values_text_lists_what_is_legal),
      cmocka_unit_test(values_text_in_a_short_buffer_is_cut),
      cmocka_unit_test(value_text_without_a_name_is_null),
      cmocka_unit_test(config_with_every_legal_value_is_taken),
      cmocka_unit_test(config_whose_fields_do_not_fit_is_refused_with_the_remedy),
      cmocka_unit_test(config_whose_fields_fit_is_legal),
      cmocka_unit_test(config_with_several_faults_names_the_values_first),
      cmocka_unit_test(config_of_merge_takes_its_architecture_and_no_other_field),
      cmocka_unit_test(config_with_a_value_outside_is_invalid_and_output_untouched),
      cmocka_unit_test(config_of_window_bounds_is_taken),
      cmocka_unit_test(config_of_another_size_follows_the_rule),
      cmocka_unit_test(equality_and_hash_see_every_field),
      cmocka_unit_test(equality_and_hash_ignore_the_structs_size),
      cmocka_unit_test(hash_of_neighbours_spreads_over_the_low_bits),
      cmocka_unit_test(text_of_the_defaults_is_as_documented),
      cmocka_unit_test(text_of_every_field_changed_comes_back_the_same),
      cmocka_unit_test(text_longest_fits_512_bytes),
      cmocka_unit_test(text_too_small_is_invalid_and_untouched),
      cmocka_unit_test(text_of_a_value_without_a_name_is_invalid),
      cmocka_unit_test(text_with_some_fields_leaves_the_others_default),
      cmocka_unit_test(text_bad_is_invalid_with_a_reason_and_output_untouched),
      cmocka_unit_test(text_of_an_unknown_field_lists_every_field),
      cmocka_unit_test(text_very_long_is_quoted_short),
  };
  return SJ_TEST_RUN(tests);
}
