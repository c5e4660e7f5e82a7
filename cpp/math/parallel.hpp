// Loops over independent pieces on several cores, by a pool of threads of our own.
// The caller works too and waits only for pieces that a helper has begun. So a core that is busy
// with something else costs at most one piece, where an OpenMP team, which meets at a barrier,
// would wait for it at every loop. Which thread computes a piece never changes its result.
#pragma once
#include <cstdint>
#include <type_traits>

namespace widemargin {

// Calls work(context, piece, worker) for each piece in [0, count); 0 <= worker < threads.
void run_parallel(std::int64_t count, int threads, void (*work)(void*, std::int64_t, int),
                  void* context);

template <class Work>
void parallel(std::int64_t count, int threads, Work&& work) {
    run_parallel(
        count, threads,
        [](void* context, std::int64_t piece, int worker) {
            (*static_cast<std::remove_reference_t<Work>*>(context))(piece, worker);
        },
        &work);
}

}  // namespace widemargin
