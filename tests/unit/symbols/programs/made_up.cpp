// Functions that nobody wrote: for what is global, what is a thread's own, and what runs in parallel.
#include <cstdlib>

struct Holder
{
    Holder() { block = std::malloc(100); }
    ~Holder() { std::free(block); }
    void *block;
};

Holder global;
thread_local Holder own;

int main()
{
#pragma omp parallel
    {
        void *volatile block = std::malloc(10);
        std::free(block);
    }
    return own.block == global.block;
}
