// The greedy matching on a GPU, a block of rows at a time.
//
// `shortlist` scores the next rows against all columns that are left, and lists the best
// columns of each row, best first. `resolve` then lets the rows choose in turn, each the
// first column of its list that is still free, until a list is used up or the block is
// done. The next block begins where this one ended.
//
// `pack` and `relabel` leave out the columns that are taken, now and then. Until the next
// time a column goes by its position among those that were left.
//
// A score is a chain of fused multiply-adds in float64 over ascending coordinates: to
// the last bit the score that the searches on the CPU compute, so the answer is theirs.
//
// To be defined: SCALAR (float or double), WARPS (that share the columns of a row among
// them in `shortlist`), and BLOCK_ROWS.

#define EVERYONE 0xffffffffu
#define LOWEST (-1.7976931348623157e308)  // no score is below it
#define NOBODY 0x7fffffff
#define LENGTH (32 * WARPS)  // of a list
#define UNROLL 8  // columns that a thread scores at the same time
#define FLAGS_BEYOND 4  // the last column, that say taken

typedef unsigned char Flag;  // of a column: 1 if it is taken

// A column that a row may choose.
struct Candidate {
    double score;
    int column;
};

__device__ bool comes_before(const Candidate &one, const Candidate &other)
{
    return one.score > other.score
        || (one.score == other.score && one.column < other.column);
}

__device__ unsigned lanes_below(int lane) { return (1u << lane) - 1; }

// The better of the candidates of two lanes, or the other one.
__device__ Candidate exchange(const Candidate &mine, int gap, bool better)
{
    const Candidate other = {__shfl_xor_sync(EVERYONE, mine.score, gap),
                             __shfl_xor_sync(EVERYONE, mine.column, gap)};
    return comes_before(other, mine) == better ? other : mine;
}

// Sort the candidates of a warp by a bitonic network, the best in the last lane.
__device__ Candidate sorted(Candidate mine, int lane)
{
#pragma unroll
    for (int run = 2; run <= 32; run *= 2)
#pragma unroll
        for (int gap = run / 2; gap > 0; gap /= 2)
            mine = exchange(mine, gap, ((lane & gap) == 0) == ((lane & run) != 0));
    return mine;
}

// The best 32 of a warp's candidates so far, best first, and 32 new ones. Not inlined:
// it is called from many places and seldom, and would push the rest out of the cache.
__device__ __noinline__ Candidate merged(Candidate best, Candidate waiting, int lane)
{
    const Candidate fresh = sorted(waiting, lane);
    Candidate mine = comes_before(fresh, best) ? fresh : best;
#pragma unroll
    for (int gap = 16; gap > 0; gap /= 2)
        mine = exchange(mine, gap, (lane & gap) == 0);
    return mine;
}

// How many of 32 candidates, best first, come before another one.
__device__ int count_before(const Candidate &mine, const double *scores, const int *columns)
{
    int count = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        const int i = count + step - 1;
        count += comes_before({scores[i], columns[i]}, mine) ? step : 0;
    }
    return count + comes_before({scores[count], columns[count]}, mine);
}

// How far a matching has come.
struct Progress {
    int n_rows;  // that have chosen
    int n_packed;  // columns that are left, or were when they were packed
};

// Begin a matching: columns (n_columns, m) are packed side by side, (m, n_packed), all of
// them free, and go by their own names. A thread for each, and for some that are none.
extern "C" __global__ void prepare(
    const SCALAR *columns, SCALAR *packed, Flag *taken, int *names, Progress *progress,
    int n_columns, int n_packed, int m)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column == 0)
        *progress = {0, n_packed};
    if (column < n_packed + FLAGS_BEYOND)
        taken[column] = column >= n_columns;
    if (column >= n_packed)
        return;
    names[column] = column;
    for (int h = 0; h < m; ++h) {
        const bool is_one = column < n_columns;
        packed[(long long)h * n_packed + column]
            = is_one ? columns[(long long)column * m + h] : SCALAR(0);
    }
}

