/* One text, two languages: OpenCL C 1.2 and CUDA C.
 *
 * Kernels round as the formulas of portable-f32/1 do: `+ - * /` and SQRT once each, FMA once. Nothing may be contracted or
 * approximated: OpenCL is told so here and by the options it builds with, nvcc by the script that makes the PTX.
 *
 * Work is one-dimensional inside a group: ITEM is the number of an item, GROUP(d) that of its group. Tables come with
 * the place where they begin: READ and WRITE declare them, OPEN makes them pointers. */
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL(name) __kernel void repro_##name
#define DEVICE
#define READ(type, name) __global const type *restrict name##_table, LONG name##_from
#define WRITE(type, name) __global type *name##_table, LONG name##_from
#define OPEN_READ(type, name) __global const type *name = name##_table + name##_from
#define OPEN_WRITE(type, name) __global type *name = name##_table + name##_from
#define IN_TABLE(type) __global const type *
#define SHARED(type, name, count) __local type name[count]
#define IN_SHARED(type) __local type *
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define SYNC_TABLES() barrier(CLK_GLOBAL_MEM_FENCE)
#define ITEM ((int)get_local_id(0))
#define GROUP(d) ((int)get_group_id(d))
#define LONG long
#define ULONG ulong
#define FMA(a, b, c) fma(a, b, c)
#define SQRT(a) sqrt(a)
#define WIDE_SQRT(a) sqrt(a)
#define FLOAT_OF(bits) as_float((int)(bits))
#define BITS_OF(x) as_int(x)
#define UNROLL _Pragma("unroll")
#else
#define KERNEL(name) extern "C" __global__ void repro_##name
#define DEVICE static __device__ __forceinline__
#define READ(type, name) const type *__restrict__ name##_table, LONG name##_from
#define WRITE(type, name) type *name##_table, LONG name##_from
#define OPEN_READ(type, name) const type *name = name##_table + name##_from
#define OPEN_WRITE(type, name) type *name = name##_table + name##_from
#define IN_TABLE(type) const type *
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define IN_SHARED(type) type *
#define SYNC() __syncthreads()
#define SYNC_TABLES() __syncthreads()
#define ITEM ((int)threadIdx.x)
#define GROUP(d) ((int)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define LONG long long
#define ULONG unsigned long long
#define FMA(a, b, c) __fmaf_rn(a, b, c)
#define SQRT(a) __fsqrt_rn(a)
#define WIDE_SQRT(a) __dsqrt_rn(a)
#define FLOAT_OF(bits) __int_as_float((int)(bits))
#define BITS_OF(x) __float_as_int(x)
#define UNROLL _Pragma("unroll")
#endif

#define INT(name) int name
#define FLOAT(name) float name
#define DOUBLE(name) double name

#define LOWEST FLOAT_OF(0xff800000)
#define NO_NUMBER FLOAT_OF(0x7fc00000)

/* Items of a group; rows of a group whose sums have sixteen lanes each. */
#define ITEMS 256
#define LANES 16
#define ROWS (ITEMS / LANES)
