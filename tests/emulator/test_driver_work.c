/* SPDX-License-Identifier: Apache-2.0 */
#include "test_driver.h"

/* ---- launches --------------------------------------------------------------------------------------------- */

static int launch_shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared)
{
  unsigned value = 0;
  void *params[] = {&test_memory, &value};
  return cu.launch(test_few, gx, gy, gz, bx, by, bz, shared, NULL, params, NULL);
}

static void check_shapes(void)
{
  void *params[] = {&test_memory};
  OK(launch_shape(1, 1, 1, 64, 1, 1, 0));
  EXPECT(launch_shape(0, 1, 1, 64, 1, 1, 0), 1);
  EXPECT(launch_shape(1, 65536, 1, 64, 1, 1, 0), 1);
  EXPECT(launch_shape(1, 1, 65536, 64, 1, 1, 0), 1);
  EXPECT(launch_shape(1u << 31, 1, 1, 64, 1, 1, 0), 1);
  EXPECT(launch_shape(1, 1, 1, 0, 1, 1, 0), 1);
  EXPECT(launch_shape(1, 1, 1, 65, 1, 1, 0), 1);
  EXPECT(launch_shape(1, 1, 1, 1, 1, 65, 0), 1);
  EXPECT(launch_shape(1, 1, 1, 64, 1, 1, 49153), 1);
  EXPECT(test_launch(test_set, 0, 1, 1025, NULL), 1);
  EXPECT(cu.launch(test_shared_48k, 1, 1, 1, 32, 1, 1, 1025, NULL, params, NULL), 1);
  OK(cu.launch(test_shared_48k, 1, 1, 1, 32, 1, 1, 1024, NULL, params, NULL));
  EXPECT(cu.launch(test_set, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), 1);
  OK(cu.ctx_wait());
}

/* grid blocks in clusters of x; 0: without the attribute. */
static int launch_cluster(void *function, unsigned grid, unsigned x, unsigned y)
{
  unsigned value = 5;
  void *params[] = {&test_memory, &value};
  launch_attribute attribute = {.id = 4, .value.cluster = {x, y, 1}};
  launch_config config = {.grid = {grid, 1, 1}, .block = {32, 1, 1}, .attributes = &attribute, .num_attributes = 1};
  return cu.launch_ex(&config, function, params, NULL);
}

static void check_clusters(void)
{
  if (!has_clusters) {
    EXPECT(launch_cluster(test_set, 2, 2, 1) != 0, 1);
    return;
  }
  OK(launch_cluster(test_set, 8, 2, 1));
  OK(cu.ctx_wait());
  EXPECT(test_holds(5, NUM_VALUES), 1);
  OK(launch_cluster(test_set, 8, 8, 1));
  EXPECT(launch_cluster(test_few, 8, 3, 1), 1);
  EXPECT(launch_cluster(test_few, 8, 1, 2), 1);
  EXPECT(launch_cluster(test_few, 8, 0, 1), 1);
  EXPECT(launch_cluster(test_few, 16, 16, 1), 912);
  EXPECT(launch_cluster(test_few, 32, 32, 1), 912);
  OK(cu.func_set(test_few, 14, 1));
  OK(launch_cluster(test_few, 16, 16, 1));
  EXPECT(launch_cluster(test_few, 32, 32, 1), 912);
  OK(cu.func_set(test_few, 14, 0));
  OK(cu.ctx_wait());
}

static void check_extra(void)
{
  struct {
    uint64_t p;
    unsigned v;
  } packed = {test_memory, 31};
  size_t size = 12;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
  OK(cu.launch(test_set, 1, 1, 1, NUM_VALUES, 1, 1, 0, NULL, NULL, extra));
  EXPECT(test_holds(31, NUM_VALUES), 1);
}

