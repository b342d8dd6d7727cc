// Projection of rows onto the probability simplex, a warp for each row.
//
// The shift that makes the entries above it sum to one is found from below: entries that
// are not above the shift of all drop out, which raises the shift of those that are left,
// until nobody drops out any more.
//
// To be defined: SCALAR (float or double).

#define EVERYONE 0xffffffffu
#define LOWEST (-1.7976931348623157e308)  // below what counts

__device__ double sum_of_warp(double value)
{
#pragma unroll
    for (int gap = 16; gap > 0; gap /= 2)
        value += __shfl_xor_sync(EVERYONE, value, gap);
    return value;
}

extern "C" __global__ void project(const SCALAR *points, SCALAR *projected, int n_rows, int m)
{
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= n_rows)
        return;
    const SCALAR *point = points + (long long)row * m;
    double shift = LOWEST, n_left = m + 1, n_before;
    do {
        n_before = n_left;
        double total = 0, count = 0;
        for (int h = lane; h < m; h += 32)
            if (point[h] > shift)
                total += point[h], ++count;
        n_left = sum_of_warp(count);
        shift = (sum_of_warp(total) - 1) / n_left;
    } while (n_left < n_before);
    for (int h = lane; h < m; h += 32) {
        const double rest = point[h] - shift;
        projected[(long long)row * m + h] = SCALAR(rest < 0 ? 0 : rest);
    }
}
