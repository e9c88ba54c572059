/* SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"

#include <signal.h>
#include <stddef.h>

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUM_STOP_SIGNALS = sizeof stop_signals / sizeof stop_signals[0] };

static volatile sig_atomic_t num_signals;
static volatile sig_atomic_t first_signal;

static void note(int signal)
{
  if (num_signals == 0) {
    first_signal = signal;
  }
  num_signals++;
}

void warm_stop_begin(void)
{
  struct sigaction action = {.sa_handler = note}; /* without SA_RESTART: waits end early */
  struct sigaction now;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < NUM_STOP_SIGNALS; i++) {
    if (sigaction(stop_signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaction(stop_signals[i], &action, NULL);
    }
  }
}

void warm_stop_ignore(void)
{
  for (size_t i = 0; i < NUM_STOP_SIGNALS; i++) {
    signal(stop_signals[i], SIG_IGN);
  }
}

int warm_stop_count(void)
{
  return num_signals;
}

int warm_stop_signal(void)
{
  return first_signal;
}
