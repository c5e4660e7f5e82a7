// The quadratic program of one block, solved by sequential minimal optimisation in one thread
// block; the twin of cpp/solve/block_qp.hpp, where problem and paper are stated.
//   Step: i is the variable of smallest gradient that may rise, j the one that may fall for which
//   the pair promises the largest decrease; the pair moves to its minimum.
// Each thread keeps EACH variables. A step is a chain of latencies: a choice among a thread's
// variables, one reduction inside each warp, a barrier, the warps' candidates, a row of the block's
// kernel matrix; and the same again for the partner. So a candidate is one number, the key of what is
// compared with the variable's place in its lowest bits, and all else that the step must know of the
// winner is looked up afterwards in shared memory, while the row is on its way. Quotients are as
// exact as a choice needs, and double precision is left to the variables themselves.

#define LEAST_CURVATURE 1e-12
#define PLACES (MOST_WARPS * 32 * EACH)
#define PLACE_BITS (PLACES - 1)  // PLACES is a power of two

#if REAL_IS_DOUBLE
typedef long long Order;
#define FAR 1e300  // added to what may not be chosen; no infinity, whose low bits must not change
__device__ inline REAL quotient(REAL a, REAL b) { return a / b; }
__device__ inline Order as_order(REAL v) { return __double_as_longlong(v); }
__device__ inline REAL as_real(Order b) { return __longlong_as_double(b); }
#else
typedef int Order;
#define FAR 1e30f
__device__ inline REAL quotient(REAL a, REAL b) {
    REAL inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
}
__device__ inline Order as_order(REAL v) { return __float_as_int(v); }
__device__ inline REAL as_real(Order b) { return __int_as_float(b); }
#endif

// A whole number that orders as the floating-point number of these bits does; its own inverse.
__device__ inline Order turned(Order bits) {
    const Order sign = bits >> (8 * sizeof(Order) - 1);
    return bits ^ (sign & ~(Order(1) << (8 * sizeof(Order) - 1)));
}

// A number that carries a variable's place in its lowest bits.
__device__ inline REAL with_place(REAL value, int place) {
    return as_real((as_order(value) & ~Order(PLACE_BITS)) | place);
}

// The largest of a warp, known to all its lanes.
__device__ inline int most(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(EVERY_LANE, value);
#else
    for (int by = 16; by; by /= 2) value = max(value, __shfl_xor_sync(EVERY_LANE, value, by));
    return value;
#endif
}
__device__ inline long long most(long long value) {
    const int high = most((int)(value >> 32));
    const unsigned low = largest((int)(value >> 32) == high ? (unsigned)value : 0u);
    return (long long)high << 32 | low;
}

// The block's variables, by place.
struct Variables {
    double x[PLACES], lower[PLACES], upper[PLACES];
    REAL diagonal[PLACES], up[PLACES], down[PLACES];  // K_ii, and how far x may rise and fall

    __device__ void set(int at, double value) {
        x[at] = value;
        up[at] = REAL(upper[at] - value), down[at] = REAL(value - lower[at]);
    }
};

// What a thread holds of its own variables. `rise` and `fall` are 0 where a variable may do so and
// FAR off where it may not, so that adding them takes it out of the choice.
struct Own {
    REAL gradient[EACH], diagonal[EACH], rise[EACH], fall[EACH];
    unsigned second;  // bit e: variable e belongs to the second group

    __device__ bool in_group(int e, int g) const { return int(second >> e & 1) == g; }
    __device__ void set_limits(int e, bool rises, bool falls) {
        rise[e] = rises ? REAL(0) : REAL(FAR);
        fall[e] = falls ? REAL(0) : REAL(-FAR);
    }
    // Without indexing by a variable number, which would move the arrays to slow memory.
    __device__ void refresh(int which, bool rises, bool falls) {
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            if (e == which) set_limits(e, rises, falls);
    }
};

