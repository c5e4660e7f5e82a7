// The quadratic program of one block, solved by sequential minimal optimisation in one thread
// block; the twin of cpp/solve/block_qp.hpp, where problem and paper are stated.
//   Step: i is the variable of smallest gradient that may rise, j the one that may fall for which
//   the pair promises the largest decrease; the pair moves to its minimum.
// Each thread keeps EACH variables in registers. A choice is one reduction inside each warp and one
// over the warps' candidates, which come with all that the step must know of them, so that a step
// costs two barriers and the reading of two rows of the block's kernel matrix. It is a chain of
// latencies: what does not depend on a row is computed while it is on its way, quotients are as
// exact as a choice needs, and double precision is left to the variables themselves.

#define LEAST_CURVATURE 1e-12

#if REAL_IS_DOUBLE
typedef Key RealKey;
__device__ inline REAL quotient(REAL a, REAL b) { return a / b; }
#else
typedef unsigned RealKey;
__device__ inline REAL quotient(REAL a, REAL b) { return __fdividef(a, b); }
#endif

// What a warp tells of its best variable to rise, and of its best partner to fall.
struct __align__(16) Riser {
    int at;
    REAL diagonal;
    double room;
};
struct __align__(16) Faller {
    int at;
    REAL gradient, curvature;
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

// The thread's own variables; bit e of a mask tells of variable e.
struct Own {
    REAL gradient[EACH], diagonal[EACH];
    double x[EACH], lower[EACH], upper[EACH];
    int variable[EACH];
    unsigned rises, falls;  // which may rise or fall
    unsigned second;        // which belong to the second group

    __device__ unsigned of_group(int g) const { return g ? second : ~second; }
    __device__ void refresh(int e) {
        const unsigned bit = 1u << e;
        rises = x[e] < upper[e] ? rises | bit : rises & ~bit;
        falls = x[e] > lower[e] ? falls | bit : falls & ~bit;
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
    RealKey best = keys[0];
    from = 0;
#pragma unroll
    for (int warp = 1; warp < MOST_WARPS; ++warp) {
        const RealKey key = keys[warp];
        from = key > best ? warp : from;
        best = max(best, key);
    }
    return best;
}

// Each warp offers its best variable to rise.
__device__ inline void offer(const Own& own, int g, Rising& shared) {
    const unsigned may = own.rises & own.of_group(g);
    REAL lowest = 0;
    int best = -1;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const bool better = (may >> e & 1) && (best < 0 || own.gradient[e] < lowest);
        lowest = better ? own.gradient[e] : lowest;
        best = better ? e : best;
    }
    const RealKey key = best < 0 ? 0 : ~ordered(lowest);  // of -lowest
    const RealKey top = largest(key);
    if ((threadIdx.x & 31) != lane_of(key, top)) return;
    const int warp = threadIdx.x >> 5;
    Riser mine = {int(threadIdx.x) * EACH + best, 0, 0};
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e == best) mine.diagonal = own.diagonal[e], mine.room = own.upper[e] - own.x[e];
    shared.key[warp] = top;
    shared.best[warp] = mine;
}

// How far the gradients of the warp reach that may fall.
__device__ inline RealKey highest_of(const Own& own, unsigned may) {
    REAL highest = 0;
    bool some = false;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const bool higher = (may >> e & 1) && (!some || own.gradient[e] > highest);
        highest = higher ? own.gradient[e] : highest;
        some = some || higher;
    }
    return largest(some ? ordered(highest) : RealKey(0));
}

