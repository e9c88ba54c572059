/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded template parts, in the order in which they are rendered. Generated table: tools/embed-templates. */
#ifndef SJ_TEMPLATES_H
#define SJ_TEMPLATES_H

typedef struct sj_template_part {
  const char *name;  /* path from the repository's root, for #line: "kernel_templates/kv/e4m3_slot.cuh" */
  const char *bytes; /* zero-terminated */
  unsigned length;   /* without the zero */
} sj_template_part;

extern const sj_template_part sj_template_parts[];
extern const unsigned sj_num_template_parts;

#endif
