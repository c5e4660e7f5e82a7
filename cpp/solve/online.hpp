// Online learning: row after row is judged by the present weights, and if it is judged wrongly, or
// not clearly enough, the weights move by a multiple of its features. All rules of `SweepRule`
// share one loop, over features (linear) or over kernel values of a block of rows (dual form).
// Papers: F. Rosenblatt 1958; N. Littlestone, Mach. Learn. 2 (1988) (Winnow); Y. Freund, R.
// Schapire, Mach. Learn. 37 (1999) (votes); K. Crammer, Y. Singer, JMLR 3 (2003) (many classes); K.
// Crammer et al., JMLR 7 (2006) (passive-aggressive); S. Shalev-Shwartz et al., Math. Program. 127
// (2011) (Pegasos).
// Pegasos is a perceptron whose margin grows: its weights are w = u / (lambda t) with u the plain
// sum of the margin errors, so that y w.x < 1 reads y u.x < lambda t and nothing is ever shrunk.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "math/parallel.hpp"
#include "solve/linear_rows.hpp"
#include "solve/online_types.hpp"

namespace widemargin::WM_ISA {

struct Judgement {
    Index rival = 0;
    double margin = 0, amount = 0;  // no move for an amount of zero
};

inline double amount_of(const Sweep& p, double margin, double seen, double norm) {
    switch (p.rule) {
        case SweepRule::aggressive:
            return margin < 1 ? std::min(p.rate, (1 - margin) / std::max(norm, 1e-300)) : 0;
        case SweepRule::aggressive_2:
            return margin < 1 ? (1 - margin) / (norm + 0.5 / p.rate) : 0;
        case SweepRule::pegasos:
            return seen == 0 || margin < p.rate * seen ? 1 : 0;
        default:
            return margin > 0 ? 0 : 1;  // what is not a number is a mistake too
    }
}

// How far the row's class is ahead of another one.
inline double lead(const Sweep& p, const double* score, Index label, Index rival) {
    if (p.outputs == 1) return label ? score[0] : -score[0];
    return score[label] - score[rival];
}

inline Judgement judge(const Sweep& p, const double* score, Index label, double seen, double norm) {
    Judgement judgement;
    if (p.outputs > 1) {
        judgement.rival = label == 0;
        for (Index k = 0; k < p.outputs; ++k)
            if (k != label && score[k] > score[judgement.rival]) judgement.rival = k;
        norm *= 2;
    }
    judgement.margin = lead(p, score, label, judgement.rival);
    judgement.amount = amount_of(p, judgement.margin, seen, norm);
    return judgement;
}

inline bool needs_norms(const Sweep& p) {
    return p.rule == SweepRule::aggressive || p.rule == SweepRule::aggressive_2 || p.project;
}

inline double step_length(const Sweep& p) {
    return p.rule == SweepRule::perceptron ? p.rate : 1.0;
}

constexpr Index rows_ahead = 6;  // rows are visited in random order: memory is asked for in time

// Weights of the features, row by row of typed data.
template <class View>
class LinearLearner {
  public:
    LinearLearner(const View& view, Index features, const Sweep& p, const SweepState& state)
        : view_(view), features_(features), p_(p), state_(state) {}

    void fetch(Index i) const { view_.fetch(i); }

    double norm(Index i) const {
        double sum = p_.constant * p_.constant;
        view_.for_each(i, [&](Index, double x) { sum += x * x; });
        return sum;
    }

    void scores(Index i, double* score) const {
        const Index k = p_.outputs;
        const double* last = state_.weights + features_ * k;
        if (k == 1) {
            score[0] = view_.dot(i, state_.weights) + p_.constant * last[0] + p_.offset;
            return;
        }
        for (Index o = 0; o < k; ++o) score[o] = p_.constant * last[o];
        view_.for_each(i, [&](Index feature, double x) {
            const double* w = state_.weights + feature * k;
            for (Index o = 0; o < k; ++o) score[o] += x * w[o];
        });
    }

