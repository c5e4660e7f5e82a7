// The losses of linear machines, row by row; the twin of cpp/solve/linear_losses.hpp and
// linear_judgement.hpp, where the formulas are stated. Sums are written by thread block, and the
// host joins them in order.

struct Rounded {
    double share, slope, rounded, loss, dual;
};

__device__ inline Rounded logistic_response(double output, double target) {
    const double margin = target * output, small = exp(-fabs(margin));
    const double far = small / (1 + small), near = 1 / (1 + small);
    const double fall = margin > 0 ? far : near, rest = margin > 0 ? near : far;
    const double loss = log1p(small) + fmax(-margin, 0.0);
    return {target * fall, fall * rest, loss, loss, loss + fall * margin};
}

// kind: 0 hinge, 1 its square, 2 logistic, 3 insensitive, 4 its square, 5 one class.
__device__ inline Rounded response(int kind, double epsilon, double width, double output,
                                   double target, double centre) {
    if (kind == 2) return logistic_response(output, target);
    const bool squared = kind == 1 || kind == 4, two_sided = kind == 3 || kind == 4;
    const bool one_class = kind == 5;
    const double bend = squared ? 0.5 : 0.0, top = squared ? 1e300 : 1.0;
    const double steepness = 1 / fmax(bend + width, 1e-290);
    // Seen from the side on which the loss grows.
    const double side = two_sided || one_class ? 1.0 : target;
    const double short_of = one_class ? -output : two_sided ? target - output : 1 - target * output;
    const double from = side * centre, pulled = short_of + width * from;
    const double size = two_sided ? fabs(pulled) - epsilon : pulled;
    const double raw = (size > 0 ? size : size != size ? size : 0) * steepness;  // NaN is not lost
    const double most = raw > top ? top : raw;
    const double share = two_sided && pulled < 0 ? -most : most;
    const double over = two_sided ? fabs(short_of) - epsilon : short_of;
    const double excess = over > 0 ? over : over != over ? over : 0;
    const double taken = (two_sided ? epsilon * most : 0.0) + 0.5 * bend * most * most;
    Rounded result;
    result.share = side * share;
    result.slope = raw > 0 && raw <= top ? steepness : 0.0;
    result.rounded = share * short_of - taken - 0.5 * width * (share - from) * (share - from);
    result.loss = squared ? excess * excess : excess;
    result.dual = (one_class ? 0.0 : two_sided ? share * target : share) - taken;
    return result;
}

// Dual variables and curvature of every row. parts: [thread blocks][5], the sums of the rounded
// loss, the loss, minus the conjugate, the dual variables, and the number of curved rows.
extern "C" __global__ void linear_respond(int kind, double epsilon, double width, long long rows,
                                          const double* target, const double* cost,
                                          const double* centre, const double* output, double* dual,
                                          double* curvature, double* parts) {
    double sums[5] = {};
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += step) {
        const Rounded at = response(kind, epsilon, width, output[i], target[i], centre[i]);
        const double u = cost[i] * at.share, bend = cost[i] * at.slope;
        dual[i] = u, curvature[i] = bend;
        sums[0] += cost[i] * at.rounded, sums[1] += cost[i] * at.loss;
        sums[2] += cost[i] * at.dual, sums[3] += u, sums[4] += bend > 0;
    }
    for (int k = 0; k < 5; ++k) {
        const double sum = sum_of_block(sums[k]);
        if (threadIdx.x == 0) parts[blockIdx.x * 5 + k] = sum;
    }
}

// The rounded loss along a ray, and its first two derivatives. parts: [thread blocks][3].
extern "C" __global__ void linear_along(int kind, double epsilon, double width, long long rows,
                                        const double* target, const double* cost,
                                        const double* centre, const double* output,
                                        const double* move, double length, double* parts) {
    double sums[3] = {};
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += step) {
        const double by = move[i];
        const Rounded at =
            response(kind, epsilon, width, output[i] + length * by, target[i], centre[i]);
        sums[0] += cost[i] * at.rounded, sums[1] -= cost[i] * at.share * by;
        sums[2] += cost[i] * at.slope * by * by;
    }
    for (int k = 0; k < 3; ++k) {
        const double sum = sum_of_block(sums[k]);
        if (threadIdx.x == 0) parts[blockIdx.x * 3 + k] = sum;
    }
}

// How far a shortfall is from the kink at zero, unless the share is at the bound of its side.
__device__ inline double off_kink(double shortfall, double share) {
    return shortfall > 0 ? (share < 1 ? shortfall : 0.0) : (share > 0 ? -shortfall : 0.0);
}

__device__ inline double3 judge_row(int kind, double epsilon, double target, double output,
                                    double share) {
    const double a = target * share;
    if (kind == 2) {
        const double margin = target * output, small = exp(-fabs(margin));
        const double error = (margin > 0 ? small : 1.0) / (1 + small);
        const double entropy = a > 0 && a < 1 ? -(a * log(a) + (1 - a) * log1p(-a)) : 0.0;
        return {fmax(0.0, -margin) + log1p(small), entropy, fabs(error - a)};
    }
    if (kind == 3 || kind == 4) {
        const double deviation = target - output, size = fabs(share);
        const double out = fmax(0.0, fabs(deviation) - epsilon);
        const double dual = share * target - epsilon * size;
        if (kind == 4) {
            const double wanted = deviation < 0 ? -out : out;
            return {out * out, dual - 0.25 * share * share, fabs(wanted - 0.5 * share)};
        }
        const double side = share < 0 ? -1.0 : 1.0;
        return {out, dual, share == 0 ? out : off_kink(side * deviation - epsilon, size)};
    }
    if (kind == 5) return {fmax(0.0, -output), 0.0, off_kink(-output, share)};
    const double shortfall = 1 - target * output, excess = fmax(0.0, shortfall);
    if (kind == 1) return {excess * excess, a - 0.25 * a * a, fabs(excess - 0.5 * a)};
    return {excess, a, off_kink(shortfall, a)};
}

// For given dual variables: the sums of the losses and of minus their conjugates, and minus the
// largest violation. parts: [thread blocks][3].
extern "C" __global__ void linear_judge(int kind, double epsilon, long long rows,
                                        const double* target, const double* cost,
                                        const double* output, const double* share, double* parts) {
    double loss = 0, dual = 0, violation = 0;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += step) {
        if (cost[i] <= 0) continue;
        const double3 row = judge_row(kind, epsilon, target[i], output[i], share[i]);
        loss += cost[i] * row.x, dual += cost[i] * row.y, violation = fmin(violation, -row.z);
    }
    loss = sum_of_block(loss), dual = sum_of_block(dual), violation = smallest_of_block(violation);
    double* out = parts + blockIdx.x * 3;
    if (threadIdx.x == 0) out[0] = loss, out[1] = dual, out[2] = violation;
}
