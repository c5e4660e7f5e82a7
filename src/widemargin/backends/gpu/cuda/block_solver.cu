// The quadratic program of one block, solved by sequential minimal optimisation in one thread
// block; the twin of cpp/solve/block_qp.hpp, where problem and paper are stated.
//   Step: i is the variable of smallest gradient that may rise, j the one that may fall for which
//   the pair promises the largest decrease; the pair moves to its minimum.
// Each thread keeps EACH variables in registers. A choice is one reduction inside each warp and one
// over the warps' candidates, which come with all that the step must know of them, so that a step
// costs two barriers and the reading of two rows of the block's kernel matrix. What does not depend
// on a row is computed while it is on its way, and quotients are as exact as a choice needs.

#define LEAST_CURVATURE 1e-12

#if REAL_IS_DOUBLE
typedef Key RealKey;
__device__ inline REAL quotient(REAL a, REAL b) { return a / b; }
#else
typedef unsigned RealKey;
__device__ inline REAL quotient(REAL a, REAL b) { return __fdividef(a, b); }
#endif

struct Rising {
    RealKey key[MOST_WARPS];
    int at[MOST_WARPS];
    REAL diagonal[MOST_WARPS];
    double room[MOST_WARPS];
};

struct Falling {
    RealKey gain[MOST_WARPS], highest[MOST_WARPS];
    int at[MOST_WARPS];
    REAL gradient[MOST_WARPS], diagonal[MOST_WARPS], value[MOST_WARPS];
    double room[MOST_WARPS];
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

// Each warp offers its best variable to rise.
__device__ inline void offer(const Own& own, int g, Rising& shared) {
    const unsigned may = own.rises & own.of_group(g);
    RealKey key = 0;
    int best = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const RealKey mine = may >> e & 1 ? ~ordered(own.gradient[e]) : 0;  // ordered(-gradient)
        if (mine > key) key = mine, best = e;
    }
    const RealKey top = largest(key);
    if ((threadIdx.x & 31) == lane_of(key, top)) {
        const int warp = threadIdx.x >> 5;
        shared.key[warp] = top;
        shared.at[warp] = threadIdx.x * EACH + best;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            if (e == best) {
                shared.diagonal[warp] = own.diagonal[e];
                shared.room[warp] = own.upper[e] - own.x[e];
            }
    }
}

// How far the thread's gradients reach that may fall.
__device__ inline RealKey highest_of(const Own& own, unsigned may) {
    RealKey highest = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (may >> e & 1) highest = max(highest, ordered(own.gradient[e]));
    return largest(highest);
}

// Each warp offers its best partner to fall while a variable of group g rises, whose kernel row is
// at `row`, and tells how far its gradients reach that may fall.
__device__ inline void offer_partner(const Own& own, int g, REAL gradient_i, REAL diagonal_i,
                                     const REAL* row, REAL (&row_i)[EACH], Falling& shared) {
    load_row(row, row_i);
    const unsigned may = own.falls & own.of_group(g);
    const RealKey highest = highest_of(own, may);
    RealKey gain = 0;
    int best = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const REAL difference = own.gradient[e] - gradient_i;
        const REAL curvature = own.diagonal[e] + diagonal_i - 2 * row_i[e];
        const REAL decrease = quotient(difference * difference,
                                       fmax(curvature, REAL(LEAST_CURVATURE)));
        const RealKey mine = (may >> e & 1) && difference > 0 ? ordered(decrease) : 0;
        if (mine > gain) gain = mine, best = e;
    }
    const RealKey top = largest(gain);
    if ((threadIdx.x & 31) == lane_of(gain, top)) {
        const int warp = threadIdx.x >> 5;
        shared.gain[warp] = top;
        shared.highest[warp] = highest;
        shared.at[warp] = threadIdx.x * EACH + best;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            if (e == best) {
                shared.gradient[warp] = own.gradient[e];
                shared.diagonal[warp] = own.diagonal[e];
                shared.value[warp] = row_i[e];
                shared.room[warp] = own.x[e] - own.lower[e];
            }
    }
}

// The group of the two whose extremes are further apart; the first if there is one group only.
template <int GROUPS>
__device__ inline int worst_group(const Own& own, const Rising (&rising)[GROUPS],
                                  RealKey (&highest)[2][MOST_WARPS], int warps) {
    if (GROUPS == 1) return 0;
    const int lane = threadIdx.x & 31;
    REAL reach[2] = {-1, -1};
    for (int g = 0; g < GROUPS; ++g) {
        const RealKey rises = largest(lane < warps ? rising[g].key[lane] : RealKey(0));
        const RealKey falls = largest(lane < warps ? highest[g][lane] : RealKey(0));
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
    const int lane = threadIdx.x & 31, warps = blockDim.x >> 5, first = threadIdx.x * EACH;
    while (true) {
        for (int g = 0; g < GROUPS; ++g) {
            offer(own, g, rising[g]);
            if (GROUPS > 1) {
                const RealKey reach = highest_of(own, own.falls & own.of_group(g));
                if (lane == 0) highest[g][threadIdx.x >> 5] = reach;
            }
        }
        __syncthreads();
        const int g = worst_group<GROUPS>(own, rising, highest, warps);
        const RealKey offered = lane < warps ? rising[g].key[lane] : RealKey(0);
        const RealKey lowest = largest(offered);
        if (!lowest) return 0;
        const int from = lane_of(offered, lowest), i = rising[g].at[from];
        const REAL gradient_i = -value_of(lowest), diagonal_i = rising[g].diagonal[from];
        const double room_i = rising[g].room[from];
        REAL row_i[EACH], row_j[EACH];
        offer_partner(own, g, gradient_i, diagonal_i, kernel + (size_t)i * size + first, row_i,
                      falling);
        __syncthreads();
        const RealKey gains = lane < warps ? falling.gain[lane] : RealKey(0);
        const RealKey gain = largest(gains);
        const int with = lane_of(gains, gain), j = falling.at[with];
        load_row(kernel + (size_t)j * size + first, row_j);
        const RealKey reach = largest(lane < warps ? falling.highest[lane] : RealKey(0));
        const REAL violation = reach ? value_of(reach) - gradient_i : REAL(0);
        if (!(violation > tolerance) || !gain || iterations >= limit)
            return violation > 0 ? (double)violation : 0.0;
        const double curvature = (double)diagonal_i + (double)falling.diagonal[with] -
                                 2.0 * (double)falling.value[with];
        if (curvature < -1e-6 * fabs((double)diagonal_i)) negative = 1;
        const double wanted = quotient(falling.gradient[with] - gradient_i,
                                       fmax(REAL(curvature), REAL(LEAST_CURVATURE)));
        const double room_j = falling.room[with];
        const double step = fmin(wanted, fmin(room_i, room_j));
        if (i / EACH == threadIdx.x || j / EACH == threadIdx.x) {
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                if (first + e == i) own.x[e] = step == room_i ? own.upper[e] : own.x[e] + step;
                if (first + e == j) own.x[e] = step == room_j ? own.lower[e] : own.x[e] - step;
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