    void move(Index i, Index label, Index rival, double amount, double time) {
        const double step = amount * step_length(p_);
        if (p_.outputs == 1) {
            add(i, 0, label ? step : -step, time);
        } else {
            add(i, label, step, time);
            add(i, rival, -step, time);
        }
    }

  private:
    void add(Index i, Index output, double step, double time) {
        if (p_.rule == SweepRule::winnow || p_.rule == SweepRule::balanced)
            return multiply(i, output, step);
        const Index k = p_.outputs;
        if (k == 1) {
            view_.add(i, step, state_.weights);
            if (state_.second) view_.add(i, step * time, state_.second);
        } else {
            view_.for_each(i, [&](Index feature, double x) {
                state_.weights[feature * k + output] += step * x;
                if (state_.second) state_.second[feature * k + output] += step * time * x;
            });
        }
        const Index last = features_ * k + output;
        state_.weights[last] += step * p_.constant;
        if (state_.second) state_.second[last] += step * time * p_.constant;
    }

    void multiply(Index i, Index output, double step) {
        const auto change = [&](Index feature, double x) {
            const Index at = feature * p_.outputs + output;
            const double s = state_.second[at] += step * p_.rate * x;
            state_.weights[at] = p_.rule == SweepRule::winnow ? std::exp(s) : 2 * std::sinh(s);
        };
        view_.for_each(i, change);
        if (p_.constant != 0) change(features_, p_.constant);
    }

    const View& view_;
    Index features_;
    const Sweep& p_;
    SweepState state_;
};

// Coefficients of the rows of one block; the weights of the state are those of the block's rows.
class KernelLearner {
  public:
    KernelLearner(const KernelBlock& block, const Sweep& p, const SweepState& state)
        : block_(block), p_(p), state_(state) {}

    void fetch(Index) const {}

    double norm(Index i) const { return block_.gram[i * block_.count + i]; }

    void scores(Index i, double* score) const {
        const Index k = p_.outputs;
        const double* kernel = block_.gram + i * block_.count;
        for (Index o = 0; o < k; ++o) score[o] = block_.base[i * k + o];
        for (const Index j : moved_)
            for (Index o = 0; o < k; ++o) score[o] += kernel[j] * state_.weights[j * k + o];
    }

    void move(Index i, Index label, Index rival, double amount, double time) {
        const double step = amount * step_length(p_);
        if (p_.outputs == 1) {
            add(i, label ? step : -step, time);
        } else {
            add(i * p_.outputs + label, step, time);
            add(i * p_.outputs + rival, -step, time);
        }
        if (moved_.empty() || moved_.back() != i) moved_.push_back(i);
    }

  private:
    void add(Index at, double step, double time) {
        state_.weights[at] += step;
        if (state_.second) state_.second[at] += step * time;
    }

    const KernelBlock& block_;
    const Sweep& p_;
    SweepState state_;
    std::vector<Index> moved_;
};

template <class Learner>
class Teacher {
  public:
    Teacher(Learner learner, const Sweep& p, const SweepState& state, const SweepMoves& log)
        : learner_(std::move(learner)),
          p_(p),
          state_(state),
          log_(log),
          score_(std::size_t(p.outputs)),
          margin_(std::size_t(p.batch)) {}

    SweepCounts run(const Index* order, Index count) {
        for (Index first = 0; first < count; first += p_.batch) {
            const Index last = std::min(first + p_.batch, count), before = counts_.moves;
            for (Index at = first; at < last; ++at) {
                if (order) fetch_ahead(order, at, count);
                look_at(order ? order[at] : at, first, before);
            }
            for (Index m = before; m < counts_.moves; ++m)
                apply(m, margin_[std::size_t(m - before)]);
            if (p_.project) project(p_.seen + double(last));
            *state_.clock += *state_.scale * double(last - first);
        }
        return counts_;
    }

  private:
    void fetch_ahead(const Index* order, Index at, Index count) const {
        if (at + rows_ahead >= count) return;
        learner_.fetch(order[at + rows_ahead]);
        __builtin_prefetch(p_.labels + order[at + rows_ahead]);
    }

