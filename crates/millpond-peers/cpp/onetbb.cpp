// oneTBB: a flow graph whose edges come from a table of last writers, `task_group` for tasks
// without an access, and `parallel_invoke` for fork-join.

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <memory>

#include "serve.hpp"

namespace {

namespace tbb = oneapi::tbb;
using Message = tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<Message>;

struct Grouper {
    tbb::task_group group;
    void alone(uint64_t k, uint64_t steps) {
        group.run([k, steps] { work(steps, k, 0, 0); });
    }
    void read(size_t) {}
    void inout(size_t) {}
    void update(size_t, size_t) {}
    void update_by_two(size_t, size_t, size_t) {}
    template <size_t N>
    void many(size_t) {}
};

// A graph under construction: the last writer of each datum, and its readers since then.
class Builder {
   public:
    Builder(std::vector<uint64_t>& data, uint64_t steps) : users_(data.size()), data_(data.data()), steps_(steps) {}

    void alone(uint64_t, uint64_t) {}
    void read(size_t a) {
        uint64_t *pa = data_ + a, steps = steps_;
        begin([=] { work(steps, 0, *pa, 0); });
        reads(a);
        end();
    }
    void inout(size_t c) {
        uint64_t *pc = data_ + c, steps = steps_;
        begin([=] { *pc = work(steps, *pc, 0, 0); });
        writes(c);
        end();
    }
    void update(size_t a, size_t c) {
        uint64_t *pa = data_ + a, *pc = data_ + c, steps = steps_;
        begin([=] { *pc = work(steps, *pc, *pa, 0); });
        reads(a);
        writes(c);
        end();
    }
    void update_by_two(size_t a, size_t b, size_t c) {
        uint64_t *pa = data_ + a, *pb = data_ + b, *pc = data_ + c, steps = steps_;
        begin([=] { *pc = work(steps, *pc, *pa, *pb); });
        reads(a);
        reads(b);
        writes(c);
        end();
    }
    template <size_t N>
    void many(size_t first) {
        uint64_t *p = data_ + first, steps = steps_;
        begin([=] { work_many<N>(steps, p); });
        for (size_t k = 0; k < N; k++) writes(first + k);
        end();
    }

    // Runs the graph that was built.
    void run() {
        for (Node* node : sources_) node->try_put(Message());
        graph_.wait_for_all();
    }

   private:
    struct Users {
        Node* writer = nullptr;
        std::vector<Node*> readers;
    };

    template <class Body>
    void begin(Body body) {
        node_ = &nodes_.emplace_back(graph_, [body](const Message&) { body(); });
        edges_ = 0;
    }
    void after(Node* earlier) {
        tbb::flow::make_edge(*earlier, *node_);
        edges_++;
    }
    void reads(size_t datum) {
        Users& users = users_[datum];
        if (users.writer) after(users.writer);
        users.readers.push_back(node_);
    }
    void writes(size_t datum) {
        Users& users = users_[datum];
        for (Node* reader : users.readers) after(reader);
        if (users.readers.empty() && users.writer) after(users.writer);
        users.readers.clear();
        users.writer = node_;
    }
    void end() {
        if (edges_ == 0) sources_.push_back(node_);
    }

    tbb::flow::graph graph_;
    std::deque<Node> nodes_;
    std::vector<Users> users_;
    std::vector<Node*> sources_;
    uint64_t* data_;
    uint64_t steps_;
    Node* node_ = nullptr;
    int edges_ = 0;
};

uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t a, b;
    tbb::parallel_invoke([&a, n] { a = fib(n - 1); }, [&b, n] { b = fib(n - 2); });
    return a + b;
}

class OneTbb {
   public:
    bool can(const Case&) { return true; }
    void prepare(const Case& c, std::vector<uint64_t>& data) {
        // One arena per process. The parent has one process for each number of workers.
        if (!arena_) {
            limit_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, c.workers);
            arena_ = std::make_unique<tbb::task_arena>(c.workers);
        }
        arena_->execute([&] {
            builder_ = std::make_unique<Builder>(data, c.steps);
            tbb::parallel_for(0, 1000, [](int) { asm volatile(""); });
        });
    }
    uint64_t run(const Case& c, std::vector<uint64_t>&) {
        return arena_->execute([&]() -> uint64_t {
            if (c.shape == Shape::fib) return fib(c.size[0]);
            if (c.shape == Shape::flat || c.shape == Shape::bimodal) {
                Grouper grouper;
                walk(c, grouper);
                grouper.group.wait();
            } else {
                walk(c, *builder_);
                builder_->run();
            }
            return 0;
        });
    }
    void clear() {
        arena_->execute([&] { builder_.reset(); });
    }

   private:
    std::unique_ptr<tbb::global_control> limit_;
    std::unique_ptr<tbb::task_arena> arena_;
    std::unique_ptr<Builder> builder_;
};

}  // namespace

int main() {
    OneTbb peer;
    return serve(peer);
}
