// What all kernels share. REAL, float or double, is the type of kernel values; the files of this
// folder are joined in one text and compiled at run time, once for each type.

typedef unsigned long long Key;
#define EVERY_LANE 0xffffffffu
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define INFINITE_REAL REAL(INFINITE)

// An unsigned number that orders as the floating-point number does; 0 stands for "none".
__device__ inline unsigned bits_of(float v) { return __float_as_uint(v); }
__device__ inline Key bits_of(double v) { return (Key)__double_as_longlong(v); }

__device__ inline unsigned ordered(float v) {
    const unsigned b = bits_of(v);
    return b >> 31 ? ~b : b | 0x80000000u;
}
__device__ inline Key ordered(double v) {
    const Key b = bits_of(v);
    return b >> 63 ? ~b : b | 0x8000000000000000ull;
}
__device__ inline double value_of(Key key) {
    const Key b = key >> 63 ? key & 0x7fffffffffffffffull : ~key;
    return __longlong_as_double((long long)b);
}
__device__ inline float value_of(unsigned key) {
    return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

// The largest key of a warp, known to all its lanes.
__device__ inline unsigned largest(unsigned key) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(EVERY_LANE, key);
#else
    for (int by = 16; by; by /= 2) key = max(key, __shfl_xor_sync(EVERY_LANE, key, by));
    return key;
#endif
}
__device__ inline Key largest(Key key) {
    const unsigned high = largest((unsigned)(key >> 32));
    const unsigned low = largest((unsigned)(key >> 32) == high ? (unsigned)key : 0u);
    return (Key)high << 32 | low;
}

// The lowest lane that holds the key.
template <class K>
__device__ inline int lane_of(K key, K best) {
    return __ffs(__ballot_sync(EVERY_LANE, key == best)) - 1;
}

// A machine as `problem.py` states it; variable t belongs to row t mod rows. It lies in the memory
// of the device, as addresses that `device.py` writes.
struct Box {
    double *outputs, *x;
    const double *linear, *lower, *upper;
    const signed char* group;
    int rows, variables;
    __device__ int row(int t) const { return t < rows ? t : t - rows; }
    __device__ double gradient(int t) const { return outputs[row(t)] + linear[t]; }
    __device__ bool may_rise(int t) const { return x[t] < upper[t]; }
    __device__ bool may_fall(int t) const { return x[t] > lower[t]; }
};

// What the host reads after some rounds.
struct Result {
    long long iterations;
    double violation;
    int exhausted, negative, moved, rounds;
};
