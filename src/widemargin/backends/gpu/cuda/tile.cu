// Kernel values of dense rows whose inner products the tensor cores sum: written as a matrix, or
// added up with weights and never written.
//
// A thread block computes tiles of TILE_ROWS x TILE_COLUMNS values; its 8 warps have 16 x 8 pieces of
// it in registers (mma.m16n8k8), CHUNK features at a time in shared memory, the next ones on their
// way. In float32 each number is split in two of 11 digits (TF32), and three of the four products
// are summed: what is lost is of the size of float32's own rounding. Float64 has instructions of its
// own. Compiled once for each KIND of kernel: a choice in the innermost loops, unrolled as they are,
// would not fit the cache of instructions.

#if __CUDA_ARCH__ >= 800

#if REAL_IS_DOUBLE
#define DEEP 2        // pieces of 16 rows in each warp
#define WARPS_DOWN 4  // of 8
#else
#define DEEP 4
#define WARPS_DOWN 2
#endif
#define CHUNK 16
#define STAGES (REAL_IS_DOUBLE ? 3 : 4)  // of CHUNK features each, but one on their way
#define WIDE 4  // pieces of 8 columns in each warp
#define TILE_ROWS (WARPS_DOWN * DEEP * 16)
#define TILE_COLUMNS (8 / WARPS_DOWN * WIDE * 8)
#define PADDED (CHUNK + 4)  // so that the lanes of a warp read from different banks

// Rows of the data, perhaps chosen by their numbers.
struct Rows {
    const REAL *values, *norms;
    const int* ids;
    long long count;
    __device__ long long at(long long row) const { return ids ? ids[row] : row; }
    __device__ REAL norm(long long row) const { return row < count ? norms[at(row)] : REAL(0); }
};

struct Formula {
    REAL gamma, coef0;
    int degree;
};

struct Stage {
    REAL a[TILE_ROWS][PADDED], b[TILE_COLUMNS][PADDED];
};

// What a thread block has in shared memory; -1 stands for no row.
struct Workspace {
    Stage stages[STAGES];
    int ids_a[TILE_ROWS], ids_b[TILE_COLUMNS];
};
extern __shared__ __align__(16) unsigned char scratch[];  // `device.py` tells how much

// Copies a number to shared memory while the program goes on; zero if it is not known.
__device__ inline void send(REAL* to, const REAL* from, bool known) {
    const unsigned place = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from),
                 "n"(sizeof(REAL)), "r"(known ? (int)sizeof(REAL) : 0));
}

template <int HEIGHT>
__device__ inline void look_up(int (&ids)[HEIGHT], const Rows& rows, long long first) {
    if (threadIdx.x < HEIGHT)
        ids[threadIdx.x] =
            first + threadIdx.x < rows.count ? (int)rows.at(first + threadIdx.x) : -1;
}

template <int HEIGHT>
__device__ inline void fetch(REAL (&to)[HEIGHT][PADDED], const REAL* values,
                             const int (&ids)[HEIGHT], int features, int feature) {
    const int k = threadIdx.x % CHUNK;
    const bool inside = feature + k < features;
    const REAL* column = values + feature + k;
#pragma unroll
    for (int row = threadIdx.x / CHUNK; row < HEIGHT; row += 256 / CHUNK) {
        const int id = ids[row];
        const bool known = inside && id >= 0;
        send(&to[row][k], known ? column + (long long)id * features : values, known);
    }
}

#if REAL_IS_DOUBLE
typedef double Part;
__device__ inline void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int half = 0; half < 2; ++half)
        for (int k = 0; k < 2; ++k)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                : "d"(a[half + 2 * k]), "d"(b[k]));
