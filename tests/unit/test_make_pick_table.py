#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/make-pick-table, whose path is the first argument."""
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = ""
HEADER = "device,arch,num_sms,num_tokens,num_heads,head_dim,window_size,head_group,kv_tile,us_ours,us_floor,us_copy\n"


def line(tokens, group, tile, us, device="H200", arch="sm_90a", num_sms=132, num_heads=128, head_dim=512):
    return "%s,%s,%d,%d,%d,%d,128,%d,%d,%s,1,1\n" % (
        device, arch, num_sms, tokens, num_heads, head_dim, group, tile, us)


class MakePickTable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_tool(self, *lines, header=HEADER, arguments=()):
        path = os.path.join(self.folder.name, "bench.csv")
        with open(path, "w", encoding="ascii") as csv:
            csv.write(header + "".join(lines))
        return subprocess.run([sys.executable, TOOL, *arguments, path], capture_output=True, text=True, check=False)

    def rows(self, *lines, arguments=()):
        result = self.run_tool(*lines, arguments=arguments)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        return [row for row in result.stdout.splitlines() if row.startswith("{")]

    def refuse(self, part, *lines, **options):
        result = self.run_tool(*lines, **options)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.returncode, 1)
        self.assertIn(part, result.stderr)

    def test_one_point_gives_one_row_without_limit(self):
        self.assertEqual(self.rows(line(8, 16, 64, 4), line(8, 32, 64, 5)),
                         ["{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 16, 64, 0},"])

    def test_fastest_changes_with_tokens_and_rows_ascend(self):
        self.assertEqual(
            self.rows(line(64, 16, 64, 9), line(64, 32, 64, 8), line(1, 16, 64, 2), line(1, 32, 64, 3),
                      line(16, 16, 64, 4), line(16, 32, 64, 5)),
            ["{SWA_JIT_ARCH_SM_90A, 132, 16 * 128, 16, 64, 0},",
             "{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 32, 64, 0},"])

    def test_times_within_the_tolerance_make_no_row(self):
        points = [line(1, 16, 64, 100), line(1, 32, 64, 101), line(2, 16, 64, 101), line(2, 32, 64, 100),
                  line(4, 16, 64, 101), line(4, 32, 64, 100)]
        self.assertEqual(self.rows(*points), ["{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 32, 64, 0},"])
        self.assertEqual(self.rows(*points, arguments=("--tolerance", "0")),
                         ["{SWA_JIT_ARCH_SM_90A, 132, 1 * 128, 16, 64, 0},",
                          "{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 32, 64, 0},"])

    def test_tiles_that_are_not_asked_for_do_not_count(self):
        self.assertEqual(self.rows(line(8, 16, 32, 4), line(8, 32, 64, 5), arguments=("--kv-tile", "64")),
                         ["{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 32, 64, 0},"])

    def test_committed_table_is_made_of_the_committed_measurements(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        measured = os.path.join(root, "docs", "measurements", "h200-2026-12-03-e4m3_slot.csv")
        made = subprocess.run([sys.executable, TOOL, "--kv-tile", "128", measured], capture_output=True, text=True,
                              check=True)
        with open(os.path.join(root, "src", "pick_table.inc"), encoding="ascii") as table:
            self.assertEqual(table.read(), made.stdout)

    def test_point_measured_again_counts_by_its_median(self):
        self.assertEqual(self.rows(line(1, 16, 64, 1), line(1, 16, 64, 9), line(1, 16, 64, 9), line(1, 32, 64, 5)),
                         ["{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 32, 64, 0},"])

    def test_other_shapes_do_not_count(self):
        self.assertEqual(self.rows(line(1, 16, 64, 5), line(1, 32, 64, 1, num_heads=8),
                                   line(1, 64, 64, 1, head_dim=128)),
                         ["{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 16, 64, 0},"])
        self.refuse("no measurement of num_heads 128", line(1, 16, 64, 5, num_heads=64))

    def test_other_forms_do_not_count(self):
        header = HEADER.strip() + ",kv_format,num_kv_heads,head_dim_v,sinks,soft_cap,extra_size\n"
        lines = [line(1, 16, 64, 5).strip() + ",e4m3_slot,1,0,0,0,0\n",
                 line(1, 32, 64, 4).strip() + ",footer_584,1,0,0,0,0\n",
                 line(1, 64, 64, 3).strip() + ",footer_584,1,0,0,0,512\n",
                 line(1, 128, 64, 2).strip() + ",e4m3_slot,1,0,1,0,0\n"]
        self.assertIn("SJ_PICK_NO_LIMIT, 16, 64, 0}", self.run_tool(*lines, header=header).stdout)
        footer = self.run_tool(*lines, header=header, arguments=("--kv-format", "footer_584"))
        self.assertIn("SJ_PICK_NO_LIMIT, 32, 64, 0}", footer.stdout)
        self.refuse("no measurement of num_heads 128, head_dim 512, window_size 128, bf16", *lines, header=header,
                    arguments=("--kv-format", "bf16"))

    def test_splits_do_not_count(self):
        header = HEADER.strip() + ",num_splits,splits_picked\n"
        lines = [line(1, 16, 64, 5).strip() + ",0,0\n", line(1, 32, 64, 4).strip() + ",8,0\n",
                 line(1, 64, 64, 3).strip() + ",1,1\n"]
        self.assertIn("SJ_PICK_NO_LIMIT, 16, 64, 0}", self.run_tool(*lines, header=header).stdout)
        self.refuse("no measurement of num_heads 128", *lines[1:], header=header)

    def test_clusters_have_rows_before_those_without(self):
        header = HEADER.strip() + ",num_splits,cluster_size\n"
        lines = [line(tokens, group, 128, us).strip() + ",0,%d\n" % cluster for tokens, group, us, cluster in (
            (1, 8, 3, 4), (1, 16, 4, 4), (1, 16, 5, 0), (1, 32, 6, 0),
            (8, 8, 6, 4), (8, 16, 4, 4), (8, 16, 6, 0), (8, 32, 5, 0),
            (64, 8, 9, 4), (64, 16, 9, 4), (64, 16, 8, 0), (64, 32, 7, 0))]
        rows = [row for row in self.run_tool(*lines, header=header).stdout.splitlines() if row.startswith("{")]
        self.assertEqual(rows, ["{SWA_JIT_ARCH_SM_90A, 132, 1 * 128, 8, 128, 4},",
                                "{SWA_JIT_ARCH_SM_90A, 132, 8 * 128, 16, 128, 4},",
                                "{SWA_JIT_ARCH_SM_90A, 132, 1 * 128, 16, 128, 0},",
                                "{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 32, 128, 0},"])
        fast = [row for row in self.run_tool(*lines[:8], header=header).stdout.splitlines() if row.startswith("{")]
        self.assertEqual(fast, rows)  # nothing is known of more tokens than were measured
        self.refuse("sm_90a was measured with clusters only", lines[0], header=header)
        self.refuse("cluster_size is 2: 0 or 4 is expected", lines[0].replace(",4\n", ",2\n"), header=header)

    def test_architecture_measured_most_comes_first(self):
        self.assertEqual(self.rows(line(1, 16, 16, 5, arch="sm_80", device="A100", num_sms=108),
                                   line(1, 16, 64, 5), line(2, 16, 64, 5)),
                         ["{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 16, 64, 0},",
                          "{SWA_JIT_ARCH_SM_80, 108, SJ_PICK_NO_LIMIT, 16, 16, 0},"])

    def test_two_devices_of_an_architecture_need_a_choice(self):
        points = [line(1, 16, 64, 5), line(1, 32, 64, 5, device="H20", num_sms=78)]
        self.refuse("give --device", *points)
        self.assertEqual(self.rows(*points, arguments=("--device", "H20")),
                         ["{SWA_JIT_ARCH_SM_90A, 78, SJ_PICK_NO_LIMIT, 32, 64, 0},"])

    def test_output_says_where_it_is_from_and_is_repeatable(self):
        points = [line(1, 16, 64, 5, device="NVIDIA H200 */")]
        first = self.run_tool(*points).stdout
        self.assertEqual(first, self.run_tool(*points).stdout)
        self.assertIn("Generated by tools/make-pick-table from bench.csv", first)
        self.assertIn("sm_90a: NVIDIA H200 ??, 132 SMs, 1 measurements", first)
        self.assertEqual(first.count("*/"), 2)

    def test_output_file_is_written(self):
        path = os.path.join(self.folder.name, "table.inc")
        result = self.run_tool(line(1, 16, 64, 5), arguments=("--output", path))
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        with open(path, encoding="ascii") as table:
            self.assertIn("{SWA_JIT_ARCH_SM_90A, 132, SJ_PICK_NO_LIMIT, 16, 64, 0},\n", table.read())

    def test_bad_rows_are_refused_with_their_place(self):
        self.refuse("bench.csv:2: arch is sm_90", line(1, 16, 64, 5, arch="sm_90"))
        self.refuse("bench.csv:3: head_group 24 with kv_tile 64", line(1, 16, 64, 5), line(1, 24, 64, 5))
        self.refuse("head_group 16 with kv_tile 8", line(1, 16, 8, 5))
        self.refuse("a number is not above zero", line(0, 16, 64, 5))
        self.refuse("a number is not above zero, or not finite", line(1, 16, 64, "nan"))
        self.refuse("could not convert", line(1, 16, 64, "fast"))
        self.refuse("no value for us_ours", line(1, 16, 64, ""))
        self.refuse("no value for num_sms", "x,sm_90a\n", header="device,arch\n")
        self.refuse("no measurement")

    def test_file_that_is_missing_is_refused(self):
        result = subprocess.run([sys.executable, TOOL, os.path.join(self.folder.name, "none.csv")],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("none.csv", result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