// Each warp offers its best partner to fall while a variable of group g rises, whose kernel row is
// at `row`, and tells how far its gradients reach that may fall.
__device__ inline void offer_partner(const Own& own, int g, REAL gradient_i, REAL diagonal_i,
                                     const REAL* row, REAL (&row_i)[EACH], Falling& shared) {
    load_row(row, row_i);
    const unsigned may = own.falls & own.of_group(g);
    const RealKey highest = highest_of(own, may);
    REAL gain = 0, curvature = 0;
    int best = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const REAL difference = own.gradient[e] - gradient_i;
        const REAL bent = own.diagonal[e] + diagonal_i - 2 * row_i[e];
        const REAL decrease = quotient(difference * difference, fmax(bent, REAL(LEAST_CURVATURE)));
        const bool better = (may >> e & 1) && difference > 0 && decrease > gain;
        gain = better ? decrease : gain;
        curvature = better ? bent : curvature;
        best = better ? e : best;
    }
    const RealKey key = gain > 0 ? ordered(gain) : RealKey(0), top = largest(key);
    if ((threadIdx.x & 31) != lane_of(key, top)) return;
    const int warp = threadIdx.x >> 5;
    Faller mine = {int(threadIdx.x) * EACH + best, 0, curvature, 0};
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e == best) mine.gradient = own.gradient[e], mine.room = own.x[e] - own.lower[e];
    shared.gain[warp] = top;
    shared.highest[warp] = highest;
    shared.best[warp] = mine;
}

// The group of the two whose extremes are further apart; the first if there is one group only.
template <int GROUPS>
__device__ inline int worst_group(const Rising (&rising)[GROUPS],
                                  RealKey (&highest)[2][MOST_WARPS]) {
    if (GROUPS == 1) return 0;
    REAL reach[2] = {-1, -1};
    for (int g = 0; g < GROUPS; ++g) {
        int from;
        const RealKey rises = best_of(rising[g].key, from), falls = best_of(highest[g], from);
        if (rises && falls) reach[g] = value_of(falls) + value_of(rises);
    }
    return reach[1] > reach[0];
}

// Steps until the violation is at most `tolerance` or `limit` is reached; returns the violation.
template <int GROUPS>
__device__ double take_steps(Own& own, const REAL* kernel, int size, REAL tolerance,
                             long long limit, long long& iterations, int& negative) {
    __shared__ Rising rising[GROUPS];
    __shared__ Falling falling;
    __shared__ RealKey highest[2][MOST_WARPS];  // of two groups, to choose between them
    const int warp = threadIdx.x >> 5, first = threadIdx.x * EACH;
    if (threadIdx.x < MOST_WARPS) {  // there may be fewer warps
        for (int g = 0; g < GROUPS; ++g) rising[g].key[threadIdx.x] = highest[g][threadIdx.x] = 0;
        falling.gain[threadIdx.x] = falling.highest[threadIdx.x] = 0;
    }
    __syncthreads();
    while (true) {
        for (int g = 0; g < GROUPS; ++g) {
            offer(own, g, rising[g]);
            if (GROUPS > 1) {
                const RealKey reach = highest_of(own, own.falls & own.of_group(g));
                if ((threadIdx.x & 31) == 0) highest[g][warp] = reach;
            }
        }
        __syncthreads();
        const int g = worst_group<GROUPS>(rising, highest);
        int from, with;
        const RealKey lowest = best_of(rising[g].key, from);
        if (!lowest) return 0;
        const Riser riser = rising[g].best[from];
        const int i = riser.at;
        const REAL gradient_i = -value_of(lowest);
        REAL row_i[EACH], row_j[EACH];
        offer_partner(own, g, gradient_i, riser.diagonal, kernel + (size_t)i * size + first, row_i,
                      falling);
        __syncthreads();
        const RealKey gain = best_of(falling.gain, with);
        const Faller faller = falling.best[with];
        const int j = faller.at;
        load_row(kernel + (size_t)j * size + first, row_j);
        const RealKey reach = best_of(falling.highest, from);
        const REAL violation = reach ? value_of(reach) - gradient_i : REAL(0);
        if (!(violation > tolerance) || !gain || iterations >= limit)
            return violation > 0 ? (double)violation : 0.0;
        if (faller.curvature < REAL(-1e-6) * fabs(riser.diagonal)) negative = 1;
        const double wanted = quotient(faller.gradient - gradient_i,
                                       fmax(faller.curvature, REAL(LEAST_CURVATURE)));
        const double step = fmin(wanted, fmin(riser.room, faller.room));
        if (i / EACH == threadIdx.x || j / EACH == threadIdx.x) {
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                if (first + e == i) own.x[e] = step == riser.room ? own.upper[e] : own.x[e] + step;
                if (first + e == j) own.x[e] = step == faller.room ? own.lower[e] : own.x[e] - step;
                own.refresh(e);
            }
        }
        const REAL by = REAL(step);
#pragma unroll
        for (int e = 0; e < EACH; ++e) own.gradient[e] += by * (row_i[e] - row_j[e]);
        ++iterations;
    }
}

