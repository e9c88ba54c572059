#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_80,sm_90a
python3 - <<"END"
import io, os, tarfile
names = sorted(name for name in os.listdir("store") if name.endswith(".cubin"))
contents = {name: open(os.path.join("store", name), "rb").read() for name in names}
first, second = names

def write(path, members):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.size = len(content)
            info.linkname = first
            archive.addfile(info, io.BytesIO(content))

FILE = tarfile.REGTYPE
good = (first, contents[first], FILE)
flipped = bytearray(contents[second])
flipped[100] ^= 1
write("other-folder", [good, ("../" + second, contents[second], FILE)])
write("absolute", [good, ("/tmp/" + second, contents[second], FILE)])
write("inner-folder", [good, ("store/" + second, contents[second], FILE)])
write("symbolic-link", [good, (second, b"", tarfile.SYMTYPE)])
write("hard-link", [good, (second, b"", tarfile.LNKTYPE)])
write("device", [good, (second, b"", tarfile.CHRTYPE)])
write("folder", [good, (second, b"", tarfile.DIRTYPE)])
write("escape", [good, ("\x1b[31m" + second, contents[second], FILE)])
write("twice", [good, (second, contents[second], FILE), good])
write("foreign", [good, ("README", b"text", FILE)])
write("lock", [good, ("00112233445566778899aabbccddeeff.lock", b"", FILE)])
write("changed", [good, (second, bytes(flipped), FILE)])
write("swapped", [good, (second, contents[first], FILE)])
write("empty-file", [good, (second, b"", FILE)])
write("whole", [good, (second, contents[second], FILE)])
whole = open("whole", "rb").read()
for count in (0, 100, 512, 1000, 2048, 3000):
    open(f"cut-{count:04}", "wb").write(whole[:count])
open("damaged", "wb").write(whole[:100] + b"x" + whole[101:])
END
mkdir copy
chmod 700 copy
ln -s /dev/zero endless
ln -s /dev/urandom noise
for archive in endless noise escape other-folder absolute inner-folder symbolic-link hard-link device folder \
  twice foreign lock changed swapped empty-file cut-* damaged missing; do
  swa-jit-warm --cache-dir copy --import "$archive" 2>&1 | head -n 1
  swa-jit-warm --cache-dir copy --import - 2>/dev/null <"$archive" && echo "taken: $archive"
done
swa-jit-warm --cache-dir copy --import changed
echo "status $?, $(find copy -type f | wc -l) files"
SWA_JIT_READ_ONLY=1 swa-jit-warm --cache-dir copy --import whole
echo "status $?, $(find copy -type f | wc -l) files"
swa-jit-warm --cache-dir copy --import whole --quiet
echo "status $?, $(find copy -type f | wc -l) files"
