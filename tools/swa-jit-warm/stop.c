/* SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"

#include <signal.h>
#include <stddef.h>

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
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = note}; /* without SA_RESTART: waits end early */
  struct sigaction now;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaction(signals[i], &action, NULL);
    }
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
