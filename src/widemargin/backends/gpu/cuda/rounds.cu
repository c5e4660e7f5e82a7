// What makes a whole round of block decomposition together with `solve_block`, so that the host
// need not look in between: the choice of a block, its kernel matrix, and the update of outputs.

// Chooses the next block. Half of it are the variables that came last; for the other half the
// variables are dealt out to segments, and each segment sends the one that most should rise and the
// one that most should fall. Unlike the worst of all, these are rarely copies of one another, and
// no sorting is needed. `entered` says in which round a variable came.
extern "C" __global__ void choose_block(const Box* given, const Key* reach, int groups,
                                        const int* previous, int* block, int size, int lanes,
                                        int* entered, int round) {
    const Box box = *given;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int segments = size / 4, segment = thread / lanes;
    if (segment >= segments) return;  // whole warps, for 32 divides segments * lanes
    double low[2], high[2];
    for (int g = 0; g < groups; ++g) {
        const bool open = reach[2 * g] && reach[2 * g + 1];
        low[g] = open ? -value_of(reach[2 * g]) : 0.0;
        high[g] = open ? value_of(reach[2 * g + 1]) : 0.0;
    }
    Key rises = 0, falls = 0;
    int rises_at = -1, falls_at = -1;
#pragma unroll 4
    for (int t = thread; t < box.variables; t += segments * lanes) {
        const int g = box.group[t], last = entered[t];
        const double gradient = box.gradient(t), x = box.x[t], top = box.upper[t];
        const double bottom = box.lower[t];  // all are read side by side
        const bool may_rise = last != round - 1 && x < top && gradient < high[g];
        const bool may_fall = last != round - 1 && x > bottom && gradient > low[g];
        const bool rather_rises = !may_fall || gradient - low[g] <= high[g] - gradient;
        if (may_rise && rather_rises) {
            const Key depth = ordered(high[g] - gradient);
            if (depth > rises) rises = depth, rises_at = t;
        } else if (may_fall) {
            const Key depth = ordered(gradient - low[g]);
            if (depth > falls) falls = depth, falls_at = t;
        }
    }
    for (int by = lanes / 2; by; by /= 2) {
        const Key other_rises = __shfl_down_sync(EVERY_LANE, rises, by, lanes);
        const int other_rises_at = __shfl_down_sync(EVERY_LANE, rises_at, by, lanes);
        if (other_rises > rises) rises = other_rises, rises_at = other_rises_at;
        const Key other_falls = __shfl_down_sync(EVERY_LANE, falls, by, lanes);
        const int other_falls_at = __shfl_down_sync(EVERY_LANE, falls_at, by, lanes);
        if (other_falls > falls) falls = other_falls, falls_at = other_falls_at;
    }
    if (thread % lanes) return;
    const int place = 4 * segment;  // so that each warp of the solver has some of every kind
    block[place] = previous[place + 2];
    block[place + 1] = previous[place + 3];
    block[place + 2] = rises_at;
    block[place + 3] = falls_at;
    if (rises_at >= 0) entered[rises_at] = round;
    if (falls_at >= 0) entered[falls_at] = round;
}

// The kernel matrix of the block, from that of all rows of the data.
extern "C" __global__ void gather_block(const REAL* all, long long pitch, const int* ids,
                                        const Box* given, const int* block, int size,
                                        REAL* kernel) {
    const Box box = *given;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= size) return;
    const int right = block[column];
    const int right_id = right < 0 ? 0 : ids[box.row(right)];
    for (int row = blockIdx.y; row < size; row += gridDim.y) {
        const int left = block[row];
        const bool known = left >= 0 && right >= 0;
        const int left_id = left < 0 ? 0 : ids[box.row(left)];
        kernel[(size_t)row * size + column] = known ? all[left_id * pitch + right_id] : REAL(0);
    }
}

// The rows of the data that variables belong to; `size` of them, or as many as moved.
extern "C" __global__ void look_up_rows(const Box* given, const int* ids, const int* variables,
                                        int size, const Result* result, int* rows) {
    const Box box = *given;
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= (result ? result->moved : size)) return;
    rows[k] = ids[variables[k] < 0 ? 0 : box.row(variables[k])];
}

// Where the outermost gradients are, after outputs have been changed by other means.
extern "C" __global__ void find_reach(const Box* given, int groups, Key* reach) {
    const Box box = *given;
    for (int g = 0; g < groups; ++g) {
        Key rises = 0, falls = 0;
        for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < box.variables;
             t += gridDim.x * blockDim.x) {
            if (box.group[t] != g) continue;
            const double gradient = box.gradient(t);
            if (box.may_rise(t)) rises = max(rises, ordered(-gradient));
            if (box.may_fall(t)) falls = max(falls, ordered(gradient));
        }
        rises = largest(rises), falls = largest(falls);
        if ((threadIdx.x & 31) == 0 && rises) atomicMax(reach + 2 * g, rises);
        if ((threadIdx.x & 31) == 0 && falls) atomicMax(reach + 2 * g + 1, falls);
    }
}

// outputs += sum of the moved rows of the kernel matrix times their moves; then where the outermost
// gradients are. 32 columns to a thread block, 8 moved rows side by side, joined in a fixed order.
extern "C" __global__ void add_rows(const REAL* all, long long pitch, const int* ids,
                                    const Box* given, int groups, const int* moved_rows,
                                    const double* moves, const Result* result, Key* reach) {
    const Box box = *given;
    __shared__ double parts[8][32];
    const int lane = threadIdx.x & 31, part = threadIdx.x >> 5;
    const int column = blockIdx.x * 32 + lane, moved = result->moved;
    const bool inside = column < box.rows;
    double sum = 0;
    if (inside) {
        const REAL* from = all + ids[column];
#pragma unroll 8
        for (int k = part; k < moved; k += 8)
            sum += moves[k] * (double)from[ids[moved_rows[k]] * pitch];
    }
    parts[part][lane] = sum;
    __syncthreads();
    if (part) return;
    for (int other = 1; other < 8; ++other) sum += parts[other][lane];
    double output = 0;
    if (inside) {
        output = box.outputs[column] + sum;
        box.outputs[column] = output;
    }
    for (int g = 0; g < groups; ++g) {
        Key rises = 0, falls = 0;
        for (int t = column; inside && t < box.variables; t += box.rows) {
            if (box.group[t] != g) continue;
            const double gradient = output + box.linear[t];
            if (box.may_rise(t)) rises = max(rises, ordered(-gradient));
            if (box.may_fall(t)) falls = max(falls, ordered(gradient));
        }
        rises = largest(rises), falls = largest(falls);
        if (lane == 0 && rises) atomicMax(reach + 2 * g, rises);
        if (lane == 0 && falls) atomicMax(reach + 2 * g + 1, falls);
    }
}