/* Two launches, the second of which may begin early; add does not wait, so that only its own result is looked at. */
static void check_dependent(void *stream)
{
  unsigned value = 3;
  void *params[] = {&test_memory, &value};
  launch_attribute attribute = {.id = 6, .value.number = 1};
  launch_config config = {
      .grid = {1, 1, 1}, .block = {NUM_VALUES, 1, 1}, .stream = stream, .attributes = &attribute, .num_attributes = 1};
  OK(test_launch(test_few, 0, 1, 64, stream));
  OK(cu.launch_ex(&config, test_set, params, NULL));
  OK(cu.stream_wait(stream));
  EXPECT(test_holds(3, NUM_VALUES), 1);
}

/* ---- streams, events, graphs ------------------------------------------------------------------------------ */

static void check_streams(void)
{
  void *stream = NULL;
  void *other = NULL;
  void *context = NULL;
  void *current = NULL;
  void *event = NULL;
  EXPECT(cu.stream_create(&stream, 8), 1);
  OK(cu.stream_create(&stream, 1));
  OK(cu.stream_create(&other, 0));
  OK(cu.event_create(&event, 0));
  OK(cu.ctx_get(&current));
  OK(cu.stream_ctx(stream, &context));
  EXPECT(context == current, 1);
  OK(test_launch(test_set, 1, 1, NUM_VALUES, stream));
  OK(test_launch(test_add, 2, 1, NUM_VALUES, stream));
  OK(cu.event_record(event, stream));
  OK(cu.stream_wait_event(other, event, 0));
  OK(test_launch(test_add, 4, 1, NUM_VALUES, other));
  OK(test_launch(test_add, 8, 1, NUM_VALUES, NULL)); /* behind the blocking stream */
  EXPECT(test_holds(15, NUM_VALUES), 1);
  OK(cu.stream_wait(stream));
  OK(cu.stream_query(stream));
  check_dependent(stream);
  OK(cu.event_destroy(event));
  OK(cu.stream_destroy(other));
  OK(cu.stream_destroy(stream));
}

static void check_events(void)
{
  void *begin = NULL;
  void *end = NULL;
  void *bare = NULL;
  float milliseconds = -1.0f;
  OK(cu.event_create(&begin, 0));
  OK(cu.event_create(&end, 0));
  OK(cu.event_create(&bare, 2));
  EXPECT(cu.event_create(&begin, 64), 1);
  EXPECT(cu.event_elapsed(&milliseconds, begin, end), 400);
  OK(cu.event_wait(begin)); /* never recorded: nothing to wait for */
  OK(cu.event_query(begin));
  OK(cu.event_record(begin, NULL));
  OK(test_launch(test_set, 1, 1, NUM_VALUES, NULL));
  OK(cu.event_record(end, NULL));
  OK(cu.event_record(bare, NULL));
  OK(cu.event_wait(end));
  OK(cu.event_query(end));
  OK(cu.event_elapsed(&milliseconds, begin, end));
  EXPECT(milliseconds >= 0.0f, 1);
  EXPECT(cu.event_elapsed(&milliseconds, begin, bare), 400);
  OK(cu.event_destroy(bare));
  OK(cu.event_destroy(end));
  OK(cu.event_destroy(begin));
}

