// The greedy matching on a GPU, a block of rows at a time.
//
// `shortlist` scores the next rows against the columns that are left, and lists the best
// columns of each row, best first. `resolve` then lets the rows choose in turn, each the
// first column of its list that is still free, until a list is used up or the block is
// done. The next block begins where this one ended.
//
// Columns lie side by side in an order in which like ones are near each other, and the
// largest size of each coordinate is known of every 32 of them, a run. Most runs can hold
// nothing that would be listed, which is seen without a look into them.
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

typedef unsigned Flags;  // of the columns of a run: a bit is 1 if its column is taken

// A column that a row may choose, by its name.
struct Candidate {
    double score;
    int column;
};

#define NONE (Candidate{LOWEST, NOBODY})  // comes before no candidate

__device__ bool comes_before(const Candidate &one, const Candidate &other)
{
    return one.score > other.score
        || (one.score == other.score && one.column < other.column);
}

__device__ unsigned lanes_below(int lane) { return (1u << lane) - 1; }

__device__ bool is_taken(const volatile Flags *taken, int position)
{
    return taken[position >> 5] >> (position & 31) & 1;
}

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

// Flags of a run where the first columns are free, and what comes after them is taken.
__device__ Flags flags_beyond(int n_free, int run)
{
    const int n_here = n_free - 32 * run;
    return n_here <= 0 ? EVERYONE : n_here >= 32 ? 0u : EVERYONE << n_here;
}