#endif
}
#else
typedef unsigned Part;  // a number of 11 digits
__device__ inline unsigned shortened(float value) { return __float_as_uint(value) & 0xffffe000u; }
__device__ inline void multiply(float (&c)[4], const Part (&a)[4], const Part (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// The pieces of one operand that a lane has: its numbers, and what shortening left of them, of which
// the tensor cores in turn take the first digits.
template <int SIZE>
struct Piece {
    Part high[SIZE];
#if !REAL_IS_DOUBLE
    Part low[SIZE];
#endif
    __device__ void set(int at, REAL value) {
#if REAL_IS_DOUBLE
        high[at] = value;
#else
        high[at] = shortened(value);
        low[at] = __float_as_uint(value - __uint_as_float(high[at]));
#endif
    }
};

// One piece of rows times all pieces of columns. Products into the same sums wait for one another, so
// they are as far apart as can be.
__device__ inline void add_products(REAL (&c)[WIDE][4], const Piece<4>& a,
                                    const Piece<2> (&b)[WIDE]) {
#if !REAL_IS_DOUBLE
#pragma unroll
    for (int j = 0; j < WIDE; ++j) multiply(c[j], a.low, b[j].high);
#pragma unroll
    for (int j = 0; j < WIDE; ++j) multiply(c[j], a.high, b[j].low);
#endif
#pragma unroll
    for (int j = 0; j < WIDE; ++j) multiply(c[j], a.high, b[j].high);
}

// Where a lane's values are in a tile: those of piece (deep, wide) in rows row(deep), row(deep) + 8
// and columns column(wide), column(wide) + 1.
struct Place {
    int warp = threadIdx.x >> 5, four = (threadIdx.x & 31) >> 2, one = threadIdx.x & 3;
    int down = warp % WARPS_DOWN, across = warp / WARPS_DOWN;
    __device__ int row(int deep) const { return (down * DEEP + deep) * 16 + four; }
    __device__ int column(int wide) const { return (across * WIDE + wide) * 8 + 2 * one; }
};

__device__ inline void fetch_both(Workspace& work, const Rows& A, const Rows& B, int features,
                                  int chunk) {
    Stage& stage = work.stages[chunk % STAGES];
    if (chunk * CHUNK < features) {
        fetch(stage.a, A.values, work.ids_a, features, chunk * CHUNK);
        fetch(stage.b, B.values, work.ids_b, features, chunk * CHUNK);
    }
    asm volatile("cp.async.commit_group;");
}

// Sums the inner products of one tile.
__device__ inline void sum_tile(REAL (&sums)[DEEP][WIDE][4], Workspace& work, const Place& place,
                                const Rows& A, const Rows& B, long long row0, long long column0,
                                int features) {
#pragma unroll
    for (int i = 0; i < DEEP; ++i)
#pragma unroll
        for (int j = 0; j < WIDE; ++j)
            for (int e = 0; e < 4; ++e) sums[i][j][e] = 0;
    look_up(work.ids_a, A, row0), look_up(work.ids_b, B, column0);
    __syncthreads();
    for (int coming = 0; coming < STAGES - 1; ++coming) fetch_both(work, A, B, features, coming);
    const int chunks = (features + CHUNK - 1) / CHUNK;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();  // it is there, and all have done with the stage that is written next
        fetch_both(work, A, B, features, chunk + STAGES - 1);
        const Stage& now = work.stages[chunk % STAGES];
#pragma unroll
        for (int k = 0; k < CHUNK; k += 8) {
            Piece<2> b[WIDE];
#pragma unroll
            for (int j = 0; j < WIDE; ++j) {
                const REAL* from = now.b[(place.across * WIDE + j) * 8 + place.four] + k + place.one;
                b[j].set(0, from[0]), b[j].set(1, from[4]);
            }
#pragma unroll
            for (int i = 0; i < DEEP; ++i) {
                const REAL *from = now.a[place.row(i)] + k + place.one, *below = from + 8 * PADDED;
                Piece<4> a;
                a.set(0, from[0]), a.set(1, below[0]), a.set(2, from[4]), a.set(3, below[4]);
                add_products(sums[i], a, b);
            }
        }
    }
    __syncthreads();
}

__device__ inline REAL value_in(const Formula& f, REAL product, REAL norm_a, REAL norm_b) {
    return kernel_value(KIND, product, norm_a, norm_b, f.gamma, f.coef0, f.degree);
}

// A tile of kernel values in shared memory, to be written along its rows and along its columns.
typedef REAL Tile[TILE_ROWS][TILE_COLUMNS + 1];
static_assert(sizeof(Tile) <= sizeof(Stage) * STAGES, "it takes the place of the stages");

__device__ inline REAL norm_of(const Rows& rows, int id) { return id < 0 ? REAL(0) : rows.norms[id]; }

__device__ inline void fill_tile(Tile& tile, const REAL (&sums)[DEEP][WIDE][4],
                                 const Workspace& work, const Place& place, const Rows& A,
                                 const Rows& B, const Formula& formula) {
#pragma unroll
    for (int j = 0; j < WIDE; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const int column = place.column(j) + e;
            const REAL norm_b = norm_of(B, work.ids_b[column]);
#pragma unroll
            for (int i = 0; i < DEEP; ++i)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int row = place.row(i) + 8 * half;
                    const REAL norm_a = norm_of(A, work.ids_a[row]);
                    tile[row][column] =
                        value_in(formula, sums[i][j][2 * half + e], norm_a, norm_b);
                }
        }
}

