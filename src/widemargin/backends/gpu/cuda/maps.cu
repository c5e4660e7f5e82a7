// Kernel values from inner products and squared norms; the formulas of `kernels/products.py`.

__device__ inline REAL whole_power(REAL base, int degree) {
    REAL result = 1;
    for (; degree; degree >>= 1, base *= base)
        if (degree & 1) result *= base;
    return result;
}

// The codes are those of `kernels/native.py`. For kinds 4 to 6 `base` is the L1 or chi-squared
// distance or the common mass that `pairwise` computes.
__device__ inline REAL kernel_value(int kind, REAL base, REAL norm_a, REAL norm_b, REAL gamma,
                                    REAL coef0, int degree) {
    switch (kind) {
        case 1: return whole_power(gamma * base + coef0, degree);
        case 2: {
            const REAL squared = norm_a + norm_b - 2 * base;
            return exp(-gamma * (squared > 0 ? squared : (squared != squared ? squared : 0)));
        }
        case 3: return tanh(gamma * base + coef0);
        case 4:
        case 5: return exp(-gamma * base);
        case 7: {
            const REAL a = sqrt(norm_a + REAL(norm_a == 0)), b = sqrt(norm_b + REAL(norm_b == 0));
            return base / (a * b);
        }
        default: return base;
    }
}

// values[i][j], an inner product, becomes a kernel value.
extern "C" __global__ void map_products(REAL* values, long long rows, long long columns,
                                        const REAL* norms_a, const REAL* norms_b, int kind,
                                        REAL gamma, REAL coef0, int degree) {
    const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    const REAL norm_b = norms_b[column];
    for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
        REAL& value = values[row * columns + column];
        value = kernel_value(kind, value, norms_a[row], norm_b, gamma, coef0, degree);
    }
}

// outputs[j] += sum_i moves[i] k(i, j) from inner products, whose kernel values are never written.
// 32 columns to a block, 8 rows side by side, joined in a fixed order.
extern "C" __global__ void map_and_add(const REAL* products, int rows, long long columns,
                                       const REAL* norms_a, const REAL* norms_b,
                                       const double* moves, double* outputs, int kind, REAL gamma,
                                       REAL coef0, int degree) {
    __shared__ double parts[8][32];
    const int lane = threadIdx.x & 31, part = threadIdx.x >> 5;
    const long long column = (long long)blockIdx.x * 32 + lane;
    double sum = 0;
    if (column < columns) {
        const REAL norm_b = norms_b[column];
#pragma unroll 4
        for (int row = part; row < rows; row += 8)
            sum += moves[row] * (double)kernel_value(kind, products[row * columns + column],
                                                     norms_a[row], norm_b, gamma, coef0, degree);
    }
    parts[part][lane] = sum;
    __syncthreads();
    if (part == 0 && column < columns) {
        for (int other = 1; other < 8; ++other) sum += parts[other][lane];
        outputs[column] += sum;
    }
}

// Sums over features that are no inner products, for dense rows: L1 distance (kind 4), chi-squared
// distance (5), common mass (6). A block of 256 threads computes 64 x 64 pairs, 16 to a thread.
__device__ inline REAL pair_term(int kind, REAL a, REAL b) {
    if (kind == 6) return a < b ? a : b;
    const REAL difference = a - b;
    if (kind == 4) return difference < 0 ? -difference : difference;
    const REAL total = a + b;
    return difference * (difference / (total + REAL(total == 0)));
}

extern "C" __global__ void pairwise(const REAL* A, const REAL* B, REAL* result, long long rows,
                                    long long columns, long long features, int kind) {
    __shared__ REAL tile_a[16][65], tile_b[16][65];
    const long long row0 = (long long)blockIdx.y * 64, column0 = (long long)blockIdx.x * 64;
    const int across = threadIdx.x & 15, down = threadIdx.x >> 4;
    REAL sums[4][4] = {};
    for (long long feature = 0; feature < features; feature += 16) {
        for (int at = threadIdx.x; at < 64 * 16; at += 256) {
            const int row = at >> 4, k = at & 15;
            const bool known = feature + k < features;
            const long long a = (row0 + row) * features + feature + k;
            const long long b = (column0 + row) * features + feature + k;
            tile_a[k][row] = known && row0 + row < rows ? A[a] : 0;
            tile_b[k][row] = known && column0 + row < columns ? B[b] : 0;
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sums[i][j] +=
                        pair_term(kind, tile_a[k][down + 16 * i], tile_b[k][across + 16 * j]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const long long row = row0 + down + 16 * i, column = column0 + across + 16 * j;
            if (row < rows && column < columns) result[row * columns + column] = sums[i][j];
        }
}
