// Adds two vectors in plain CUDA. This program uses nothing of the book's library and is not part
// of it, so CMake leaves this folder out:
//
//     nvcc -std=c++17 chapters/11_on_the_gpu/plain_cuda/first_kernel.cu -o first_kernel
//     ./first_kernel
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
/// Room for `n` numbers in the device's memory. The processor must not follow this pointer.
float* room_on_device(int n) {
    float* room = nullptr;
    check(cudaMalloc(&room, n * sizeof(float)), "cudaMalloc");
    return room;
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
    return wrong == 0 ? 0 : 1;
}
