// The protocol of src/child.rs, and the clock. A line asks: "SHAPE SIZE SIZE STEPS LONG_STEPS
// WORKERS". A line answers: "ok NANOSECONDS SUM RAN RAN ...", with the tasks that each thread ran,
// or "error WHY".
//
// A peer is a class with these functions:
// - `bool can(const Case&)`: whether it can express the shape.
// - `void prepare(const Case&, std::vector<uint64_t>& data)` wakes the threads and registers the
//   data. It runs before the clock starts.
// - `uint64_t run(const Case&, std::vector<uint64_t>& data)` runs all tasks. It
//   returns fib's value.
// - `void clear()` runs after the clock has stopped.
#pragma once

#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <iostream>
#include <numeric>
#include <sstream>

#include "graphs.hpp"

inline bool parse(const std::string& line, Case& c) {
    std::istringstream in(line);
    in >> c.name >> c.size[0] >> c.size[1] >> c.steps >> c.long_steps >> c.workers;
    return in && find_shape(c.name, c.shape) && c.workers > 0;
}

template <class Peer>
std::string answer(Peer& peer, const Case& c) {
    std::vector<uint64_t> data(data_of(c));
    std::iota(data.begin(), data.end(), 0);
    peer.prepare(c, data);
    // No task runs now or after the clock has stopped, so this thread may read the tallies.
    std::vector<Tally> before(tallies.begin(), tallies.end());
    auto start = std::chrono::steady_clock::now();
    uint64_t sum = peer.run(c, data);
    auto time = std::chrono::steady_clock::now() - start;
    before.resize(tallies.size());
    std::ostringstream ran;
    for (size_t k = 0; k < tallies.size(); k++) {
        sum += tallies[k].sum - before[k].sum;
        if (uint64_t count = tallies[k].ran - before[k].ran) ran << ' ' << count;
    }
    peer.clear();
    std::ostringstream out;
    out << "ok " << std::chrono::nanoseconds(time).count() << ' ' << sum << ran.str();
    return out.str();
}

// Answers until the input ends.
template <class Peer>
int serve(Peer& peer) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (std::string line; std::getline(std::cin, line);) {
        Case c;
        if (!parse(line, c)) {
            std::cout << "error not understood: " << line << std::endl;
        } else if (!peer.can(c)) {
            std::cout << "error cannot express " << c.name << std::endl;
        } else {
            std::cout << answer(peer, c) << std::endl;
        }
    }
    return 0;
}
