/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration + rendered source + compile options -> key text, digest and file name; and why two keys differ. Pure.
 * docs/cache.md holds the format. */
#ifndef SJ_KEY_H
#define SJ_KEY_H

#include <stdbool.h>

#include "digest.h"
#include "swa_jit/swa_jit.h"

#define SJ_KEY_FORMAT_VERSION 1u
#define SJ_FILE_NAME_SIZE 140 /* with the terminating zero */

typedef struct sj_key {
  /* malloc'd: "name:length=value\n" lines, format version first, then every configuration field in table order, then
   * the source's digest, then the compile options */
  char *text;
  size_t text_length;
  uint8_t digest[SJ_DIGEST_BYTES];   /* of text */
  char file_name[SJ_FILE_NAME_SIZE]; /* swa_decode-sm_100a-hd512-hg16-kt16-w128-...-<digest>.cubin,
                                         swa_merge-sm_100a-<digest>.cubin; of PTX .ptx */
} sj_key;

/* source: rendered, zero-terminated. options: NULL-terminated compile options, in order. OK or OUT_OF_MEMORY. */
swa_jit_status sj_key_make(const swa_jit_config *config, const char *source, const char *const *options,
                           sj_key *key_out);
void sj_key_finish(sj_key *key);

/* Keys of what belongs to key's image and is an entry of its own: its text with a line more. The PTX of the same
 * compile as a cubin ("....ptx"); an image for drivers that refuse key's, of that cuDriverGetVersion. OK or
 * OUT_OF_MEMORY. */
swa_jit_status sj_key_make_ptx(const sj_key *key, sj_key *ptx_key_out);
swa_jit_status sj_key_make_for_driver(const sj_key *key, int driver_version, sj_key *driver_key_out);

/* The configuration that a key text is of: what its lines name, of a release that had fewer fields the defaults for the
 * others. False when it is no key text, or has a field or value that this library does not know. Keeps the message. */
bool sj_key_read_config(const char *text, size_t length, swa_jit_config *config_out);

/* Whether name is an entry's name: "swa_<kernel>-...-<32 hexadecimal digits>.cubin", or of PTX "....ptx". */
bool sj_key_is_file_name(const char *name);

/* Whether an entry's name says that it holds PTX. */
bool sj_key_is_ptx_name(const char *name);

/* The 32 digits in an entry's name; NULL if it has none. */
const char *sj_key_find_digest(const char *name);

/* Whether an entry of this name (of which sj_key_is_file_name is true) holds this key text: the digest, and where the
 * text is of a configuration known here, the whole name. */
bool sj_key_fits_file_name(const char *text, size_t length, const char *name);

/* Which lines of two key texts differ, "window_size 128 -> 256, source" (text of another -> wanted): reason is cut to
 * reason_size. Returns the number of differing lines (0: the same). Never fails, whatever the bytes of other. */
unsigned sj_key_difference(const char *wanted, const char *other, size_t other_length, char *reason,
                           size_t reason_size);

#endif
