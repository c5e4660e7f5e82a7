// What the loops of the online learners are given and what they say; free of any instruction set.
#pragma once
#include "data/rows.hpp"

namespace widemargin {

// When a row moves the weights, and by what multiple of its features. With f the decision value,
// y = +-1, and m = y f (many classes: the score of the row's class minus the best other one):
//   perceptron    m <= 0                rate
//   aggressive    m < 1                 min(rate, (1 - m) / n),     n = |x|^2, twice for classes
//   aggressive_2  m < 1                 (1 - m) / (n + 1 / (2 rate))
//   pegasos       m < rate * rows seen  1                           f being that of the plain sum
//   winnow        m <= 0                the exponents move by rate, w = exp(s)
//   balanced      m <= 0                the same,                   w = exp(s) - exp(-s)
enum class SweepRule : int { perceptron, aggressive, aggressive_2, pegasos, winnow, balanced };

struct Sweep {
    SweepRule rule;
    double rate;
    Index outputs;        // 1: two classes, labels 0 and 1; otherwise one score for each class
    double offset;        // added to the only output
    double constant;      // value of the constant feature, which carries the bias; 0 for none
    Index batch;          // rows that are judged by the same weights
    double seen;          // rows before this call
    const Index* labels;  // of each row of the data
    bool project;         // pegasos: keep |w| <= 1 / sqrt(rate)
    const double* importance = nullptr;  // what each row's amount is multiplied by, if not by one
};

// What changes: weights [features + 1][outputs], the constant's last. `second` has the same shape
// and holds the sum of time * move (for averages) or the exponents s; it may be null.
// The weights in force are scale * weights; with projection squared_norm is theirs. The clock is
// the time of `second`: the sum of the scale over the rows seen, and their number without
// projection.
struct SweepState {
    double *weights, *second;
    double *scale, *squared_norm, *clock;
};

// One entry for each move, in order: the row, the class that lost (one output: 0), the amount,
// and the rows seen before.
struct SweepMoves {
    Index *row, *rival;
    double* amount;
    Index* time;
};

struct SweepCounts {
    Index moves = 0, mistakes = 0;
};

// A block of rows by their kernel values: base[a][k] are the scores of row a from all moves before.
struct KernelBlock {
    const double *base, *gram;
    Index count;
};

// The steps of a voted machine: move m adds its amount times kernel column `column` to the score of
// class `winner` and takes it from `loser` (one output: winner adds, loser takes away).
struct VotedMoves {
    const Index *column, *winner, *loser;
    const double *amount, *survival;
    Index count, outputs;
};

struct OnlineTable {
    SweepCounts (*sweep)(const Rows&, const Sweep&, const SweepState&, const Index* order,
                         Index count, const SweepMoves&);
    SweepCounts (*sweep_block)(const KernelBlock&, const Sweep&, const SweepState&,
                               const SweepMoves&);
    void (*vote)(const double* kernel, Index rows, Index columns, const VotedMoves&, double* votes,
                 int threads);
};

}  // namespace widemargin
