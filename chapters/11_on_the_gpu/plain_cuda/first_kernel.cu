// Adds two vectors in plain CUDA, and takes the time. This program uses nothing of the book's
// library and is not part of it, so CMake leaves this folder out:
//
//     nvcc -std=c++17 chapters/11_on_the_gpu/plain_cuda/first_kernel.cu -o first_kernel
//     ./first_kernel
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// [kernel]
__global__ void add(int n, float* c, const float* a, const float* b) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;  // this thread's number in the grid
    if (i < n) c[i] = a[i] + b[i];  // the last block may have threads to spare
}
// [check]
void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}
// [memory]
/// Room for `n` numbers in the device's memory. The processor must not dereference this pointer.
float* room_on_device(int n) {
    float* room = nullptr;
    check(cudaMalloc(&room, n * sizeof(float)), "cudaMalloc");
    return room;
}
// [time]
/// Prints how long `add` takes for vectors that are far larger than any cache.
void time_add() {
    const int n = 1 << 26, threads = 256, blocks = n / threads, launches = 20;
    float *const a = room_on_device(n), *const b = room_on_device(n), *const c = room_on_device(n);
    for (float* const x : {a, b}) check(cudaMemset(x, 0, n * sizeof(float)), "cudaMemset");
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");

    add<<<blocks, threads>>>(n, c, a, b);  // the warm-up, which is not timed
    check(cudaGetLastError(), "first launch of add");
    float best = INFINITY;  // milliseconds
    for (int round = 0; round < 5; ++round) {
        check(cudaEventRecord(begin), "begin");
        for (int i = 0; i < launches; ++i) add<<<blocks, threads>>>(n, c, a, b);
        check(cudaGetLastError(), "launches of add");
        check(cudaEventRecord(end), "end");
        check(cudaEventSynchronize(end), "add");  // waits until the device has passed the mark
        float passed = 0;
        check(cudaEventElapsedTime(&passed, begin, end), "cudaEventElapsedTime");
        best = std::min(best, passed / launches);
    }
    const double bytes = 3.0 * n * sizeof(float);  // reads a and b, writes c
    std::printf("%.3f ms for %.0f MB: %.2f TB/s\n", best, bytes / 1e6, bytes / best / 1e9);
    for (const cudaEvent_t event : {begin, end}) check(cudaEventDestroy(event), "cudaEventDestroy");
    for (float* const room : {a, b, c}) check(cudaFree(room), "cudaFree");
}
// [main]
int main() {
    const int n = 1000;
    const std::size_t bytes = n * sizeof(float);
    const std::vector<float> a(n, 1.5f), b(n, 2.0f);
    std::vector<float> c(n);

    float* const device_a = room_on_device(n);
    float* const device_b = room_on_device(n);
    float* const device_c = room_on_device(n);
    check(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice), "copy of a");
    check(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice), "copy of b");

    const int threads = 256, blocks = (n + threads - 1) / threads;  // 4 blocks: rounded up
    add<<<blocks, threads>>>(n, device_c, device_a, device_b);
    check(cudaGetLastError(), "launch of add");  // could the kernel start?
    check(cudaDeviceSynchronize(), "add");       // waits for it: did it run to its end?

    check(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost), "copy of c");
    for (float* const room : {device_a, device_b, device_c}) check(cudaFree(room), "cudaFree");

    int wrong = 0;
    for (const float sum : c) wrong += sum != 3.5f;
    std::printf("%d sums, %d of them wrong\n", n, wrong);
    if (wrong > 0) return 1;
    time_add();
}
