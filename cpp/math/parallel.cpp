#include "math/parallel.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace widemargin {
namespace {

using Index = std::int64_t;

struct Job {
    Job(void (*work)(void*, Index, int), void* context, Index count, int threads)
        : work(work), context(context), count(count), threads(threads) {}

    void (*work)(void*, Index, int);
    void* context;
    Index count;
    int threads;
    std::atomic<Index> next{0};
    int joined = 1;   // workers that took part; the caller is worker 0
    int running = 0;  // helpers that have not left yet
    std::mutex failure_guard;
    std::exception_ptr failure;

    void run(int worker) {
        for (Index piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
            try {
                work(context, piece, worker);
            } catch (...) {
                const std::lock_guard lock(failure_guard);
                if (!failure) failure = std::current_exception();
                next.store(count);
            }
        }
    }
};

class Pool {
  public:
    void run(Job& job) {
        {
            const std::lock_guard lock(guard);
            while (int(helpers) < job.threads - 1) {
                std::thread(&Pool::help, this).detach();
                ++helpers;
            }
            jobs.push_back(&job);
            waiting_jobs.store(jobs.size());
        }
        wake.notify_all();
        job.run(0);
        std::unique_lock lock(guard);
        withdraw(job);
        left.wait(lock, [&] { return job.running == 0; });
        lock.unlock();
        if (job.failure) std::rethrow_exception(job.failure);
    }

  private:
    std::mutex guard;
    std::condition_variable wake, left;
    std::vector<Job*> jobs;
    std::atomic<std::size_t> waiting_jobs{0};
    std::size_t helpers = 0;

    void withdraw(Job& job) {
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (jobs[i] == &job) jobs.erase(jobs.begin() + std::ptrdiff_t(i--));
        waiting_jobs.store(jobs.size());
    }

    // Loops follow each other closely in training, and waking a sleeping thread takes longer than
    // a short loop: look for work a little while before going to sleep.
    void look_for_work() const {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::microseconds(60);
        while (waiting_jobs.load(std::memory_order_relaxed) == 0 &&
               std::chrono::steady_clock::now() < patience)
            std::this_thread::yield();
    }

    void help() {
        while (true) {
            look_for_work();
            std::unique_lock lock(guard);
            wake.wait(lock, [&] { return !jobs.empty(); });
            Job& job = *jobs.front();
            const int worker = job.joined++;
            if (job.joined >= job.threads) withdraw(job);
            ++job.running;
            lock.unlock();
            job.run(worker);
            lock.lock();
            withdraw(job);  // its pieces are all taken
            if (--job.running == 0) left.notify_all();
        }
    }
};

// One pool for each process: threads do not survive a fork. Never destroyed, since its threads
// may outlive static objects at exit.
Pool& pool() {
    static std::mutex guard;
    static Pool* current = nullptr;
    static pid_t owner = 0;
    const std::lock_guard lock(guard);
    if (!current || owner != getpid()) {
        current = new Pool;
        owner = getpid();
    }
    return *current;
}

}  // namespace

void run_parallel(Index count, int threads, void (*work)(void*, Index, int), void* context) {
    if (threads <= 1 || count <= 1) {
        for (Index piece = 0; piece < count; ++piece) work(context, piece, 0);
        return;
    }
    Job job(work, context, count, threads);
    pool().run(job);
}

}  // namespace widemargin
