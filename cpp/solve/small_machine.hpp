// A machine so small that its kernel matrix is one block: matrix, solution, outputs and certificate
// without a way back to the caller, all in float64.
#pragma once
#include <algorithm>
#include <vector>

#include "solve/certificate.hpp"

namespace widemargin {

// Where the kernel values of all machines come from: see Panels.
struct SmallKernel {
    KernelSpec kernel;
    Rows rows;
    std::vector<double> centre;
    bool sparse;
    const double* diagonal;  // of each row of the data
};

struct SmallMachine {
    BoxProblem box;    // its outputs are written, and are undefined before
    const Index* ids;  // row of the data of each of its rows
    double* x;         // the start, and then the solution
    double* outputs;
    double tolerance;
};

struct SmallOutcome {
    double first_violation, first_dual, first_gap;  // at the start
    BlockResult steps;
    Certificate certificate;
};

// Memory of one thread, which its machines use one after the other.
class SmallSolver {
  public:
    SmallOutcome run(const SmallKernel& kernel, const SmallMachine& machine, Index limit) {
        const BoxProblem& box = machine.box;
        size = box.variables();
        width = padded(size);
        compute(kernel, machine);
        add_outputs(machine);
        SmallOutcome outcome;
        look(box, outcome);
        outcome.steps = solve(kernel, machine, limit);
        add_outputs(machine);
        std::vector<double> diagonal(static_cast<std::size_t>(box.rows));
        for (Index i = 0; i < box.rows; ++i)
            diagonal[std::size_t(i)] = kernel.diagonal[machine.ids[i]];
        outcome.certificate = certify(box, diagonal.data(), 1);
        return outcome;
    }

  private:
    Index size = 0, width = 0;
    Buffer<double> matrix;
    std::vector<double*> row;

    // The gap for any multipliers that the violation leaves room for.
    static void look(const BoxProblem& box, SmallOutcome& outcome) {
        Reach reaches[2];
        hot().reach(box, reaches, 1);
        double multipliers[2] = {0, 0};
        outcome.first_violation = 0;
        for (int g = 0; g < box.groups; ++g) {
            const Reach& r = reaches[g];
            outcome.first_violation =
                std::max(outcome.first_violation, r.highest_falling - r.lowest_rising);
            const double middle = -0.5 * (r.lowest_rising + r.highest_falling);
            multipliers[g] = std::isfinite(middle) ? middle : 0.0;
        }
        const Sums sums = hot().sums(box, multipliers, 1);
        outcome.first_dual = -(0.5 * sums.quadratic + sums.linear);
        outcome.first_gap = sums.gap;
    }

    // The matrix of the variables: of regression, each row of the data is two of its rows.
    void compute(const SmallKernel& kernel, const SmallMachine& machine) {
        Panels<double> panels;
        panels.kernel = kernel.kernel;
        panels.source = kernel.rows;
        panels.centre = kernel.centre;
        panels.sparse = kernel.sparse;
        for (Index t = 0; t < size; ++t) panels.chosen.push_back(machine.ids[t % machine.box.rows]);
        hot().real.pack_panels(panels, 1);
        if (matrix.size() < std::size_t(size * width)) matrix.resize(std::size_t(size * width));
        row.resize(std::size_t(size));
        for (Index t = 0; t < size; ++t) row[std::size_t(t)] = matrix.data() + t * width;
        hot().real.kernel_square(panels, row.data(), 1);
        for (double* r : row) std::fill(r + size, r + width, 0.0);
    }

    void add_outputs(const SmallMachine& machine) const {
        const Index rows = machine.box.rows;
        std::vector<const double*> used;
        std::vector<double> moves;
        for (Index t = 0; t < size; ++t)
            if (machine.x[t] != 0) {
                used.push_back(row[std::size_t(t)]);
                moves.push_back(machine.x[t]);
            }
        std::fill(machine.outputs, machine.outputs + rows, 0.0);
        hot().real.apply_rows(machine.outputs, rows, used.data(), moves.data(), Index(used.size()),
                              1);
    }

    BlockResult solve(const SmallKernel& kernel, const SmallMachine& machine, Index limit) {
        const BoxProblem& box = machine.box;
        const auto cells = std::size_t(width);
        Buffer<double> diagonal(cells), gradient(cells);
        Buffer<double> limits(std::size_t(2 * box.groups) * cells);
        std::fill(diagonal.data(), diagonal.data() + cells, 0.0);
        std::fill(gradient.data(), gradient.data() + cells, 0.0);
        for (Index t = 0; t < size; ++t) {
            diagonal[std::size_t(t)] = kernel.diagonal[machine.ids[t % box.rows]];
            gradient[std::size_t(t)] = box.gradient(t);
        }
        return hot().real.solve_block(
            {size, width, box.groups, matrix.data(), diagonal.data(), gradient.data(),
             limits.data(), machine.x, box.lower, box.upper, box.group},
            machine.tolerance, limit);
    }
};

}  // namespace widemargin