// A thread block for each row. Rows are in the order in which they choose, (n_rows, m).
// Columns are packed, (m, n_columns); those that are left are the first n_packed, a
// multiple of 32. A list ends with n_packed, which is no column; its flag, too, says
// that it is taken.
//
// Every warp looks at each WARPS-th run of 32 columns, and keeps the best 32 of them.
// Those of all warps together are the best of all columns down to the one from which on
// some warp may have dropped a better one.
extern "C" __global__ void shortlist(
    const SCALAR *rows, const SCALAR *columns, const Flag *taken,
    const Progress *progress, int *lists, int n_rows, int n_columns, int m)
{
    extern __shared__ double room[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = progress->n_rows + blockIdx.x, n_packed = progress->n_packed;
    if (row >= n_rows)
        return;

    // Weights of the row and where they are; candidates of each warp that wait for 32.
    double *weights = room, *all_scores = weights + m, *scores = all_scores + 64 * warp;
    int *support = (int *)(all_scores + 64 * WARPS), *all_waiting = support + m;
    int *waiting = all_waiting + 64 * warp, *n_support = all_waiting + 64 * WARPS;

    if (warp == 0) {
        int n = 0;
        for (int start = 0; start < m; start += 32) {
            const int h = start + lane;
            const double weight = h < m ? double(rows[(long long)row * m + h]) : 0.0;
            const unsigned vote = __ballot_sync(EVERYONE, weight != 0.0);
            if (weight != 0.0) {
                const int s = n + __popc(vote & lanes_below(lane));
                support[s] = h, weights[s] = weight;
            }
            n += __popc(vote);
        }
        *n_support = n;
    }
    int *list = lists + blockIdx.x * LENGTH;
    list[threadIdx.x] = n_packed;
    __syncthreads();

    const int n_weights = *n_support;
    Candidate best = {LOWEST, NOBODY};
    double bar = LOWEST;  // to be exceeded, for a column to be among the best
    int n_waiting = 0;
    for (int start = 32 * warp; start < n_packed; start += UNROLL * LENGTH) {
        double total[UNROLL] = {};
        bool is_free[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const int run = start + u * LENGTH;
            is_free[u] = run < n_packed && !taken[run + lane];
        }
        for (int s = 0; s < n_weights; ++s) {
            const SCALAR *values = columns + (long long)support[s] * n_columns + lane;
            const double weight = weights[s];
            double value[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int run = start + u * LENGTH;
                value[u] = run < n_packed ? double(values[run]) : 0.0;
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
                total[u] = fma(weight, value[u], total[u]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            // Later columns lose ties, so the bar has to be exceeded.
            const bool enters = is_free[u] && total[u] > bar;
            const unsigned vote = __ballot_sync(EVERYONE, enters);
            if (vote == 0)
                continue;
            if (enters) {
                const int i = n_waiting + __popc(vote & lanes_below(lane));
                scores[i] = total[u], waiting[i] = start + u * LENGTH + lane;
            }
            n_waiting += __popc(vote);
            __syncwarp();
            if (n_waiting >= 32) {
                best = merged(best, {scores[lane], waiting[lane]}, lane);
                bar = __shfl_sync(EVERYONE, best.score, 31);
                n_waiting -= 32;
                scores[lane] = scores[32 + lane], waiting[lane] = waiting[32 + lane];
                __syncwarp();
            }
        }
    }
    const Candidate none = {LOWEST, NOBODY};
    const bool waits = lane < n_waiting;
    best = merged(best, waits ? Candidate{scores[lane], waiting[lane]} : none, lane);

    __syncwarp();
    scores[lane] = best.score, waiting[lane] = best.column;
    __syncthreads();
    int rank = lane;
    bool surely = best.column != NOBODY;
    for (int other = 0; other < WARPS; ++other)
        if (other != warp) {
            const int n = count_before(best, all_scores + 64 * other, all_waiting + 64 * other);
            rank += n;
            surely = surely && n < 32;
        }
    if (surely)
        list[rank] = best.column;
}

// The first column of a list that is free, or n_packed if it is used up. For one warp.
__device__ __noinline__ int search(
    const int *list, const volatile Flag *taken, int n_packed, int lane)
{
    for (int k = 0; k < WARPS; ++k) {
        const int column = list[32 * k + lane];
        const unsigned vote = __ballot_sync(EVERYONE, !taken[column]);
        if (vote != 0)
            return __shfl_sync(EVERYONE, column, __ffs(vote) - 1);
    }
    return n_packed;
}

// Let up to 32 rows choose in turn, each the first column of its list that is free;
// return how many found one. For one warp. It looks at the next 32 columns of a row, and
// searches the whole list only if all of them are gone.
//
// Nothing else can be done meanwhile: what counts here is the number of instructions.
__device__ __forceinline__ int choose_in_turn(
    const int *nexts, const int *lists, volatile Flag *taken, int *column_of_row,
    int n_rows, int n_packed, int lane)
{
    const unsigned me = 1u << lane, up_to_me = me | lanes_below(lane);
    int coming = nexts[lane];
    for (int row = 0; row < n_rows; ++row) {
        int mine = coming;
        coming = nexts[(row + 1) * 32 + lane];
        unsigned vote = __ballot_sync(EVERYONE, !taken[mine]);
        if (vote == 0) {
            mine = search(lists + row * LENGTH, taken, n_packed, lane);
            if (mine == n_packed)
                return row;
            vote = EVERYONE;
        }
        if ((vote & up_to_me) == me) {  // the first whose column is free
            taken[mine] = 1;
            column_of_row[row] = mine;
        }
        __syncwarp();
    }
    return n_rows;
}

// The next 32 columns of a list that are free. For one warp. What is taken in the
// meantime is found out when the row chooses.
__device__ void look_ahead(
    int *next, const int *list, const volatile Flag *taken, int n_packed, int lane)
{
    int column[WARPS], n_found = 0;
    next[lane] = n_packed;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < WARPS; ++k)
        column[k] = list[32 * k + lane];
#pragma unroll
    for (int k = 0; k < WARPS; ++k) {
        const bool is_free = !taken[column[k]];
        const unsigned vote = __ballot_sync(EVERYONE, is_free);
        const int place = n_found + __popc(vote & lanes_below(lane));
        if (is_free && place < 32)
            next[place] = column[k];
        n_found += __popc(vote);
    }
}

// The first warp lets rows choose, 32 at a time, while the others look ahead.
__device__ __forceinline__ int choose_all(
    const int *lists, int *nexts, volatile Flag *taken, int *column_of_row, int n_rows,
    int n_packed)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n_warps = blockDim.x / 32;
    int n_chosen = 0;
    bool stuck = false;
    for (int start = -32; start < n_rows && !stuck; start += 32) {
        const int later = start + 32, here = start / 32 & 1, there = 1 - here;
        if (warp > 0) {
            for (int row = warp - 1; row < min(32, n_rows - later); row += n_warps - 1)
                look_ahead(
                    nexts + (there * 32 + row) * 32, lists + (later + row) * LENGTH, taken,
                    n_packed, lane);
        } else if (start >= 0) {
            const int n = min(32, n_rows - start);
            const int n_now = choose_in_turn(
                nexts + here * 32 * 32, lists + start * LENGTH, taken,
                column_of_row + start, n, n_packed, lane);
            n_chosen += n_now;
            stuck = n_now < n;
        }
        stuck = __syncthreads_or(stuck);
    }
    return n_chosen;
}

__device__ void copy(int *to, const int *from, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = from[i];
}

// One thread block. Flags of columns are copied to shared memory, if it has room for
// them, four at a time.
extern "C" __global__ void __launch_bounds__(1024) resolve(
    const int *lists, int *taken, const int *names, Progress *progress,
    int *column_of_row, int n_rows, int n_words_of_room)
{
    extern __shared__ int nexts[];  // of two times 32 rows and one, then flags
    int *flags = nexts + 65 * 32;
    const int first = progress->n_rows, n_block = min(BLOCK_ROWS, n_rows - first);
    if (n_block <= 0)
        return;
    const int n_packed = progress->n_packed, n_words = n_packed / 4 + 1;
    const bool fits = n_words <= n_words_of_room;
    int *chosen = column_of_row + first;
    if (fits)
        copy(flags, taken, n_words);
    __syncthreads();
    // Two calls, so that the compiler sees which flags are in shared memory.
    const int n_chosen = fits
        ? choose_all(lists, nexts, (Flag *)flags, chosen, n_block, n_packed)
        : choose_all(lists, nexts, (Flag *)taken, chosen, n_block, n_packed);
    if (fits)
        copy(taken, flags, n_words);
    if (threadIdx.x == 0)  // of the warp that knows
        progress->n_rows = first + n_chosen;
    __syncthreads();
    for (int i = first + threadIdx.x; i < progress->n_rows; i += blockDim.x)
        column_of_row[i] = names[column_of_row[i]];
}

// Move the values of columns that are free to the front, in place; return how many they
// are. For a thread block, with shared memory for a number per warp. What is not moved
// yet is never written to: nothing moves to the back.
template <typename Value>
__device__ int keep_free(Value *values, const Flag *taken, int n, int *n_free)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n_warps = blockDim.x / 32;
    int n_kept = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        const int column = start + threadIdx.x;
        const bool stays = column < n && !taken[column];
        const Value value = stays ? values[column] : Value(0);
        const unsigned vote = __ballot_sync(EVERYONE, stays);
        if (lane == 0)
            n_free[warp] = __popc(vote);
        __syncthreads();
        int place = n_kept + __popc(vote & lanes_below(lane));
        for (int w = 0; w < n_warps; ++w) {
            place += w < warp ? n_free[w] : 0;
            n_kept += n_free[w];
        }
        if (stays)
            values[place] = value;
        __syncthreads();
    }
    return n_kept;
}

// A thread block for each coordinate of the columns.
extern "C" __global__ void __launch_bounds__(1024) pack(
    SCALAR *columns, const Flag *taken, const Progress *progress, int n_columns)
{
    extern __shared__ int n_free[];
    SCALAR *values = columns + (long long)blockIdx.x * n_columns;
    keep_free(values, taken, progress->n_packed, n_free);
}

// One thread block, when all columns are packed: nothing of what is left is taken.
extern "C" __global__ void __launch_bounds__(1024) relabel(
    int *names, Flag *taken, Progress *progress)
{
    extern __shared__ int n_free[];
    const int n = progress->n_packed, n_kept = keep_free(names, taken, n, n_free);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        taken[i] = i >= n_kept;
    __syncthreads();
    if (threadIdx.x == 0)
        progress->n_packed = (n_kept + 31) / 32 * 32;
}
