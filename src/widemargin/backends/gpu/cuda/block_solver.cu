// One launch for one block: its variables are read, `take_steps` solves its problem, and the moves
// are written one after the other.

// Writes the variables that moved: their rows and moves one after the other, in order of the block.
__device__ void keep_moves(const Variables& all, const Box& box, const int* block,
                           int* moved_rows, double* moves, Result* result) {
    __shared__ int before[MOST_WARPS + 1];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    double move[EACH];
    int count = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = threadIdx.x * EACH + e, t = block[at];
        move[e] = t < 0 ? 0.0 : all.x[at] - box.x[t];
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
            const int at = threadIdx.x * EACH + e, t = block[at];
            box.x[t] = all.x[at];
            moved_rows[place] = box.row(t);
            moves[place++] = move[e];
        }
}

// Reads the block's variables; what is taken off the gradients of each group changes no pair.
__device__ void read_variables(Own& own, Variables& all, const Box& box, const int* block,
                               const REAL* diagonal, double first, double second) {
    own.second = 0;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = threadIdx.x * EACH + e, t = block[at];
        const bool other = t >= 0 && box.group[t];
        own.second |= unsigned(other) << e;
        own.gradient[e] = t < 0 ? REAL(0) : REAL(box.gradient(t) - (other ? second : first));
        own.diagonal[e] = all.diagonal[at] = t < 0 ? REAL(1) : diagonal[box.row(t)];
        all.x[at] = t < 0 ? 0.0 : box.x[t];
        all.lower[at] = t < 0 ? 0.0 : box.lower[t];
        all.upper[at] = t < 0 ? 0.0 : box.upper[t];
        all.set(at, all.x[at]);
        own.set_limits(e, all.up[at] > 0, all.down[at] > 0);
    }
}

// Solves the block whose variables are `block`, -1 where there is none. `reach` tells where the
// outermost gradients of all variables are, two keys a group; then the tolerance is `share` of the
// violation, at least `tolerance`, and nothing is done once the violation is at most `enough`.
// Without it the tolerance is as given. All rounds together make at most `limit` steps, one block
// at most `steps`.
extern "C" __global__ void __launch_bounds__(MOST_WARPS * 32, 1)
solve_block(const REAL* kernel, int size, const int* block, const REAL* diagonal, const Box* given,
            int groups, const Key* reach, Key* next_reach, double share, double tolerance,
            double enough, long long limit, long long steps, int* moved_rows, double* moves,
            Result* result) {
    const Box box = *given;
    extern __shared__ __align__(16) unsigned char scratch[];  // `device.py` tells how much
    Variables& all = *(Variables*)scratch;
    Choice& choice = *(Choice*)(scratch + sizeof(Variables));
    Own own;
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
    read_variables(own, all, box, block, diagonal, middle[0], middle[1]);
    const long long before = result->iterations;
    const int most_steps = (int)min(min(limit - before, steps), 0x7fffffffll);
    int taken = 0, negative = result->negative;
    __syncthreads();  // all have read the result before it changes
    double violation = 0;
    if (needed && groups == 1)
        violation = take_steps<1>(own, all, choice, kernel, size, tolerance, most_steps, taken,
                                  negative);
    else if (needed)
        violation = take_steps<2>(own, all, choice, kernel, size, tolerance, most_steps, taken,
                                  negative);
    keep_moves(all, box, block, moved_rows, moves, result);
    if (threadIdx.x == 0) {
        if (needed) {
            result->violation = violation;
            result->iterations = before + taken;
            result->exhausted = taken >= steps && violation > tolerance;
            result->rounds += 1;
        }
        result->negative = negative;
        if (next_reach)
            for (int k = 0; k < 2 * groups; ++k) next_reach[k] = 0;
    }
}