static void check_graphs(void)
{
  void *stream = NULL;
  void *side = NULL;
  void *event = NULL;
  void *graph = NULL;
  void *exec = NULL;
  int status = -1;
  OK(cu.stream_create(&stream, 1));
  OK(cu.stream_create(&side, 1));
  OK(cu.event_create(&event, 2));
  EXPECT(cu.end_capture(stream, &graph), 401);
  EXPECT(cu.begin_capture(NULL, 1), 900);
  OK(test_launch(test_set, 0, 1, NUM_VALUES, stream));
  OK(cu.begin_capture(stream, 1));
  OK(cu.is_capturing(stream, &status));
  EXPECT(status, 1);
  OK(test_launch(test_add, 1, 1, NUM_VALUES, stream));
  OK(cu.event_record(event, stream));
  OK(cu.stream_wait_event(side, event, 0));
  OK(test_launch(test_add, 2, 1, NUM_VALUES, side));
  OK(cu.event_record(event, side));
  OK(cu.stream_wait_event(stream, event, 0));
  OK(test_launch(test_add, 4, 1, NUM_VALUES, stream));
  OK(cu.end_capture(stream, &graph));
  OK(cu.instantiate(&exec, graph, 0));
  OK(cu.graph_destroy(graph));
  OK(cu.stream_wait(stream));
  EXPECT(test_holds(0, NUM_VALUES), 1); /* nothing of it has run yet */
  for (unsigned i = 0; i < 3; i++) {
    OK(cu.graph_launch(exec, stream));
  }
  OK(cu.stream_wait(stream));
  EXPECT(test_holds(21, NUM_VALUES), 1);
  OK(cu.exec_destroy(exec));
  OK(cu.event_destroy(event));
  OK(cu.stream_destroy(side));
  OK(cu.stream_destroy(stream));
}

static void check_broken_captures(void)
{
  void *stream = NULL;
  void *side = NULL;
  void *event = NULL;
  void *graph = NULL;
  OK(cu.stream_create(&stream, 1));
  OK(cu.stream_create(&side, 1));
  OK(cu.event_create(&event, 2));
  OK(cu.begin_capture(stream, 1));
  EXPECT(cu.stream_wait(stream), 900);
  EXPECT(test_launch(test_add, 1, 1, 32, stream), 901);
  EXPECT(cu.end_capture(stream, &graph), 901);
  OK(cu.begin_capture(stream, 1));
  OK(cu.event_record(event, stream));
  EXPECT(cu.event_query(event), 907);
  cu.end_capture(stream, &graph); /* with a result that the documentation does not tell */
  OK(cu.begin_capture(stream, 1));
  OK(cu.event_record(event, stream));
  OK(cu.stream_wait_event(side, event, 0));
  OK(test_launch(test_add, 1, 1, 32, side));
  EXPECT(cu.end_capture(side, &graph), 903);
  EXPECT(cu.end_capture(stream, &graph), 904);
  OK(test_launch(test_add, 1, 1, 32, side));
  OK(cu.ctx_wait());
  OK(cu.event_destroy(event));
  OK(cu.stream_destroy(side));
  OK(cu.stream_destroy(stream));
}

/* What a capture of this thread (mode 1) does not allow. */
static void check_unsafe_calls(void)
{
  void *stream = NULL;
  void *graph = NULL;
  void *loaded = NULL;
  uint64_t address = 0;
  unsigned word = 0;
  OK(cu.stream_create(&stream, 1));
  OK(cu.begin_capture(stream, 1));
  EXPECT(cu.alloc(&address, 16), 900);
  EXPECT(cu.end_capture(stream, &graph), 901);
  OK(cu.begin_capture(stream, 1));
  EXPECT(cu.read(&word, test_memory, 4), 900);
  EXPECT(cu.end_capture(stream, &graph), 901);
  OK(cu.begin_capture(stream, 1));
  EXPECT(cu.ctx_wait(), 900);
  EXPECT(cu.end_capture(stream, &graph), 901);
  OK(cu.begin_capture(stream, 1));
  EXPECT(cu.module_load(&loaded, test_ptx), 900);
  EXPECT(cu.end_capture(stream, &graph), 901);
  OK(cu.begin_capture(stream, 2)); /* relaxed */
  OK(cu.alloc(&address, 16));
  OK(cu.end_capture(stream, &graph));
  OK(cu.graph_destroy(graph));
  OK(cu.release(address));
  OK(cu.stream_destroy(stream));
}

void check_work(void)
{
  check_shapes();
  check_clusters();
  check_extra();
  check_streams();
  check_events();
  check_graphs();
  check_broken_captures();
  check_unsafe_calls();
}
