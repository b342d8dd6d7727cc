// The greedy matching on a GPU, a block of rows at a time.
//
// `shortlist` scores the next rows against all columns that are left, and lists the best
// columns of each row, best first. `resolve` then lets the rows choose in turn, each the
// first column of its list that is still free, until a list is used up or the block is
// done. The next block begins where this one ended.
//
// A score is a chain of fused multiply-adds in float64 over ascending coordinates: to
// the last bit the score that the searches on the CPU compute, so the answer is theirs.
//
// To be defined: SCALAR (float or double), WARPS (that share the columns of a row among
// them in `shortlist`), BLOCK_ROWS, and BATCH (rows that `resolve` reads at a time).

#define EVERYONE 0xffffffffu
#define LOWEST (-1.7976931348623157e308)  // no score is below it
#define NOBODY 0x7fffffff
#define LENGTH (32 * WARPS)  // of a list
#define UNROLL 8  // columns that a thread scores at the same time

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

// A thread block for each row. Rows are in the order in which they choose, (n_rows, m).
// Columns are those that were left when they were last packed, (m, n_columns); `names`
// are their numbers, ascending. A list ends with `nobody`, which is a column that counts
// as taken.
//
// Every warp looks at each WARPS-th run of 32 columns, and keeps the best 32 of them.
// Those of all warps together are the best of all columns down to the one from which on
// some warp may have dropped a better one.
extern "C" __global__ void shortlist(
    const SCALAR *rows, const SCALAR *columns, const int *names, const unsigned *taken,
    const int *n_done, int *lists, int n_rows, int n_columns, int m, int nobody)
{
    extern __shared__ double room[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = *n_done + blockIdx.x;
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
    list[threadIdx.x] = nobody;
    __syncthreads();

    const int n_weights = *n_support;
    Candidate best = {LOWEST, NOBODY};
    double bar = LOWEST;  // to be exceeded, for a column to be among the best
    int n_waiting = 0;
    for (int start = 32 * warp + lane; start - lane < n_columns; start += UNROLL * LENGTH) {
        double total[UNROLL] = {};
        for (int s = 0; s < n_weights; ++s) {
            const SCALAR *values = columns + (long long)support[s] * n_columns;
            const double weight = weights[s];
            double value[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int position = start + u * LENGTH;
                value[u] = position < n_columns ? double(values[position]) : 0.0;
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
                total[u] = fma(weight, value[u], total[u]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            // Later columns lose ties, so the bar has to be exceeded.
            const int position = start + u * LENGTH;
            bool enters = position < n_columns && total[u] > bar;
            if (!__any_sync(EVERYONE, enters))
                continue;
            const int name = enters ? names[position] : nobody;
            enters = !(taken[name >> 5] >> (name & 31) & 1u);
            const unsigned vote = __ballot_sync(EVERYONE, enters);
            if (enters) {
                const int i = n_waiting + __popc(vote & lanes_below(lane));
                scores[i] = total[u], waiting[i] = name;
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

// Let some rows choose in turn, each the first column of its list that is free; return
// how many found one. For one warp. The start of the next list is on its way meanwhile.
__device__ int choose_in_turn(
    const int *lists, unsigned *marks, int *column_of_row, int n_rows, int lane)
{
    int coming = lists[lane];
    for (int row = 0; row < n_rows; ++row) {
        int mine = coming;
        coming = lists[min(row + 1, n_rows - 1) * LENGTH + lane];
        unsigned word = marks[mine >> 5], bit = 1u << (mine & 31);
        unsigned vote = __ballot_sync(EVERYONE, (word & bit) == 0);
        for (int k = 32; vote == 0 && k < LENGTH; k += 32) {
            mine = lists[row * LENGTH + k + lane];
            word = marks[mine >> 5], bit = 1u << (mine & 31);
            vote = __ballot_sync(EVERYONE, (word & bit) == 0);
        }
        if (vote == 0)
            return row;
        if ((vote >> lane & 1u) && (vote & lanes_below(lane)) == 0) {
            marks[mine >> 5] = word | bit;
            column_of_row[row] = mine;
        }
        __syncwarp();
    }
    return n_rows;
}

__device__ void copy(int *to, const int *from, int n, int first, int step)
{
    for (int i = first; i < n; i += step)
        to[i] = from[i];
}

// One thread block. The first warp lets rows choose, while the others bring the lists of
// the next BATCH rows to shared memory. So is the bitmap of taken columns, if it fits.
extern "C" __global__ void resolve(
    const int *lists, int *taken, int *n_done, int *column_of_row, int n_rows,
    int n_words_copied)
{
    extern __shared__ int space[];
    int *bitmap = space + 2 * BATCH * LENGTH;  // behind two batches
    const int thread = threadIdx.x, first = *n_done;
    const int n_block = min(BLOCK_ROWS, n_rows - first);
    copy(bitmap, taken, n_words_copied, thread, blockDim.x);
    copy(space, lists, min(BATCH, n_block) * LENGTH, thread, blockDim.x);
    __syncthreads();

    int n_chosen = 0;
    bool stuck = false;
    for (int start = 0; start < n_block && !stuck; start += BATCH) {
        const int next = start + BATCH, n = min(BATCH, n_block - start);
        const int *here = space + start % (2 * BATCH) * LENGTH;
        if (thread >= 32) {
            int *there = space + next % (2 * BATCH) * LENGTH;
            const int n_next = min(BATCH, n_block - next) * LENGTH;
            copy(there, lists + next * LENGTH, n_next, thread - 32, blockDim.x - 32);
        } else {
            int *chosen = column_of_row + first + start;
            // Two calls, so that the compiler sees which bitmap is in shared memory.
            const int n_now = n_words_copied > 0
                ? choose_in_turn(here, (unsigned *)bitmap, chosen, n, thread)
                : choose_in_turn(here, (unsigned *)taken, chosen, n, thread);
            n_chosen += n_now;
            stuck = n_now < n;
        }
        stuck = __syncthreads_or(stuck);
    }
    copy(taken, bitmap, n_words_copied, thread, blockDim.x);
    if (thread == 0)
        *n_done = first + n_chosen;
}