// What the warps tell one another, and what every thread may ask of any place.
struct Choice {
    __align__(16) Order lowest[2][MOST_WARPS];  // of each group, of minus the gradients
    __align__(16) Order highest[2][MOST_WARPS];
    __align__(16) Order gain[MOST_WARPS];
    __align__(16) REAL gradient[2][PLACES];  // of this step and the last, which some still read
    __align__(16) REAL row[PLACES];
};

__device__ inline void load_row(const REAL* row, REAL (&values)[EACH]) {
#if REAL_IS_DOUBLE
#pragma unroll
    for (int e = 0; e < EACH; e += 2) {
        const double2 two = __ldg((const double2*)(row + e));
        values[e] = two.x, values[e + 1] = two.y;
    }
#else
#pragma unroll
    for (int e = 0; e < EACH; e += 4) {
        const float4 four = __ldg((const float4*)(row + e));
        values[e] = four.x, values[e + 1] = four.y;
        values[e + 2] = four.z, values[e + 3] = four.w;
    }
#endif
}

__device__ inline void store_row(REAL* row, const REAL (&values)[EACH]) {
#if REAL_IS_DOUBLE
#pragma unroll
    for (int e = 0; e < EACH; e += 2) *(double2*)(row + e) = {values[e], values[e + 1]};
#else
#pragma unroll
    for (int e = 0; e < EACH; e += 4)
        *(float4*)(row + e) = {values[e], values[e + 1], values[e + 2], values[e + 3]};
#endif
}

// The largest of the warps' numbers, as a floating-point number; every thread reads them all.
__device__ inline REAL best_of(const Order (&found)[MOST_WARPS]) {
    Order best[MOST_WARPS];
#pragma unroll
    for (int w = 0; w < MOST_WARPS; ++w) best[w] = found[w];
#pragma unroll
    for (int half = MOST_WARPS / 2; half; half /= 2)
#pragma unroll
        for (int w = 0; w < half; ++w) best[w] = max(best[w], best[w + half]);
    return as_real(turned(best[0]));
}

// Each warp offers its variable of group g of smallest gradient that may rise, and of largest that
// may fall.
template <int GROUPS>
__device__ inline void offer(const Own& own, int g, Order& lowest, Order& highest) {
    REAL low = -REAL(FAR), high = -REAL(FAR);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (GROUPS > 1 && !own.in_group(e, g)) continue;
        const int place = threadIdx.x * EACH + e;
        low = fmax(low, with_place(-own.gradient[e] - own.rise[e], place));
        high = fmax(high, with_place(own.gradient[e] + own.fall[e], place));
    }
    const Order least = most(turned(as_order(low))), top = most(turned(as_order(high)));
    if ((threadIdx.x & 31) == 0) lowest = least, highest = top;
}

// Each warp offers its best partner to fall while a variable of group g rises.
template <int GROUPS>
__device__ inline Order partner(const Own& own, int g, REAL gradient_i, REAL diagonal_i,
                                const REAL (&row_i)[EACH]) {
    REAL best = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const REAL difference = fmax(own.gradient[e] - gradient_i + own.fall[e], REAL(0));
        const REAL curvature = fma(REAL(-2), row_i[e], own.diagonal[e] + diagonal_i);
        const REAL gain =
            quotient(difference * difference, fmax(curvature, REAL(LEAST_CURVATURE)));
        if (GROUPS > 1 && !own.in_group(e, g)) continue;
        best = fmax(best, with_place(gain, threadIdx.x * EACH + e));
    }
    return most(as_order(best));
}

// A variable that its owner has moved, but not yet in the memory that the others still read.
struct Pending {
    int at = -1;
    double x;
    __device__ void write(Variables& all) {
        if (at >= 0) all.set(at, x);
        at = -1;
    }
    __device__ void keep(int where, double to, Own& own, const Variables& all) {
        at = where, x = to;
        own.refresh(where % EACH, to < all.upper[where], to > all.lower[where]);
    }
};