// values[i * pitch + j] = k(a_i, b_j). If A and B are the same rows, `symmetric` halves the work.
extern "C" __global__ void __launch_bounds__(256, 2)
kernel_values(const REAL* a, const REAL* norms_a, const int* ids_a, long long rows_a, const REAL* b,
              const REAL* norms_b, const int* ids_b, long long rows_b, int features, REAL gamma,
              REAL coef0, int degree, int symmetric, REAL* values, long long pitch) {
    Workspace& work = *(Workspace*)scratch;
    Tile& tile = *(Tile*)scratch;
    const long long column0 = (long long)blockIdx.x * TILE_COLUMNS;
    const long long row0 = (long long)blockIdx.y * TILE_ROWS;
    if (symmetric && row0 >= column0 + TILE_COLUMNS) return;
    const Rows A{a, norms_a, ids_a, rows_a}, B{b, norms_b, ids_b, rows_b};
    const Place place;
    REAL sums[DEEP][WIDE][4];
    sum_tile(sums, work, place, A, B, row0, column0, features);
    fill_tile(tile, sums, work, place, A, B, {gamma, coef0, degree});
    __syncthreads();
    const int lane = threadIdx.x & 31;
    for (int row = place.warp; row < TILE_ROWS && row0 + row < rows_a; row += 8)
        for (int column = lane; column < TILE_COLUMNS && column0 + column < rows_b; column += 32)
            values[(row0 + row) * pitch + column0 + column] = tile[row][column];
    // Tiles that the diagonal crosses are computed on both sides of it.
    if (!symmetric || row0 + TILE_ROWS > column0) return;
    for (int column = place.warp; column < TILE_COLUMNS && column0 + column < rows_b; column += 8)
        for (int row = lane; row < TILE_ROWS; row += 32)
            values[(column0 + column) * pitch + row0 + row] = tile[row][column];
}

// parts[y][j] = sum over the y-th share of the rows of moves[i] k(a_i, b_j), or with `add` that is
// added to it. `count`, if given, is the number of rows of A, which the host does not know yet.
extern "C" __global__ void __launch_bounds__(256, 2)
kernel_sums(const REAL* a, const REAL* norms_a, const int* ids_a, long long rows_a,
            const Result* given, const double* moves, const REAL* b, const REAL* norms_b,
            const int* ids_b, long long rows_b, int features, REAL gamma, REAL coef0,
            int degree, int add, double* parts) {
    Workspace& work = *(Workspace*)scratch;
    __shared__ double columns[WARPS_DOWN][TILE_COLUMNS];
    const Rows A{a, norms_a, ids_a, given ? (long long)given->moved : rows_a};
    const Rows B{b, norms_b, ids_b, rows_b};
    const Formula formula{gamma, coef0, degree};
    const Place place;
    const long long column0 = (long long)blockIdx.x * TILE_COLUMNS;
    double totals[WIDE][2] = {};
    for (long long row0 = (long long)blockIdx.y * TILE_ROWS; row0 < A.count;
         row0 += (long long)gridDim.y * TILE_ROWS) {
        REAL sums[DEEP][WIDE][4];
        sum_tile(sums, work, place, A, B, row0, column0, features);
#pragma unroll
        for (int i = 0; i < DEEP; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const long long row = row0 + place.row(i) + 8 * half;
                const REAL norm_a = A.norm(row);
                const double move = row < A.count ? moves[row] : 0.0;
#pragma unroll
                for (int j = 0; j < WIDE; ++j)
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const REAL sum = sums[i][j][2 * half + e];
                        const REAL norm_b = B.norm(column0 + place.column(j) + e);
                        totals[j][e] += move * (double)value_in(formula, sum, norm_a, norm_b);
                    }
            }
    }
#pragma unroll
    for (int j = 0; j < WIDE; ++j)
        for (int e = 0; e < 2; ++e) {
            double total = totals[j][e];
            for (int by = 4; by < 32; by *= 2) total += __shfl_xor_sync(EVERY_LANE, total, by);
            if (place.four == 0) columns[place.down][place.column(j) + e] = total;
        }
    __syncthreads();
    const long long column = column0 + threadIdx.x;
    if (threadIdx.x >= TILE_COLUMNS || column >= rows_b) return;
    double total = 0;
    for (int w = 0; w < WARPS_DOWN; ++w) total += columns[w][threadIdx.x];
    double& part = parts[blockIdx.y * rows_b + column];
    part = add ? part + total : total;
}
#endif
