// The quadratic program of one block, solved by sequential minimal optimisation in one thread
// block; the twin of cpp/solve/block_qp.hpp, where problem and paper are stated.
//   Step: i is the variable of smallest gradient that may rise, j the one that may fall for which
//   the pair promises the largest decrease; the pair moves to its minimum.
// Each thread keeps EACH variables: gradients in registers, the rest in shared memory where only
// the thread itself touches it. A choice is one reduction inside each warp and one over the
// warps' candidates, which come with all that the step must know of them, so that a step costs two
// barriers and the reading of two rows of the block's kernel matrix. The fewer instructions between
// two barriers the better: which variable it was is asked of the winner alone, quotients are as
// exact as a choice needs, and double precision is left to the variables themselves.

#define LEAST_CURVATURE 1e-12
#define PLACES (MOST_WARPS * 32 * EACH)

#if REAL_IS_DOUBLE
typedef Key RealKey;
__device__ inline REAL quotient(REAL a, REAL b) { return a / b; }
#else
typedef unsigned RealKey;
__device__ inline REAL quotient(REAL a, REAL b) {
    REAL inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
}
#endif

// What a warp tells of its best variable to rise, and of its best partner to fall.
struct __align__(16) Riser {
    int at;
    REAL diagonal;
    double room;
};
struct __align__(16) Faller {
    int at;
    REAL difference, curvature;
    double room;
};
struct Rising {
    __align__(16) RealKey key[MOST_WARPS];
    Riser best[MOST_WARPS];
};
struct Falling {
    __align__(16) RealKey gain[MOST_WARPS];
    __align__(16) RealKey highest[MOST_WARPS];
    Faller best[MOST_WARPS];
};

// The block's variables, by place.
struct Variables {
    double x[PLACES], lower[PLACES], upper[PLACES];
    REAL diagonal[PLACES];
};

// What a thread holds of its own variables; bit e of a mask tells of variable e.
struct Own {
    REAL gradient[EACH], diagonal[EACH];
    unsigned rises, falls;  // which may rise or fall
    unsigned second;        // which belong to the second group

    __device__ unsigned of_group(int g) const { return g ? second : ~second; }
    __device__ void refresh(const Variables& all, int at) {
        const unsigned bit = 1u << at % EACH;
        rises = all.x[at] < all.upper[at] ? rises | bit : rises & ~bit;
        falls = all.x[at] > all.lower[at] ? falls | bit : falls & ~bit;
    }
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

// The largest of the warps' keys and the first warp that has it; every thread reads them all.
__device__ inline RealKey best_of(const RealKey (&keys)[MOST_WARPS], int& from) {
    RealKey best[MOST_WARPS];
    int warps[MOST_WARPS];
#pragma unroll
    for (int w = 0; w < MOST_WARPS; ++w) best[w] = keys[w], warps[w] = w;
#pragma unroll
    for (int half = MOST_WARPS / 2; half; half /= 2)
#pragma unroll
        for (int w = 0; w < half; ++w) {
            const bool other = best[w + half] > best[w];
            best[w] = other ? best[w + half] : best[w];
            warps[w] = other ? warps[w + half] : warps[w];
        }
    from = warps[0];
    return best[0];
}

__device__ inline REAL lowest_of(const Own& own, unsigned may) {
    REAL lowest = INFINITE_REAL;
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        lowest = fmin(lowest, may >> e & 1 ? own.gradient[e] : INFINITE_REAL);
    return lowest;
}

// How far the gradients of the warp reach that may fall.
__device__ inline RealKey highest_of(const Own& own, unsigned may) {
    REAL highest = -INFINITE_REAL;
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        highest = fmax(highest, may >> e & 1 ? own.gradient[e] : -INFINITE_REAL);
    return largest(ordered(highest));
}

// Each warp offers its best variable to rise.
__device__ inline void offer(const Own& own, int g, const Variables& all, Rising& shared) {
    const unsigned may = own.rises & own.of_group(g);
    const REAL lowest = lowest_of(own, may);
    const RealKey key = ~ordered(lowest), top = largest(key);  // of -lowest
    if ((threadIdx.x & 31) != lane_of(key, top)) return;
    int at = threadIdx.x * EACH;
#pragma unroll
    for (int e = 1; e < EACH; ++e)
        if ((may >> e & 1) && own.gradient[e] == lowest) at = threadIdx.x * EACH + e;
    const int warp = threadIdx.x >> 5;
    shared.key[warp] = top;
    shared.best[warp] = {at, all.diagonal[at], all.upper[at] - all.x[at]};
}

// Each warp offers its best partner to fall while a variable of group g rises, whose kernel row is
// at `row`, and tells how far its gradients reach that may fall.
__device__ inline void offer_partner(const Own& own, int g, REAL gradient_i, REAL diagonal_i,
                                     const REAL* row, REAL (&row_i)[EACH], const Variables& all,
                                     Falling& shared) {
    load_row(row, row_i);
    const unsigned may = own.falls & own.of_group(g);
    const RealKey highest = highest_of(own, may);
    REAL gains[EACH], gain = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const REAL difference = own.gradient[e] - gradient_i;
        const REAL curvature = own.diagonal[e] + diagonal_i - 2 * row_i[e];
        gains[e] = quotient(difference * difference, fmax(curvature, REAL(LEAST_CURVATURE)));
        gains[e] = (may >> e & 1) && difference > 0 ? gains[e] : REAL(0);
        gain = fmax(gain, gains[e]);
    }
    const RealKey key = ordered(gain), top = largest(key);
    if ((threadIdx.x & 31) != lane_of(key, top)) return;
    int best = 0;
    REAL gradient = own.gradient[0], value = row_i[0];
#pragma unroll
    for (int e = 1; e < EACH; ++e)
        if (gains[e] == gain) best = e, gradient = own.gradient[e], value = row_i[e];
    const int warp = threadIdx.x >> 5, at = threadIdx.x * EACH + best;
    shared.gain[warp] = top;
    shared.highest[warp] = highest;
    shared.best[warp] = {at, gradient - gradient_i, all.diagonal[at] + diagonal_i - 2 * value,
                         all.x[at] - all.lower[at]};
}

