// The greedy matching on a GPU, a block of rows at a time.
//
// `shortlist` scores the next rows against all columns that are left, and keeps the
// best KEPT columns of each row, best first. `resolve` then lets the rows choose in
// turn, each the first column of its list that is still free, until a list is used up
// or the block is done. The next block begins where this one ended.
//
// A score is a chain of fused multiply-adds in float64 over ascending coordinates: to
// the last bit the score that the searches on the CPU compute, so the answer is theirs.
//
// To be defined: SCALAR (float or double), KEPT (a power of two, at least 32), WARPS and
// ROWS_PER_WARP (of a thread block of `shortlist`), and BLOCK_ROWS.

#define EVERYONE 0xffffffffu
#define LOWEST (-1.7976931348623157e308)  // no score is below it
#define LIST_SIZE (2 * KEPT)  // the best so far, and room for new ones
#define CHUNKS (KEPT / 32)
#define UNROLL 8  // columns that a thread scores at the same time
#define AHEAD 4   // lists that are on their way while a row chooses from its own

// What a warp knows of one of its rows.
struct List {
    double *scores;
    int *columns;
    int size;
    double bar;  // to be exceeded, for a column to be among the best
};

__device__ bool comes_before(double score, int column, double other_score, int other)
{
    return score > other_score || (score == other_score && column < other);
}

__device__ bool is_taken(const unsigned *taken, int column)
{
    return taken[column >> 5] >> (column & 31) & 1u;
}

// Sort a list by a bitonic network, and drop what is not among the best.
__device__ void prune(List &list, int lane)
{
    for (int i = list.size + lane; i < LIST_SIZE; i += 32) {
        list.scores[i] = LOWEST;
        list.columns[i] = 0x7fffffff;
    }
    __syncwarp();
    for (int run = 2; run <= LIST_SIZE; run *= 2)
        for (int gap = run / 2; gap > 0; gap /= 2) {
            for (int pair = lane; pair < LIST_SIZE / 2; pair += 32) {
                int i = 2 * pair - (pair & (gap - 1)), j = i + gap;
                double a = list.scores[i], b = list.scores[j];
                int c = list.columns[i], d = list.columns[j];
                bool falling = (i & run) == 0;
                if (falling == comes_before(b, d, a, c)) {
                    list.scores[i] = b, list.scores[j] = a;
                    list.columns[i] = d, list.columns[j] = c;
                }
            }
            __syncwarp();
        }
    if (list.size >= KEPT) {
        list.size = KEPT;
        list.bar = list.scores[KEPT - 1];
    }
}

