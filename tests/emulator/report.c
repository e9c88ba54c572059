/* SPDX-License-Identifier: Apache-2.0 */
/* What a fault is told in: one form for all. */
#include "exec.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t add(emu_message *message, size_t length, const char *format, ...) __attribute__((format(printf, 3, 4)));
static size_t add(emu_message *message, size_t length, const char *format, ...)
{
  if (length + 1 >= sizeof message->text) {
    return length;
  }
  va_list arguments;
  va_start(arguments, format);
  const int more = vsnprintf(message->text + length, sizeof message->text - length, format, arguments);
  va_end(arguments);
  return more < 0 ? length : length + (size_t)more;
}

/* "  at PTX line 12, column 3: ld.global.u32" and the source line, where the text has one. */
static size_t add_place(emu_message *message, size_t length, const emu_kernel *kernel, const emu_step *step)
{
  const ptx_instruction *from = step->from;
  length = add(message, length, "\n  at PTX line %u, column %u: %.*s", from->place.line, from->place.column,
               (int)from->opcode.length, from->opcode.at);
  const ptx_module *ptx = kernel->module->ptx;
  if (from->source_line != 0 && from->source_file < ptx->num_files) {
    const ptx_name file = ptx->files[from->source_file];
    length = add(message, length, "\n  at %.*s:%u", (int)file.length, file.at, from->source_line);
  }
  return length;
}

static void thread_id(const emu_block *block, uint32_t thread, uint32_t id[3])
{
  const uint32_t *size = block->grid->launch->block;
  id[0] = thread % size[0];
  id[1] = thread / size[0] % size[1];
  id[2] = thread / size[0] / size[1];
}

emu_next emu_fault(emu_warp *warp, const emu_step *step, unsigned lane, int result, const char *format, ...)
{
  emu_block *block = warp->block;
  emu_grid *grid = block->grid;
  pthread_mutex_lock(&lock);
  if (atomic_load(&grid->result) == EMU_OK) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    uint32_t id[3];
    thread_id(block, warp->index * EMU_LANES + (lane < EMU_LANES ? lane : 0), id);
    size_t length = add(grid->report, 0, "%s", what);
    length = add_place(grid->report, length, block->kernel, step);
    length = add(grid->report, length, "\n  in %s, block (%u,%u,%u), ", block->kernel->info.name, block->id[0],
                 block->id[1], block->id[2]);
    length = lane < EMU_LANES ? add(grid->report, length, "thread (%u,%u,%u)", id[0], id[1], id[2])
                              : add(grid->report, length, "warp %u", warp->index);
    add(grid->report, length, "\n  seed %llu", (unsigned long long)grid->seed);
    atomic_store(&grid->result, result);
  }
  pthread_mutex_unlock(&lock);
  return EMU_FAULT;
}

static size_t add_group(emu_message *message, size_t length, const emu_warp *warp, const emu_group *group)
{
  const emu_step *step = &warp->block->kernel->steps[group->pc];
  const bool waits = group->state != EMU_READY;
  length = add(message, length, "\n  block (%u,%u,%u) warp %u lanes 0x%08x: ", warp->block->id[0], warp->block->id[1],
               warp->block->id[2], warp->index, group->lanes);
  length = add(message, length, waits ? "waits for %s" : "looks again and again at %s",
               group->why != NULL ? group->why : "something that does not come");
  if (group->wait_address != 0) {
    length = add(message, length, " 0x%llx", (unsigned long long)group->wait_address);
  }
  return add(message, length, ", PTX line %u: %.*s", step->from->place.line, (int)step->from->opcode.length,
             step->from->opcode.at);
}

void emu_report_deadlock(emu_cluster *cluster)
{
  emu_grid *grid = cluster->grid;
  pthread_mutex_lock(&lock);
  if (atomic_load(&grid->result) == EMU_OK) {
    size_t length = add(grid->report, 0, "deadlock in %s, seed %llu: nobody can go on", grid->kernel->info.name,
                        (unsigned long long)grid->seed);
    for (uint32_t w = 0; w < cluster->num_warps; w++) {
      const emu_warp *warp = cluster->warps[w];
      for (uint32_t g = 0; g < warp->num_groups; g++) {
        length = add_group(grid->report, length, warp, &warp->groups[g]);
      }
    }
    atomic_store(&grid->result, EMU_LAUNCH_TIMEOUT);
  }
  pthread_mutex_unlock(&lock);
}