// The group of the two whose extremes are further apart; the first if there is one group only.
template <int GROUPS>
__device__ inline int worst_group(const Rising (&rising)[GROUPS],
                                  RealKey (&highest)[2][MOST_WARPS]) {
    if (GROUPS < 2) return 0;
    REAL reach[2];
    for (int g = 0; g < GROUPS; ++g) {
        int from;
        const RealKey rises = best_of(rising[g].key, from), falls = best_of(highest[g], from);
        reach[g] = value_of(falls) + value_of(rises);
    }
    return reach[1] > reach[0];
}

// Steps until the violation is at most `tolerance` or `limit` is reached; returns the violation.
template <int GROUPS>
__device__ double take_steps(Own& own, Variables& all, const REAL* kernel, int size,
                             REAL tolerance, long long limit, long long& iterations,
                             int& negative) {
    __shared__ Rising rising[GROUPS];
    __shared__ Falling falling;
    __shared__ RealKey highest[2][MOST_WARPS];  // of two groups, to choose between them
    const int first = threadIdx.x * EACH;
    if (threadIdx.x < MOST_WARPS) {  // there may be fewer warps
        for (int g = 0; g < GROUPS; ++g) rising[g].key[threadIdx.x] = highest[g][threadIdx.x] = 0;
        falling.gain[threadIdx.x] = falling.highest[threadIdx.x] = 0;
    }
    __syncthreads();
    while (true) {
        for (int g = 0; g < GROUPS; ++g) {
            offer(own, g, all, rising[g]);
            if (GROUPS > 1) {
                const RealKey reach = highest_of(own, own.falls & own.of_group(g));
                if ((threadIdx.x & 31) == 0) highest[g][threadIdx.x >> 5] = reach;
            }
        }
        __syncthreads();
        const int g = worst_group<GROUPS>(rising, highest);
        int from, with;
        const REAL gradient_i = -value_of(best_of(rising[g].key, from));
        const Riser riser = rising[g].best[from];
        REAL row_i[EACH], row_j[EACH];
        offer_partner(own, g, gradient_i, riser.diagonal, kernel + (size_t)riser.at * size + first,
                      row_i, all, falling);
        __syncthreads();
        const REAL gain = value_of(best_of(falling.gain, with));
        const Faller faller = falling.best[with];
        load_row(kernel + (size_t)faller.at * size + first, row_j);
        const REAL violation = value_of(best_of(falling.highest, from)) - gradient_i;
        if (!(violation > tolerance) || !(gain > 0) || iterations >= limit)
            return violation > 0 ? (double)violation : 0.0;
        if (faller.curvature < REAL(-1e-6) * fabs(riser.diagonal)) negative = 1;
        const double wanted =
            quotient(faller.difference, fmax(faller.curvature, REAL(LEAST_CURVATURE)));
        const double step = fmin(wanted, fmin(riser.room, faller.room));
        if (riser.at / EACH == threadIdx.x) {
            double& x = all.x[riser.at];
            x = step == riser.room ? all.upper[riser.at] : x + step;
            own.refresh(all, riser.at);
        }
        if (faller.at / EACH == threadIdx.x) {
            double& x = all.x[faller.at];
            x = step == faller.room ? all.lower[faller.at] : x - step;
            own.refresh(all, faller.at);
        }
        const REAL by = REAL(step);
#pragma unroll
        for (int e = 0; e < EACH; ++e) own.gradient[e] += by * (row_i[e] - row_j[e]);
        ++iterations;
    }
}
