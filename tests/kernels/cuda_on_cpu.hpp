// Enough of CUDA to run a kernel on the CPU, one thread block after the other.
//
// Every CUDA thread is a coroutine. It runs until it comes to a barrier, and goes on
// when its warp (or the block) has come there, too. Only for kernels whose shared memory
// is declared as `extern __shared__`, and whose threads all come to the same barriers.

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#define __global__
#define __device__ static inline
#define __shared__
#define __noinline__
#define __forceinline__
#define __launch_bounds__(threads)

using std::fma;
using std::min;

struct Dim { int x; };
static Dim threadIdx, blockIdx, blockDim;

namespace cuda_on_cpu {

enum class Waits { no, for_warp, for_block, for_ever };

struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    Waits waits = Waits::no;
    bool vote = false;
    unsigned ballot = 0;
};

static std::vector<Thread> threads;
static ucontext_t scheduler;
static std::function<void()> body;

static void wait(Waits what)
{
    Thread &self = threads[threadIdx.x];
    self.waits = what;
    swapcontext(&self.context, &scheduler);
}

static void run()
{
    body();
    wait(Waits::for_ever);
}

// Let threads of [first, last) go on if they, as far as they live, wait for this.
static bool release(int first, int last, Waits what)
{
    unsigned ballot = 0;
    bool some = false;
    for (int t = first; t < last; ++t) {
        if (threads[t].waits == Waits::for_ever)
            continue;
        if (threads[t].waits != what)
            return false;
        some = true;
        ballot |= unsigned(threads[t].vote) << (t % 32);
    }
    for (int t = first; t < last; ++t)
        if (threads[t].waits == what) {
            threads[t].ballot = ballot;
            threads[t].waits = Waits::no;
            threadIdx.x = t;
            swapcontext(&scheduler, &threads[t].context);
        }
    return some;
}

static void launch(int n_blocks, int n_threads, std::function<void()> kernel)
{
    const int stack_bytes = 1 << 16;
    body = kernel;
    blockDim.x = n_threads;
    for (blockIdx.x = 0; blockIdx.x < n_blocks; ++blockIdx.x) {
        threads = std::vector<Thread>(n_threads);
        for (int t = 0; t < n_threads; ++t) {
            Thread &thread = threads[t];
            thread.stack.reset(new char[stack_bytes]);
            getcontext(&thread.context);
            thread.context.uc_stack = {thread.stack.get(), 0, stack_bytes};
            makecontext(&thread.context, run, 0);
        }
        for (int warp = 0; warp < n_threads; warp += 32)
            release(warp, warp + 32, Waits::no);
        for (bool going = true; going;) {
            going = false;
            for (int warp = 0; warp < n_threads; warp += 32)
                while (release(warp, warp + 32, Waits::for_warp))
                    going = true;
            going = release(0, n_threads, Waits::for_block) || going;
        }
        for (const Thread &thread : threads)
            if (thread.waits != Waits::for_ever)
                std::abort();  // on a GPU this would hang
    }
}

}  // namespace cuda_on_cpu

static void __syncthreads() { cuda_on_cpu::wait(cuda_on_cpu::Waits::for_block); }

static bool __syncthreads_or(bool vote)
{
    cuda_on_cpu::threads[threadIdx.x].vote = vote;
    cuda_on_cpu::wait(cuda_on_cpu::Waits::for_block);
    return cuda_on_cpu::threads[threadIdx.x].ballot != 0;
}

static unsigned __ballot_sync(unsigned, bool vote)
{
    cuda_on_cpu::threads[threadIdx.x].vote = vote;
    cuda_on_cpu::wait(cuda_on_cpu::Waits::for_warp);
    return cuda_on_cpu::threads[threadIdx.x].ballot;
}

// Values go through memory; the second barrier keeps them there until all have read.
template <typename Value>
static Value __shfl_sync(unsigned, Value value, int lane)
{
    static Value values[1024];
    const int thread = threadIdx.x;
    values[thread] = value;
    __ballot_sync(0, false);
    const Value other = values[thread / 32 * 32 + lane];
    __ballot_sync(0, false);
    return other;
}

template <typename Value>
static Value __shfl_xor_sync(unsigned all, Value value, int gap)
{
    return __shfl_sync(all, value, threadIdx.x % 32 ^ gap);
}

static bool __any_sync(unsigned, bool vote) { return __ballot_sync(0, vote) != 0; }
static void __syncwarp() { __ballot_sync(0, false); }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static int __ffs(int bits) { return __builtin_ffs(bits); }
