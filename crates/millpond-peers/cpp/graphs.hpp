// The graphs and the bodies, as in src/graph.rs and src/work.rs. A graph is walked in spawn order,
// and passes each task to a sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

// The bodies that one thread has run: their number, and the sum of their results.
struct alignas(128) Tally {
    uint64_t ran = 0;
    uint64_t sum = 0;
};

inline std::mutex tallies_lock;
inline std::deque<Tally> tallies;
inline thread_local Tally* own_tally = nullptr;

[[gnu::noinline]] inline Tally* enlist() {
    std::lock_guard<std::mutex> guard(tallies_lock);
    return own_tally = &tallies.emplace_back();
}

inline uint64_t rotate_left(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

// Mixes `x` through `steps` dependent steps.
inline uint64_t spin(uint64_t steps, uint64_t x) {
    for (; steps != 0; steps--) {
        x = (x ^ (x >> 29)) * 6364136223846793005u;
    }
    return x;
}

// The body: mixes the values that a task reads into those that it changes, and counts itself.
[[gnu::noinline]] inline uint64_t work(uint64_t steps, uint64_t c, uint64_t a, uint64_t b) {
    uint64_t x = spin(steps, (rotate_left(c, 7) ^ (rotate_left(a, 21) + b)) + 1);
    Tally* tally = own_tally ? own_tally : enlist();
    tally->ran++;
    tally->sum += x;
    return x;
}

// The body of a task that changes many data.
template <size_t N>
[[gnu::noinline]] void work_many(uint64_t steps, uint64_t* data) {
    uint64_t x = work(steps, data[0], 0, 0);
    for (size_t k = 0; k < N; k++) {
        data[k] = rotate_left(data[k], 7) + x;
    }
}

enum class Shape { fib, flat, bimodal, chains, generations, cholesky, matmul_ijk, matmul_kij, args };

// The case to run, from the command.
struct Case {
    std::string name;
    Shape shape;
    uint64_t size[2];
    uint64_t steps;       // of a body
    uint64_t long_steps;  // of the long bodies of `bimodal`
    int workers;
};

constexpr const char* NAMES[] = {"fib",      "flat",       "bimodal",    "chains", "generations",
                                 "cholesky", "matmul-ijk", "matmul-kij", "args"};

inline bool find_shape(const std::string& name, Shape& shape) {
    for (size_t k = 0; k < std::size(NAMES); k++) {
        if (name == NAMES[k]) {
            shape = static_cast<Shape>(k);
            return true;
        }
    }
    return false;
}

// Alternating sets of data, for the tasks with many accesses.
constexpr uint64_t SETS = 20;

inline size_t data_of(const Case& c) {
    uint64_t n = c.size[0];
    switch (c.shape) {
        case Shape::chains: return n;
        case Shape::generations: return 1;
        case Shape::cholesky: return n * n;
        case Shape::matmul_ijk:
        case Shape::matmul_kij: return 3 * n * n;
        case Shape::args: return SETS * n;
        default: return 0;
    }
}

template <class Sink>
void walk_generations(uint64_t rounds, Sink& sink) {
    for (uint64_t round = 0; round < rounds; round++) {
        sink.inout(0);
        for (int k = 0; k < 1000; k++) sink.read(0);
        for (int k = 0; k < 500; k++) {
            sink.inout(0);
            sink.read(0);
        }
    }
}

template <class Sink>
void walk_cholesky(uint64_t nt, Sink& sink) {
    auto at = [nt](uint64_t i, uint64_t j) { return i * nt + j; };
    for (uint64_t k = 0; k < nt; k++) {
        sink.inout(at(k, k));
        for (uint64_t i = k + 1; i < nt; i++) sink.update(at(k, k), at(i, k));
        for (uint64_t i = k + 1; i < nt; i++) {
            sink.update(at(i, k), at(i, i));
            for (uint64_t j = k + 1; j < i; j++) sink.update_by_two(at(i, k), at(j, k), at(i, j));
        }
    }
}

template <class Sink>
void walk_matmul(uint64_t nt, bool k_outermost, Sink& sink) {
    auto at = [nt](uint64_t matrix, uint64_t i, uint64_t j) { return (matrix * nt + i) * nt + j; };
    for (uint64_t x = 0; x < nt; x++) {
        for (uint64_t y = 0; y < nt; y++) {
            for (uint64_t z = 0; z < nt; z++) {
                uint64_t i = k_outermost ? y : x, j = k_outermost ? z : y, k = k_outermost ? x : z;
                sink.update_by_two(at(0, i, k), at(1, k, j), at(2, i, j));
            }
        }
    }
}

template <size_t N, class Sink>
void walk_args(uint64_t tasks, Sink& sink) {
    for (uint64_t set = 0; tasks != 0; tasks--) {
        sink.template many<N>(set * N);
        set = set + 1 == SETS ? 0 : set + 1;
    }
}

// Passes every task to `sink`, except those of `fib`, which is no graph.
template <class Sink>
void walk(const Case& c, Sink& sink) {
    uint64_t n = c.size[0], m = c.size[1];
    switch (c.shape) {
        case Shape::fib: break;
        case Shape::flat:
            for (uint64_t k = 0; k < n; k++) sink.alone(k, c.steps);
            break;
        case Shape::bimodal:
            for (uint64_t k = 0; k < n; k++) sink.alone(k, k % 1000 == 500 ? c.long_steps : c.steps);
            break;
        case Shape::chains:
            for (uint64_t step = 0; step < m; step++) {
                for (uint64_t chain = 0; chain < n; chain++) sink.inout(chain);
            }
            break;
        case Shape::generations: walk_generations(n, sink); break;
        case Shape::cholesky: walk_cholesky(n, sink); break;
        case Shape::matmul_ijk: walk_matmul(n, false, sink); break;
        case Shape::matmul_kij: walk_matmul(n, true, sink); break;
        case Shape::args:
            if (n == 1) walk_args<1>(m, sink);
            if (n == 4) walk_args<4>(m, sink);
            if (n == 8) walk_args<8>(m, sink);
            if (n == 20) walk_args<20>(m, sink);
            break;
    }
}
