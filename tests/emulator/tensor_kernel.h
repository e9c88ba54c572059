/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of tcgen05 in CUDA C++, compiled by NVRTC for sm_100a. */
#ifndef EMU_TENSOR_KERNEL_H
#define EMU_TENSOR_KERNEL_H

/* The program's arguments are the source's files. 0, or the status that the program ends with, after its reason. */
int tensor_kernel_open(int argc, char **argv);
void tensor_kernel_close(void);
/* The PTX, to be freed, with some definitions before the source; NULL after printing the compiler's log. */
char *tensor_kernel_compile(const char *name, const char *definitions);

#endif
