# SPDX-License-Identifier: Apache-2.0
"""rows.py FILE SHAPE: a .npy file of float32 numbers of about 1, written without NumPy. SHAPE: 2,3."""

import math
import struct
import sys


def main():
    path, shape = sys.argv[1:3]
    dims = tuple(int(dim) for dim in shape.split(","))
    header = str({"descr": "<f4", "fortran_order": False, "shape": dims})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = [math.sin(0.7 * i) + 0.5 * math.cos(0.13 * i) for i in range(math.prod(dims))]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


if __name__ == "__main__":
    main()
