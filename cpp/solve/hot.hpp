// The functions that are compiled once per instruction set, as a table; `hot()` is the one for this
// machine, chosen at the first call.
#pragma once
#include <string>
#include <vector>

#include "solve/block_types.hpp"
#include "solve/box_problem.hpp"
#include "solve/joint_types.hpp"
#include "solve/linear_types.hpp"
#include "solve/online_types.hpp"
#include "solve/panels.hpp"

namespace widemargin {

// Weighted sums over kernel columns. The columns fall into groups (the classes); each group of each
// row has `outputs` sums: result[i][g][o] = sum over columns j of group g of k(i, j) weights[o][j].
struct ColumnSums {
    const double* weights;  // [outputs][columns]
    Index outputs;
    const Index* group_starts;  // [groups + 1]
    Index groups;
};

template <class T>
struct HotOf {
    void (*pack_panels)(Panels<T>&, int threads);
    void (*kernel_rows)(const Panels<T>&, const Rows&, const Index* ids, Index n, T* const* out,
                        int threads);
    void (*kernel_square)(const Panels<T>&, T* const* square, int threads);
    void (*kernel_sums)(const Panels<T>&, const Rows&, const Index* ids, Index n, const ColumnSums&,
                        double* result, int threads);
    void (*kernel_update)(const Panels<T>&, const Rows&, const Index* ids, Index n,
                          const double* moves, double* outputs, int threads);
    void (*apply_rows)(double* outputs, Index columns, const T* const* kernel, const double* moves,
                       Index rows, int threads);
    BlockResult (*solve_block)(const BlockProblem<T>&, double tolerance, Index limit);
    void (*elementary)(int function, const T* in, T* out, Index n);  // 0 exp, 1 tanh, n > 1 power n
    void (*apply_joint)(double* outputs, Index columns, Index classes, const T* const* kernel,
                        const double* moves, Index rows, int threads);
    BlockResult (*solve_joint_block)(const JointBlock<T>&, double tolerance, Index limit);
};

struct Hot {
    const char* name;
    HotOf<float> single;
    HotOf<double> real;
    void (*reach)(const BoxProblem&, Reach*, int threads);
    Sums (*sums)(const BoxProblem&, const double* multipliers, int threads);
    JointSums (*measure_joint)(const JointProblem&, double* violations, int threads);
    LinearTable linear;
    OnlineTable online;

    template <class T>
    const HotOf<T>& of() const {
        if constexpr (sizeof(T) == sizeof(float)) return single;
        else return real;
    }
};

const Hot& hot();                                   // the table in use
std::vector<std::string> instruction_sets();        // those this machine can run, best last
void use_instruction_set(const std::string& name);  // for tests and comparisons

}  // namespace widemargin
