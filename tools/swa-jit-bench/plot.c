/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

enum {
  WIDTH = 900,
  HEIGHT = 560,
  LEFT = 80,
  RIGHT = 700,
  TOP = 70,
  BOTTOM = 490,
  LEGEND_LEFT = 724,
  LEGEND_STEP = 26,
  MOST_GROUPS = 8
};

/* Both axes in decimal logarithms. */
typedef struct plot {
  FILE *file;
  const bench_sweep *sweep;
  double x_low, x_high, y_low, y_high;
  int num_named; /* in the legend */
} plot;

typedef double (*value_of)(const bench_sweep *sweep, const bench_point *point, uint32_t head_group);

static double copy_value(const bench_sweep *sweep, const bench_point *point, uint32_t head_group)
{
  (void)sweep;
  (void)head_group;
  return point->us_copy;
}

static double floor_value(const bench_sweep *sweep, const bench_point *point, uint32_t head_group)
{
  (void)sweep;
  (void)head_group;
  return point->us_floor;
}

/* 0 where no kernel of the group is held. */
static double decode_value(const bench_sweep *sweep, const bench_point *point, uint32_t head_group)
{
  double us = 0.0;
  (void)bench_sweep_best(sweep, point, head_group, &us);
  return us;
}

static void widen(double value, double *low, double *high)
{
  if (value > 0.0) {
    *low = fmin(*low, log10(value));
    *high = fmax(*high, log10(value));
  }
}

static void find_range(plot *p)
{
  p->x_low = p->y_low = INFINITY;
  p->x_high = p->y_high = -INFINITY;
  for (uint32_t i = 0; i < p->sweep->num_points; i++) {
    const bench_point *point = &p->sweep->points[i];
    widen(point->step.num_tokens, &p->x_low, &p->x_high);
    widen(point->us_copy, &p->y_low, &p->y_high);
    widen(point->us_floor, &p->y_low, &p->y_high);
    for (uint32_t k = 0; k < p->sweep->num_kernels; k++) {
      widen(point->us_ours[k], &p->y_low, &p->y_high);
    }
  }
  p->x_high = p->x_high - p->x_low < 0.3 ? p->x_low + 0.3 : p->x_high;
  p->y_low = floor(p->y_low * 4.0) / 4.0; /* to quarters of a decade */
  p->y_high = ceil(p->y_high * 4.0) / 4.0;
  p->y_high = p->y_high - p->y_low < 0.5 ? p->y_low + 0.5 : p->y_high;
}

static double x_of(const plot *p, double tokens)
{
  return LEFT + (log10(tokens) - p->x_low) / (p->x_high - p->x_low) * (RIGHT - LEFT);
}

static double y_of(const plot *p, double us)
{
  return BOTTOM - (log10(us) - p->y_low) / (p->y_high - p->y_low) * (BOTTOM - TOP);
}

/* XML's special characters become blanks: names of devices have none. */
static void put_text(plot *p, double x, double y, const char *anchor, const char *text)
{
  fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  for (; *text != '\0'; text++) {
    fputc(strchr("<>&", *text) != NULL ? ' ' : *text, p->file);
  }
  fprintf(p->file, "</text>\n");
}

