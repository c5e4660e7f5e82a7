// Compiled once per instruction set; see CMakeLists.txt. WM_ISA is the namespace of this set.
#include "solve/hot.hpp"

#include "solve/block_qp.hpp"
#include "solve/gradient.hpp"
#include "solve/joint_outputs.hpp"
#include "solve/joint_qp.hpp"
#include "solve/kernel_rows.hpp"
#include "solve/linear_table.hpp"
#include "solve/online.hpp"

namespace widemargin::WM_ISA {

template <class T>
void elementary(int function, const T* in, T* out, Index n) {
    for (Index i = 0; i < n; i += lanes<T>) {
        Vector<T> x{};
        for (Index lane = 0; lane < std::min<Index>(lanes<T>, n - i); ++lane)
            x[lane] = in[i + lane];
        const Vector<T> y = function == 0   ? exponential(x)
                            : function == 1 ? hyperbolic_tangent(x)
                                            : whole_power(x, function);
        for (Index lane = 0; lane < std::min<Index>(lanes<T>, n - i); ++lane)
            out[i + lane] = y[lane];
    }
}

template <class T>
BlockResult solve_block(const BlockProblem<T>& problem, double tolerance, Index limit) {
    return BlockSolver<T>(problem).run(tolerance, limit);
}

template <class T>
BlockResult solve_joint_block(const JointBlock<T>& problem, double tolerance, Index limit) {
    return JointBlockSolver<T>(problem).run(tolerance, limit);
}

template <class T>
HotOf<T> table_of() {
    return {pack_panels<T>, kernel_rows<T>, kernel_square<T>, kernel_sums<T>, kernel_update<T>,
            apply_rows<T>,  solve_block<T>, elementary<T>,    apply_joint<T>, solve_joint_block<T>};
}

#define WM_TEXT_OF(name) #name
#define WM_TEXT(name) WM_TEXT_OF(name)

const Hot& table() {
    static const Hot hot{WM_TEXT(WM_ISA), table_of<float>(), table_of<double>(), reach, sums,
                         measure_joint,   linear_table(),    online_table()};
    return hot;
}

}  // namespace widemargin::WM_ISA
