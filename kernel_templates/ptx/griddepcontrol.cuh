/* SPDX-License-Identifier: Apache-2.0 */
/* Programmatic dependent launch. PTX ISA 8.x, section griddepcontrol; sm_90 on. Without the launch attribute both are
 * nothing. */
#ifndef SWA_PTX_GRIDDEPCONTROL_CUH
#define SWA_PTX_GRIDDEPCONTROL_CUH

namespace swa::ptx
{
/* Until the kernels before have ended and what they wrote can be seen. */
__device__ __forceinline__ void griddepcontrol_wait()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The kernel behind may start: it waits for this one's end itself. */
__device__ __forceinline__ void griddepcontrol_launch_dependents()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
} // namespace swa::ptx

#endif