    void look_at(Index i, Index first, Index before) {
        const double seen = p_.seen + double(first), scale = *state_.scale;
        learner_.scores(i, score_.data());
        if (scale != 1.0)
            for (double& value : score_) value *= scale;
        const double norm = needs_norms(p_) ? learner_.norm(i) : 0.0;
        Judgement found = judge(p_, score_.data(), p_.labels[i], seen, norm);
        if (p_.importance) found.amount *= p_.importance[i];
        counts_.mistakes += !(found.margin > 0);
        if (found.amount == 0) return;
        margin_[std::size_t(counts_.moves - before)] = found.margin;
        log_.row[counts_.moves] = i;
        log_.rival[counts_.moves] = found.rival;
        log_.amount[counts_.moves] = found.amount / scale;
        log_.time[counts_.moves++] = Index(seen);
    }

    void apply(Index m, double margin) {
        const Index i = log_.row[m], label = p_.labels[i];
        if (p_.project) {
            if (p_.batch > 1) {  // the moves of this batch before it have changed the margin
                learner_.scores(i, score_.data());
                margin = *state_.scale * lead(p_, score_.data(), label, log_.rival[m]);
            }
            const double sides = p_.outputs == 1 ? 1.0 : 2.0;  // weight vectors that move
            const double step = log_.amount[m] * *state_.scale;
            *state_.squared_norm += step * (2 * margin + step * sides * learner_.norm(i));
        }
        learner_.move(i, label, log_.rival[m], log_.amount[m], *state_.clock);
    }

    void project(double seen) {
        const double most = p_.rate * seen * seen;  // of |u|^2, for |u| = rate seen |w|
        if (*state_.squared_norm <= most) return;
        *state_.scale *= std::sqrt(most / *state_.squared_norm);
        *state_.squared_norm = most;
    }

    Learner learner_;
    const Sweep& p_;
    SweepState state_;
    SweepMoves log_;
    SweepCounts counts_;
    std::vector<double> score_, margin_;
};

inline SweepCounts sweep(const Rows& rows, const Sweep& p, const SweepState& state,
                         const Index* order, Index count, const SweepMoves& log) {
    SweepCounts counts;
    visit_rows(rows, {0, rows.count, 0, 1}, 0, rows.count, [&](const auto& view, Index, Index) {
        using View = std::decay_t<decltype(view)>;
        LinearLearner<View> learner(view, rows.features, p, state);
        counts = Teacher<LinearLearner<View>>(learner, p, state, log).run(order, count);
    });
    return counts;
}

inline SweepCounts sweep_block(const KernelBlock& block, const Sweep& p, const SweepState& state,
                               const SweepMoves& log) {
    return Teacher<KernelLearner>(KernelLearner(block, p, state), p, state, log)
        .run(nullptr, block.count);
}

// Adds to votes[row][class] the survival of every intermediate machine that chose the class.
inline void vote_row(const double* kernel, const VotedMoves& moves, double* votes) {
    std::vector<double> score(std::size_t(moves.outputs));
    for (Index m = 0; m < moves.count; ++m) {
        const double step = moves.amount[m] * kernel[moves.column[m]];
        Index chosen = 0;
        if (moves.outputs == 1) {
            score[0] += moves.winner[m] ? step : -step;
            chosen = score[0] > 0;
        } else {
            score[std::size_t(moves.winner[m])] += step;
            score[std::size_t(moves.loser[m])] -= step;
            for (Index k = 1; k < moves.outputs; ++k)
                if (score[std::size_t(k)] > score[std::size_t(chosen)]) chosen = k;
        }
        votes[chosen] += moves.survival[m];
    }
}

inline void vote(const double* kernel, Index rows, Index columns, const VotedMoves& moves,
                 double* votes, int threads) {
    const Index classes = std::max<Index>(2, moves.outputs);
    parallel(rows, threads, [&](Index row, int) {
        vote_row(kernel + row * columns, moves, votes + row * classes);
    });
}

inline OnlineTable online_table() {
    return {sweep, sweep_block, vote};
}

}  // namespace widemargin::WM_ISA