static void put_rule(plot *p, double x1, double y1, double x2, double y2)
{
  fprintf(p->file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", x1, y1, x2, y2);
}

static void put_y_axis(plot *p)
{
  for (int decade = (int)floor(p->y_low); decade <= (int)ceil(p->y_high); decade++) {
    for (int step = 1; step < 10; step++) {
      double us = step * pow(10.0, decade);
      char label[32];
      if (log10(us) < p->y_low - 1e-9 || log10(us) > p->y_high + 1e-9 || (step != 1 && step != 2 && step != 5)) {
        continue;
      }
      put_rule(p, LEFT, y_of(p, us), RIGHT, y_of(p, us));
      snprintf(label, sizeof label, "%g", us);
      put_text(p, LEFT - 8, y_of(p, us) + 4, "end", label);
    }
  }
  fprintf(p->file, "<g transform=\"translate(24 %d) rotate(-90)\">\n", (TOP + BOTTOM) / 2);
  put_text(p, 0, 0, "middle", "microseconds a decode");
  fprintf(p->file, "</g>\n");
}

static void put_x_axis(plot *p)
{
  double last = -INFINITY;
  for (uint32_t i = 0; i < p->sweep->num_points; i++) {
    double x = x_of(p, p->sweep->points[i].step.num_tokens);
    char label[32];
    put_rule(p, x, TOP, x, BOTTOM);
    if (x - last < 30) { /* labels would touch */
      continue;
    }
    last = x;
    snprintf(label, sizeof label, "%u", p->sweep->points[i].step.num_tokens);
    put_text(p, x, BOTTOM + 20, "middle", label);
  }
  put_text(p, (LEFT + RIGHT) / 2.0, BOTTOM + 46, "middle", "tokens");
}

static void put_line(plot *p, const char *name, const char *style, value_of value, uint32_t head_group)
{
  double y = TOP + 10 + LEGEND_STEP * p->num_named;
  bool begun = false;
  for (uint32_t i = 0; i < p->sweep->num_points; i++) {
    double us = value(p->sweep, &p->sweep->points[i], head_group);
    if (us > 0.0) {
      fprintf(p->file, "%s%.1f,%.1f", begun ? " " : "<polyline points=\"", x_of(p, p->sweep->points[i].step.num_tokens),
              y_of(p, us));
      begun = true;
    }
  }
  if (!begun) {
    return;
  }
  fprintf(p->file, "\" fill=\"none\" %s/>\n", style);
  fprintf(p->file, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" %s/>\n", LEGEND_LEFT, y, LEGEND_LEFT + 28, y,
          style);
  put_text(p, LEGEND_LEFT + 36, y + 4, "start", name);
  p->num_named++;
}

static void put_lines(plot *p)
{
  /* Okabe and Ito's colours, told apart by colour-blind readers too */
  static const char *const colours[MOST_GROUPS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#e69f00", "#56b4e9", "#8c6d31", "#444444"};
  const bench_list *groups = &p->sweep->options->head_groups;
  put_line(p, "copy", "stroke=\"#999999\" stroke-width=\"1.5\" stroke-dasharray=\"2 4\"", copy_value, 0);
  put_line(p, "floor", "stroke=\"#000000\" stroke-width=\"2\" stroke-dasharray=\"8 4\"", floor_value, 0);
  for (uint32_t i = 0; i < groups->count && i < MOST_GROUPS; i++) {
    char name[48];
    char style[64];
    snprintf(name, sizeof name, "head_group %u", groups->values[i]);
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"2\"", colours[i]);
    put_line(p, name, style, decode_value, groups->values[i]);
  }
}

bool bench_plot_write(const bench_sweep *sweep, const char *path)
{
  plot p = {.file = fopen(path, "w"), .sweep = sweep};
  char title[300];
  if (p.file == NULL) {
    fprintf(stderr, "%s: %s: ", bench_cli.name, path);
    perror(NULL);
    return false;
  }
  find_range(&p);
  fprintf(p.file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
          "font-size=\"13\">\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
          WIDTH, HEIGHT, WIDTH, HEIGHT);
  snprintf(title, sizeof title, "%s: %u head%s, head_dim %llu, window %llu, %s", sweep->device->name,
           sweep->options->num_heads.values[0], sj_number_ending(sweep->options->num_heads.values[0]),
           (unsigned long long)sweep->options->head_dim, (unsigned long long)sweep->options->window_size,
           sweep->options->kv_format);
  if (sweep->options->extra_size != 0) {
    size_t length = strlen(title);
    snprintf(title + length, sizeof title - length, ", extra scope %llu",
             (unsigned long long)sweep->options->extra_size);
  }
  put_text(&p, LEFT, TOP - 30, "start", title);
  put_y_axis(&p);
  put_x_axis(&p);
  put_lines(&p);
  fprintf(p.file, "</svg>\n");
  bool written = ferror(p.file) == 0;
  if (fclose(p.file) != 0 || !written) {
    fprintf(stderr, "%s: %s: ", bench_cli.name, path);
    perror(NULL);
    return false;
  }
  return true;
}
