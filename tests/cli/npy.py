# SPDX-License-Identifier: Apache-2.0
"""npy.py FILE DESCR SHAPE [ORDER] [MISSING]: a .npy file of zeros, written without NumPy. SHAPE: 2,3. ORDER: C or F.
MISSING: how many bytes to leave out at its end."""

import math
import struct
import sys


def main():
    path, descr, shape = sys.argv[1:4]
    order = sys.argv[4] if len(sys.argv) > 4 else "C"
    missing = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    dims = tuple(int(dim) for dim in shape.split(","))
    header = str({"descr": descr, "fortran_order": order == "F", "shape": dims})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    count = math.prod(dims) * int(descr[2:]) - missing
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(count))


if __name__ == "__main__":
    main()
