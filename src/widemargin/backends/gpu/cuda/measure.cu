// One pass over all variables or rows each. Every thread block writes what it found; the host joins
// the parts in order.

#define MEASURE_THREADS 256

__device__ inline double sum_of_block(double value) {
    __shared__ double parts[MEASURE_THREADS / 32];
    for (int by = 16; by; by /= 2) value += __shfl_xor_sync(EVERY_LANE, value, by);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < MEASURE_THREADS / 32; ++warp) value += parts[warp];
    return value;
}

__device__ inline double smallest_of_block(double value) {
    __shared__ double parts[MEASURE_THREADS / 32];
    for (int by = 16; by; by /= 2) value = fmin(value, __shfl_xor_sync(EVERY_LANE, value, by));
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = value;
    __syncthreads();
    for (int warp = 0; warp < MEASURE_THREADS / 32; ++warp) value = fmin(value, parts[warp]);
    return value;
}

// Of each group: lowest gradient that may rise, highest that may fall, and of the gradients of the
// variables between their bounds the sum and the number. parts: [thread blocks][groups][4].
extern "C" __global__ void measure_reach(const Box* given, int groups, double* parts) {
    const Box box = *given;
    for (int g = 0; g < groups; ++g) {
        double low = INFINITE, high = INFINITE, sum = 0, count = 0;
        for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < box.variables;
             t += gridDim.x * blockDim.x) {
            if (box.group[t] != g) continue;
            const double gradient = box.gradient(t);
            const bool rises = box.may_rise(t), falls = box.may_fall(t);
            if (rises) low = fmin(low, gradient);
            if (falls) high = fmin(high, -gradient);
            if (rises && falls) sum += gradient, count += 1;
        }
        double* out = parts + (blockIdx.x * groups + g) * 4;
        low = smallest_of_block(low), high = -smallest_of_block(high);
        sum = sum_of_block(sum), count = sum_of_block(count);
        if (threadIdx.x == 0) out[0] = low, out[1] = high, out[2] = sum, out[3] = count;
    }
}

// The gap for given multipliers, x'Kx and linear'x. parts: [thread blocks][3].
extern "C" __global__ void measure_sums(const Box* given, double first, double second,
                                        double* parts) {
    const Box box = *given;
    double gap = 0, quadratic = 0, linear = 0;
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < box.variables;
         t += gridDim.x * blockDim.x) {
        const double gradient = box.gradient(t), x = box.x[t];
        const double r = gradient + (box.group[t] ? second : first);
        const double down = (x - box.lower[t]) * r, up = (x - box.upper[t]) * r;
        gap += down != down || up != up ? down + up : fmax(down, up);  // NaN is not lost
        quadratic += x * box.outputs[box.row(t)];
        linear += x * box.linear[t];
    }
    gap = sum_of_block(gap), quadratic = sum_of_block(quadratic), linear = sum_of_block(linear);
    double* out = parts + blockIdx.x * 3;
    if (threadIdx.x == 0) out[0] = gap, out[1] = quadratic, out[2] = linear;
}

// Squared norms of dense rows, summed in float64, one warp to a row.
extern "C" __global__ void row_norms(const REAL* rows, long long count, long long features,
                                     REAL* norms) {
    const long long row = (long long)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (row >= count) return;
    double sum = 0;
    for (long long k = lane; k < features; k += 32) {
        const double value = rows[row * features + k];
        sum += value * value;
    }
    for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(EVERY_LANE, sum, by);
    if (lane == 0) norms[row] = REAL(sum);
}

// CSR rows written to a dense array of zeros, one warp to a row.
extern "C" __global__ void fill_dense(const REAL* data, const int* columns, const long long* starts,
                                      long long rows, long long features, REAL* dense) {
    const long long row = (long long)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= rows) return;
    for (long long k = starts[row] + (threadIdx.x & 31); k < starts[row + 1]; k += 32)
        dense[row * features + columns[k]] = data[k];
}

// Sets *spoilt if any value is infinite or not a number.
extern "C" __global__ void look_for_spoilt(const REAL* values, long long count, int* spoilt) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += step)
        if (!isfinite(values[k])) *spoilt = 1;
}