// The owners of i and j move them by as much, to the very bound if that ends the step.
__device__ inline void move_pair(int i, int j, REAL by, Own& own, const Variables& all,
                                 Pending& risen, Pending& fallen) {
    const bool rises = i / EACH == threadIdx.x, falls = j / EACH == threadIdx.x;
    if (!rises && !falls) return;
    const double room_i = all.upper[i] - all.x[i], room_j = all.x[j] - all.lower[j];
    double step = by;
    if (by == all.up[i]) step = by == all.down[j] ? fmin(room_i, room_j) : room_i;
    else if (by == all.down[j]) step = room_j;
    if (rises) risen.keep(i, step == room_i ? all.upper[i] : all.x[i] + step, own, all);
    if (falls) fallen.keep(j, step == room_j ? all.lower[j] : all.x[j] - step, own, all);
}

// Steps until the violation is at most `tolerance` or there have been `limit`; returns the
// violation, and how many steps there were.
template <int GROUPS>
__device__ REAL take_steps(Own& own, Variables& all, Choice& shared, const REAL* kernel, int size,
                           REAL tolerance, int limit, int& steps, int& negative) {
    const int first = threadIdx.x * EACH, warp = threadIdx.x >> 5;
    const unsigned pitch = size;
    const REAL* mine = kernel + first;
    Pending risen, fallen;
    if (threadIdx.x < MOST_WARPS) {  // there may be fewer warps
        for (int g = 0; g < GROUPS; ++g)
            shared.lowest[g][threadIdx.x] = shared.highest[g][threadIdx.x] =
                turned(as_order(-REAL(FAR)));
        shared.gain[threadIdx.x] = 0;
    }
    __syncthreads();
    REAL violation = 0;
    for (int now = 0;; now ^= 1) {
        store_row(shared.gradient[now] + first, own.gradient);
        for (int g = 0; g < GROUPS; ++g)
            offer<GROUPS>(own, g, shared.lowest[g][warp], shared.highest[g][warp]);
        __syncthreads();
        REAL lowest = best_of(shared.lowest[0]);
        violation = lowest + best_of(shared.highest[0]);
        int g = 0;
        if (GROUPS > 1) {
            const REAL other = best_of(shared.lowest[GROUPS - 1]);
            const REAL reach = other + best_of(shared.highest[GROUPS - 1]);
            if (reach > violation) g = 1, lowest = other, violation = reach;
        }
        if (!(violation > tolerance) || steps >= limit) break;
        const unsigned i = as_order(lowest) & PLACE_BITS;
        REAL row_i[EACH], row_j[EACH];
        load_row(mine + (unsigned long long)i * pitch, row_i);
        risen.write(all), fallen.write(all);
        const REAL gradient_i = shared.gradient[now][i], diagonal_i = all.diagonal[i];
        const Order gain = partner<GROUPS>(own, g, gradient_i, diagonal_i, row_i);
        store_row(shared.row + first, row_i);
        if ((threadIdx.x & 31) == 0) shared.gain[warp] = gain;
        __syncthreads();
        const Order best = as_order(best_of(shared.gain));
        if (!(best & ~Order(PLACE_BITS))) break;
        const unsigned j = best & PLACE_BITS;
        load_row(mine + (unsigned long long)j * pitch, row_j);
        const REAL curvature = fma(REAL(-2), shared.row[j], all.diagonal[j] + diagonal_i);
        const REAL wanted = quotient(shared.gradient[now][j] - gradient_i,
                                     fmax(curvature, REAL(LEAST_CURVATURE)));
        const REAL by = fmin(wanted, fmin(all.up[i], all.down[j]));
        if (curvature < REAL(-1e-6) * fabs(diagonal_i)) negative = 1;
        move_pair(i, j, by, own, all, risen, fallen);
#pragma unroll
        for (int e = 0; e < EACH; ++e) own.gradient[e] += by * (row_i[e] - row_j[e]);
        ++steps;
    }
    risen.write(all), fallen.write(all);
    __syncthreads();
    return fmax(violation, REAL(0));
}
