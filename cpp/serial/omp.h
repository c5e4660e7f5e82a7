// Stands in for OpenMP where the compiler has none: one thread.
#pragma once
inline int omp_get_max_threads() {
    return 1;
}
