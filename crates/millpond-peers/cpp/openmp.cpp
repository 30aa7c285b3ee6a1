// OpenMP tasks with `depend`: on libgomp with g++, on libomp with clang++.

#include "serve.hpp"

namespace {

struct Spawner {
    uint64_t* data;
    uint64_t steps;

    void alone(uint64_t k, uint64_t steps) {
#pragma omp task firstprivate(k, steps)
        work(steps, k, 0, 0);
    }
    void read(size_t a) {
        uint64_t *pa = data + a, steps = this->steps;
#pragma omp task firstprivate(pa, steps) depend(in : *pa)
        work(steps, 0, *pa, 0);
    }
    void inout(size_t c) {
        uint64_t *pc = data + c, steps = this->steps;
#pragma omp task firstprivate(pc, steps) depend(inout : *pc)
        *pc = work(steps, *pc, 0, 0);
    }
    void update(size_t a, size_t c) {
        uint64_t *pa = data + a, *pc = data + c, steps = this->steps;
#pragma omp task firstprivate(pa, pc, steps) depend(in : *pa) depend(inout : *pc)
        *pc = work(steps, *pc, *pa, 0);
    }
    void update_by_two(size_t a, size_t b, size_t c) {
        uint64_t *pa = data + a, *pb = data + b, *pc = data + c, steps = this->steps;
#pragma omp task firstprivate(pa, pb, pc, steps) depend(in : *pa, *pb) depend(inout : *pc)
        *pc = work(steps, *pc, *pa, *pb);
    }
    template <size_t N>
    void many(size_t first);
};

// The list of dependences is part of the source text. A loop over them would cost more.
#define FOUR(p, k) p[k], p[k + 1], p[k + 2], p[k + 3]
#define MANY(N, ...)                                                      \
    template <>                                                           \
    void Spawner::many<N>(size_t first) {                                 \
        uint64_t *p = data + first, steps = this->steps;                  \
        _Pragma(TEXT(omp task firstprivate(p, steps) depend(inout : __VA_ARGS__))) work_many<N>(steps, p); \
    }
#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define TEXT_OF(...) #__VA_ARGS__

MANY(1, p[0])
MANY(4, FOUR(p, 0))
MANY(8, FOUR(p, 0), FOUR(p, 4))
MANY(20, FOUR(p, 0), FOUR(p, 4), FOUR(p, 8), FOUR(p, 12), FOUR(p, 16))

uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

struct OpenMp {
    bool can(const Case&) { return true; }
    // The first parallel region starts the threads. They are awake after any region.
    void prepare(const Case& c, std::vector<uint64_t>&) {
#pragma omp parallel num_threads(c.workers)
        asm volatile("");
    }
    uint64_t run(const Case& c, std::vector<uint64_t>& data) {
        uint64_t value = 0;
        Spawner spawner{data.data(), c.steps};
#pragma omp parallel num_threads(c.workers)
#pragma omp single
        if (c.shape == Shape::fib) {
            value = fib(c.size[0]);
        } else {
            walk(c, spawner);
        }
        return value;
    }
    void clear() {}
};

}  // namespace

int main() {
    OpenMp peer;
    return serve(peer);
}