// Writes the variables that moved: their rows and moves one after the other, in order of the block.
__device__ void keep_moves(const Own& own, const Box& box, int* moved_rows, double* moves,
                           Result* result) {
    __shared__ int before[MOST_WARPS + 1];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    double move[EACH];
    int count = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        move[e] = own.variable[e] < 0 ? 0.0 : own.x[e] - box.x[own.variable[e]];
        count += move[e] != 0;
    }
    int place = count;
    for (int by = 1; by < 32; by *= 2) {
        const int left = __shfl_up_sync(EVERY_LANE, place, by);
        if (lane >= by) place += left;
    }
    if (lane == 31) before[warp + 1] = place;
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int w = 1; w <= warps; ++w) before[w] += before[w - 1];
        result->moved = before[warps];
    }
    __syncthreads();
    place += before[warp] - count;
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (move[e] != 0) {
            const int t = own.variable[e];
            box.x[t] = own.x[e];
            moved_rows[place] = box.row(t);
            moves[place++] = move[e];
        }
}

// Solves the block whose variables are `block`, -1 where there is none. `reach` tells where the
// outermost gradients of all variables are, two keys a group; then the tolerance is `share` of the
// violation, at least `tolerance`, and nothing is done once the violation is at most `enough`.
// Without it the tolerance is as given. All rounds together make at most `limit` steps, one block at
// most `steps`.
extern "C" __global__ void __launch_bounds__(MOST_WARPS * 32)
solve_block(const REAL* kernel, int size, const int* block, const REAL* diagonal, const Box* given,
            int groups, const Key* reach, Key* next_reach, double share, double tolerance,
            double enough, long long limit, long long steps, int* moved_rows, double* moves,
            Result* result) {
    const Box box = *given;
    Own own;
    own.rises = own.falls = own.second = 0;
    double middle[2] = {0, 0};
    bool needed = result->iterations < limit && !result->exhausted;
    if (reach) {
        double violation = 0;
        for (int g = 0; g < groups; ++g) {
            if (!reach[2 * g] || !reach[2 * g + 1]) continue;
            const double low = -value_of(reach[2 * g]), high = value_of(reach[2 * g + 1]);
            violation = fmax(violation, high - low);
            middle[g] = 0.5 * (low + high);  // changes no pair, and saves digits
        }
        needed = needed && violation > enough;
        tolerance = fmax(share * violation, tolerance);
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int t = block[threadIdx.x * EACH + e];
        const bool second = t >= 0 && box.group[t];
        own.variable[e] = t;
        own.second |= unsigned(second) << e;
        own.gradient[e] = t < 0 ? REAL(0) : REAL(box.gradient(t) - (second ? middle[1] : middle[0]));
        own.diagonal[e] = t < 0 ? REAL(1) : diagonal[box.row(t)];
        own.x[e] = t < 0 ? 0.0 : box.x[t];
        own.lower[e] = t < 0 ? 0.0 : box.lower[t];
        own.upper[e] = t < 0 ? 0.0 : box.upper[t];
        own.refresh(e);
    }
    const long long before = result->iterations;
    limit = min(limit, before + steps);
    long long iterations = before;
    int negative = result->negative;
    __syncthreads();  // all have read the result before it changes
    double violation = 0;
    if (needed && groups == 1)
        violation = take_steps<1>(own, kernel, size, tolerance, limit, iterations, negative);
    else if (needed)
        violation = take_steps<2>(own, kernel, size, tolerance, limit, iterations, negative);
    keep_moves(own, box, moved_rows, moves, result);
    if (threadIdx.x == 0) {
        if (needed) {
            result->violation = violation;
            result->iterations = iterations;
            result->exhausted = iterations - before >= steps && violation > tolerance;
            result->rounds += 1;
        }
        result->negative = negative;
        if (next_reach)
            for (int k = 0; k < 2 * groups; ++k) next_reach[k] = 0;
    }
}
