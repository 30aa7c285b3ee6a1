// StarPU: tasks on registered data, with its implicit dependences. The number of workers is
// STARPU_NCPU. The thread that submits is not one of them.

#include <starpu.h>

#include "serve.hpp"

namespace {

uint64_t steps_now;

uint64_t& value(void* buffer) { return *reinterpret_cast<uint64_t*>(STARPU_VARIABLE_GET_PTR(buffer)); }

// The argument of the task carries what `alone` needs.
struct Alone {
    uint64_t k, steps;
};

void run_alone(void**, void* arg) {
    auto* alone = static_cast<Alone*>(arg);
    work(alone->steps, alone->k, 0, 0);
}
void run_read(void** buffers, void*) { work(steps_now, 0, value(buffers[0]), 0); }
void run_inout(void** buffers, void*) {
    uint64_t& c = value(buffers[0]);
    c = work(steps_now, c, 0, 0);
}
void run_update(void** buffers, void*) {
    uint64_t& c = value(buffers[1]);
    c = work(steps_now, c, value(buffers[0]), 0);
}
void run_update_by_two(void** buffers, void*) {
    uint64_t& c = value(buffers[2]);
    c = work(steps_now, c, value(buffers[0]), value(buffers[1]));
}
// The data of a task are adjacent.
template <size_t N>
void run_many(void** buffers, void*) {
    work_many<N>(steps_now, &value(buffers[0]));
}

starpu_codelet codelet(void (*body)(void**, void*), int data, int reads) {
    starpu_codelet made;
    starpu_codelet_init(&made);
    made.cpu_funcs[0] = body;
    made.nbuffers = data;
    auto* modes = new starpu_data_access_mode[data + 1];
    for (int k = 0; k < data; k++) modes[k] = k < reads ? STARPU_R : STARPU_RW;
    if (data > STARPU_NMAXBUFS) {
        made.dyn_modes = modes;
    } else {
        std::copy(modes, modes + data, made.modes);
        delete[] modes;
    }
    return made;
}

starpu_codelet alone_codelet = codelet(run_alone, 0, 0);
starpu_codelet read_codelet = codelet(run_read, 1, 1);
starpu_codelet inout_codelet = codelet(run_inout, 1, 0);
starpu_codelet update_codelet = codelet(run_update, 2, 1);
starpu_codelet update_by_two_codelet = codelet(run_update_by_two, 3, 2);
template <size_t N>
starpu_codelet many_codelet = codelet(run_many<N>, N, 0);

struct Spawner {
    std::vector<starpu_data_handle_t>& handles;

    void alone(uint64_t k, uint64_t steps) {
        starpu_task* task = starpu_task_create();
        task->cl = &alone_codelet;
        auto* arg = static_cast<Alone*>(malloc(sizeof(Alone)));
        *arg = {k, steps};
        task->cl_arg = arg;
        task->cl_arg_size = sizeof(Alone);
        task->cl_arg_free = 1;
        submit(task);
    }
    void read(size_t a) { spawn(read_codelet, {a}); }
    void inout(size_t c) { spawn(inout_codelet, {c}); }
    void update(size_t a, size_t c) { spawn(update_codelet, {a, c}); }
    void update_by_two(size_t a, size_t b, size_t c) { spawn(update_by_two_codelet, {a, b, c}); }
    template <size_t N>
    void many(size_t first) {
        starpu_task* task = starpu_task_create();
        task->cl = &many_codelet<N>;
        starpu_data_handle_t* into = task->handles;
        // StarPU frees these with the task.
        if (N > STARPU_NMAXBUFS) {
            into = task->dyn_handles = static_cast<starpu_data_handle_t*>(malloc(N * sizeof *into));
        }
        for (size_t k = 0; k < N; k++) into[k] = handles[first + k];
        submit(task);
    }

   private:
    void spawn(starpu_codelet& codelet, std::initializer_list<size_t> data) {
        starpu_task* task = starpu_task_create();
        task->cl = &codelet;
        size_t k = 0;
        for (size_t datum : data) task->handles[k++] = handles[datum];
        submit(task);
    }
    static void submit(starpu_task* task) {
        if (starpu_task_submit(task) != 0) abort();
    }
};

struct StarPu {
    std::vector<starpu_data_handle_t> handles;

    bool can(const Case& c) { return c.shape != Shape::fib; }
    void prepare(const Case& c, std::vector<uint64_t>& data) {
        steps_now = c.steps;
        handles.resize(data.size());
        for (size_t k = 0; k < data.size(); k++) {
            auto place = reinterpret_cast<uintptr_t>(&data[k]);
            starpu_variable_data_register(&handles[k], STARPU_MAIN_RAM, place, sizeof data[k]);
        }
    }
    uint64_t run(const Case& c, std::vector<uint64_t>&) {
        Spawner spawner{handles};
        walk(c, spawner);
        starpu_task_wait_for_all();
        return 0;
    }
    void clear() {
        for (auto handle : handles) starpu_data_unregister(handle);
    }
};

}  // namespace

int main() {
    if (starpu_init(nullptr) != 0) {
        std::cout << "error StarPU does not start" << std::endl;
        return 1;
    }
    StarPu peer;
    int status = serve(peer);
    starpu_shutdown();
    return status;
}