// Where a run's largest sizes and smallest name are: those of a warp lie side by side.
__device__ int place_of(int run, int n_runs)
{
    return run % WARPS * ((n_runs + WARPS - 1) / WARPS) + run / WARPS;
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

// Begin a matching: columns (n_columns, m) are put side by side in an order of their
// names, (m, n_packed), all of them free. A thread for each, and for some that are none.
extern "C" __global__ void prepare(
    const SCALAR *columns, const long long *order, SCALAR *packed, Flags *taken,
    int *names, Progress *progress, int n_columns, int n_packed, int m)
{
    const int position = blockIdx.x * blockDim.x + threadIdx.x;
    if (position == 0)
        *progress = {0, n_packed};
    if (position <= n_packed / 32)
        taken[position] = flags_beyond(n_columns, position);
    if (position >= n_packed)
        return;
    const bool is_one = position < n_columns;
    const int name = is_one ? int(order[position]) : NOBODY;
    names[position] = name;
    for (int h = 0; h < m; ++h)
        packed[(long long)h * n_packed + position]
            = is_one ? columns[(long long)name * m + h] : SCALAR(0);
}

// A thread block for each row. Rows are in the order in which they choose, (n_rows, m).
// Columns are packed, (m, n_columns); those that are left are the first n_packed, a
// multiple of 32. Of each run of 32 of them `largest`, (m, n_places), has the largest size
// of every coordinate, and `firsts` the smallest name. A list holds positions. It ends
// with n_packed, which is no column; its flag, too, says that it is taken.
//
// Every warp looks at each WARPS-th run, and keeps the best 32 columns of them. Those of
// all warps together are the best of all columns down to the one from which on some warp
// may have dropped a better one.
//
// A warp begins with the runs that promise most: of those that fall to a lane, the best.
// It looks into a run only if a column could come before its bar, the last of the best
// 32: sizes in place of values give no smaller score, since rounding keeps the order.
extern "C" __global__ void shortlist(
    const SCALAR *rows, const SCALAR *columns, const SCALAR *largest, const int *firsts,
    const Flags *taken, const int *names, const int *positions, const Progress *progress,
    int *lists, int n_rows, int n_columns, int n_places, int m)
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

    const int n_weights = *n_support, n_runs = n_packed / 32;
    const auto promise_of = [&](int run) {
        if (run >= n_runs || taken[run] == EVERYONE)
            return NONE;
        const int place = place_of(run, n_columns / 32);
        double total = 0.0;
        for (int s = 0; s < n_weights; ++s) {
            const SCALAR *sizes = largest + (long long)support[s] * n_places;
            total = fma(fabs(weights[s]), double(sizes[place]), total);
        }
        return Candidate{total, firsts[place]};
    };
    Candidate promise = NONE;
    int first_run = 0;  // that this lane looks into
    for (int run = warp + WARPS * lane; run < n_runs; run += LENGTH) {
        const Candidate other = promise_of(run);
        if (comes_before(other, promise))
            promise = other, first_run = run;
    }
    promise = merged(NONE, promise, lane);
    int run = promise.column == NOBODY ? 0 : positions[promise.column] / 32;

    Candidate best = NONE, bar = NONE;
    int n_waiting = 0;
    for (int start = warp;; start += LENGTH) {
        unsigned vote;
        while ((vote = __ballot_sync(EVERYONE, comes_before(promise, bar))) != 0) {
            double total[UNROLL] = {};
            int position[UNROLL];
            bool is_free[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int next = __ffs(vote) - 1;  // or -1
                vote &= vote - 1;
                if (lane == next)
                    promise = NONE;
                position[u] = 32 * __shfl_sync(EVERYONE, run, next & 31) + lane;
                is_free[u] = next >= 0 && !(taken[position[u] >> 5] >> lane & 1);
            }
            for (int s = 0; s < n_weights; ++s) {
                const SCALAR *values = columns + (long long)support[s] * n_columns;
                const double weight = weights[s];
                double value[UNROLL];
#pragma unroll
                for (int u = 0; u < UNROLL; ++u)
                    value[u] = is_free[u] ? double(values[position[u]]) : 0.0;
#pragma unroll
                for (int u = 0; u < UNROLL; ++u)
                    total[u] = fma(weight, value[u], total[u]);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const bool may = is_free[u] && total[u] >= bar.score;
                const Candidate mine = {total[u], may ? names[position[u]] : NOBODY};
                const bool enters = may && comes_before(mine, bar);
                const unsigned entering = __ballot_sync(EVERYONE, enters);
                if (entering == 0)
                    continue;
                if (enters) {
                    const int i = n_waiting + __popc(entering & lanes_below(lane));
                    scores[i] = mine.score, waiting[i] = mine.column;
                }
                n_waiting += __popc(entering);
                __syncwarp();
                if (n_waiting >= 32) {
                    best = merged(best, {scores[lane], waiting[lane]}, lane);
                    bar = {__shfl_sync(EVERYONE, best.score, 31),
                           __shfl_sync(EVERYONE, best.column, 31)};
                    n_waiting -= 32;
                    scores[lane] = scores[32 + lane], waiting[lane] = waiting[32 + lane];
                    __syncwarp();
                }
            }
        }
        if (start >= n_runs)
            break;
        run = start + WARPS * lane;
        promise = run == first_run ? NONE : promise_of(run);
    }
    const bool waits = lane < n_waiting;
    best = merged(best, waits ? Candidate{scores[lane], waiting[lane]} : NONE, lane);

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
        list[rank] = positions[best.column];
}

// The first column of a list that is free, or n_packed if it is used up. For one warp.
__device__ __noinline__ int search(
    const int *list, const volatile Flags *taken, int n_packed, int lane)
{
    for (int k = 0; k < WARPS; ++k) {
        const int column = list[32 * k + lane];
        const unsigned vote = __ballot_sync(EVERYONE, !is_taken(taken, column));
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
    const int *nexts, const int *lists, volatile Flags *taken, int *column_of_row,
    int n_rows, int n_packed, int lane)
{
    const unsigned me = 1u << lane, up_to_me = me | lanes_below(lane);
    int coming = nexts[lane];
    for (int row = 0; row < n_rows; ++row) {
        int mine = coming;
        coming = nexts[(row + 1) * 32 + lane];
        Flags flags = taken[mine >> 5];
        unsigned vote = __ballot_sync(EVERYONE, !(flags >> (mine & 31) & 1));
        if (vote == 0) {
            mine = search(lists + row * LENGTH, taken, n_packed, lane);
            if (mine == n_packed)
                return row;
            flags = taken[mine >> 5];
            vote = EVERYONE;
        }
        if ((vote & up_to_me) == me) {  // the first whose column is free
            taken[mine >> 5] = flags | 1u << (mine & 31);
            column_of_row[row] = mine;
        }
        __syncwarp();
    }
    return n_rows;
}

// The next 32 columns of a list that are free. For one warp. What is taken in the
// meantime is found out when the row chooses.
__device__ void look_ahead(
    int *next, const int *list, const volatile Flags *taken, int n_packed, int lane)
{
    int column[WARPS], n_found = 0;
    next[lane] = n_packed;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < WARPS; ++k)
        column[k] = list[32 * k + lane];
#pragma unroll
    for (int k = 0; k < WARPS; ++k) {
        const bool is_free = !is_taken(taken, column[k]);
        const unsigned vote = __ballot_sync(EVERYONE, is_free);
        const int place = n_found + __popc(vote & lanes_below(lane));
        if (is_free && place < 32)
            next[place] = column[k];
        n_found += __popc(vote);
    }
}