// Rows are in the order in which they choose, (n_rows, m). Columns are those that were
// left when they were last packed, (m, n_columns); `names` are their numbers, ascending.
extern "C" __global__ void shortlist(
    const SCALAR *rows, const SCALAR *columns, const int *names, const unsigned *taken,
    const int *n_done, int *lists, int n_rows, int n_columns, int m)
{
    extern __shared__ double room[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int place = (blockIdx.x * WARPS + warp) * ROWS_PER_WARP;  // within the block
    const int first = *n_done + place;
    if (first >= n_rows)
        return;
    const int n_mine = min(ROWS_PER_WARP, n_rows - first);

    // The room of a warp: scores and weights of its rows, then columns and support.
    const int n_doubles = ROWS_PER_WARP * (LIST_SIZE + m);
    const int n_ints = ROWS_PER_WARP * LIST_SIZE + m;
    double *scores = room + warp * n_doubles, *weights = scores + ROWS_PER_WARP * LIST_SIZE;
    int *chosen = (int *)(room + WARPS * n_doubles) + warp * n_ints;
    int *support = chosen + ROWS_PER_WARP * LIST_SIZE;

    List list[ROWS_PER_WARP];
#pragma unroll
    for (int r = 0; r < ROWS_PER_WARP; ++r)
        list[r] = {scores + r * LIST_SIZE, chosen + r * LIST_SIZE, 0, LOWEST};

    // Coordinates in which some of the rows has weight.
    int n_support = 0;
    for (int start = 0; start < m; start += 32) {
        const int h = start + lane;
        double weight[ROWS_PER_WARP];
        bool any = false;
#pragma unroll
        for (int r = 0; r < ROWS_PER_WARP; ++r) {
            const bool exists = h < m && r < n_mine;
            weight[r] = exists ? double(rows[(long long)(first + r) * m + h]) : 0.0;
            any = any || weight[r] != 0.0;
        }
        const unsigned vote = __ballot_sync(EVERYONE, any);
        if (any) {
            const int s = n_support + __popc(vote & ((1u << lane) - 1));
            support[s] = h;
#pragma unroll
            for (int r = 0; r < ROWS_PER_WARP; ++r)
                weights[s * ROWS_PER_WARP + r] = weight[r];
        }
        n_support += __popc(vote);
    }
    __syncwarp();

    for (int start = 0; start < n_columns; start += 32 * UNROLL) {
        double total[ROWS_PER_WARP][UNROLL] = {};
        for (int s = 0; s < n_support; ++s) {
            const SCALAR *values = columns + (long long)support[s] * n_columns + start + lane;
            double value[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
                value[u] = start + 32 * u + lane < n_columns ? double(values[32 * u]) : 0.0;
#pragma unroll
            for (int r = 0; r < ROWS_PER_WARP; ++r) {
                const double weight = weights[s * ROWS_PER_WARP + r];
#pragma unroll
                for (int u = 0; u < UNROLL; ++u)
                    total[r][u] = fma(weight, value[u], total[r][u]);
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS_PER_WARP; ++r)
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                // Later columns lose ties, so the bar has to be exceeded.
                const int position = start + 32 * u + lane;
                bool enters = position < n_columns && total[r][u] > list[r].bar;
                if (!__any_sync(EVERYONE, enters))
                    continue;
                const int name = enters ? names[position] : 0;
                enters = enters && !is_taken(taken, name);
                const unsigned vote = __ballot_sync(EVERYONE, enters);
                if (list[r].size + __popc(vote) > LIST_SIZE) {
                    prune(list[r], lane);
                    // The bar is higher now, but those who met the old one may stay.
                }
                if (enters) {
                    const int i = list[r].size + __popc(vote & ((1u << lane) - 1));
                    list[r].scores[i] = total[r][u];
                    list[r].columns[i] = name;
                }
                list[r].size += __popc(vote);
                __syncwarp();
            }
    }
#pragma unroll
    for (int r = 0; r < ROWS_PER_WARP; ++r)
        if (r < n_mine) {
            prune(list[r], lane);
            for (int i = lane; i < KEPT; i += 32)
                lists[(place + r) * KEPT + i] = i < list[r].size ? list[r].columns[i] : -1;
        }
}

// Each lane gets every 32nd column of a list.
__device__ void fetch(int (&list)[CHUNKS], const int *lists, int row, int n_block, int lane)
{
#pragma unroll
    for (int k = 0; k < CHUNKS; ++k)
        list[k] = row < n_block ? lists[row * KEPT + 32 * k + lane] : -1;
}

// Take the first column of a list that is free; tell whether there was one.
__device__ bool choose(const int (&list)[CHUNKS], unsigned *marks, int *column, int lane)
{
    unsigned vote[CHUNKS];
#pragma unroll
    for (int k = 0; k < CHUNKS; ++k)
        vote[k] = __ballot_sync(EVERYONE, list[k] >= 0 && !is_taken(marks, list[k]));
    bool found = false;
#pragma unroll
    for (int k = 0; k < CHUNKS; ++k)
        if (!found && vote[k] != 0) {
            found = true;
            if (lane == __ffs(vote[k]) - 1) {
                marks[list[k] >> 5] |= 1u << (list[k] & 31);
                *column = list[k];
            }
        }
    __syncwarp();
    return found;
}

// One thread block. All its threads copy the bitmap of taken columns to shared memory,
// where there is room for it; the first warp does the rest.
extern "C" __global__ void resolve(
    const int *lists, unsigned *taken, int *n_done, int *column_of_row, int n_rows,
    int n_words, int n_words_copied)
{
    extern __shared__ unsigned copy[];
    for (int i = threadIdx.x; i < n_words_copied; i += blockDim.x)
        copy[i] = taken[i];
    __syncthreads();

    if (threadIdx.x < 32) {
        const int lane = threadIdx.x, first = *n_done;
        const int n_block = min(BLOCK_ROWS, n_rows - first);
        unsigned *marks = n_words_copied == n_words ? copy : taken;
        int coming[AHEAD][CHUNKS];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
            fetch(coming[a], lists, a, n_block, lane);
        bool stuck = false;
        int row = 0;
        while (row < n_block && !stuck) {
#pragma unroll
            for (int a = 0; a < AHEAD; ++a)
                if (row < n_block && !stuck) {
                    int list[CHUNKS];
#pragma unroll
                    for (int k = 0; k < CHUNKS; ++k)
                        list[k] = coming[a][k];
                    fetch(coming[a], lists, row + AHEAD, n_block, lane);
                    stuck = !choose(list, marks, column_of_row + first + row, lane);
                    row += !stuck;
                }
        }
        if (lane == 0 && n_block > 0)
            *n_done = first + row;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_words_copied; i += blockDim.x)
        taken[i] = copy[i];
}