// The first warp lets rows choose, 32 at a time, while the others look ahead.
__device__ __forceinline__ int choose_all(
    const int *lists, int *nexts, volatile Flags *taken, int *column_of_row, int n_rows,
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

__device__ void copy(Flags *to, const Flags *from, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = from[i];
}

// One thread block. Flags of columns are copied to shared memory, if it has room for
// them.
extern "C" __global__ void __launch_bounds__(1024) resolve(
    const int *lists, Flags *taken, const int *names, Progress *progress,
    int *column_of_row, int n_rows, int n_flags_of_room)
{
    extern __shared__ int nexts[];  // of two times 32 rows and one, then flags
    Flags *flags = (Flags *)(nexts + 65 * 32);
    const int first = progress->n_rows, n_block = min(BLOCK_ROWS, n_rows - first);
    if (n_block <= 0)
        return;
    const int n_packed = progress->n_packed, n_flags = n_packed / 32 + 1;
    const bool fits = n_flags <= n_flags_of_room;
    int *chosen = column_of_row + first;
    if (fits)
        copy(flags, taken, n_flags);
    __syncthreads();
    // Two calls, so that the compiler sees which flags are in shared memory.
    const int n_chosen = fits
        ? choose_all(lists, nexts, flags, chosen, n_block, n_packed)
        : choose_all(lists, nexts, taken, chosen, n_block, n_packed);
    if (fits)
        copy(taken, flags, n_flags);
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
__device__ int keep_free(Value *values, const Flags *taken, int n, int *n_free)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n_warps = blockDim.x / 32;
    int n_kept = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        const int column = start + threadIdx.x;
        const bool stays = column < n && !is_taken(taken, column);
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
    SCALAR *columns, SCALAR *largest, const Flags *taken, const Progress *progress,
    int n_columns, int n_places)
{
    extern __shared__ int n_free[];
    SCALAR *values = columns + (long long)blockIdx.x * n_columns;
    SCALAR *sizes = largest + (long long)blockIdx.x * n_places;
    const int n_kept = keep_free(values, taken, progress->n_packed, n_free);
    for (int run = threadIdx.x; 32 * run < n_kept; run += blockDim.x) {
        SCALAR size = 0;
        for (int i = 32 * run; i < min(32 * run + 32, n_kept); ++i) {
            const SCALAR mine = values[i] < 0 ? -values[i] : values[i];
            size = mine > size ? mine : size;
        }
        sizes[place_of(run, n_columns / 32)] = size;
    }
}

// One thread block, when all columns are packed: nothing of what is left is taken.
extern "C" __global__ void __launch_bounds__(1024) relabel(
    int *names, int *positions, int *firsts, Flags *taken, Progress *progress,
    int n_columns)
{
    extern __shared__ int n_free[];
    const int n = progress->n_packed, n_kept = keep_free(names, taken, n, n_free);
    for (int run = threadIdx.x; run <= n / 32; run += blockDim.x) {
        int first = NOBODY;
        for (int i = 32 * run; i < min(32 * run + 32, n_kept); ++i) {
            positions[names[i]] = i;
            first = min(first, names[i]);
        }
        if (first != NOBODY)
            firsts[place_of(run, n_columns / 32)] = first;
        taken[run] = flags_beyond(n_kept, run);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        progress->n_packed = (n_kept + 31) / 32 * 32;
}
