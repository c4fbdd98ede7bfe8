// Every kernel of the CUDA runner in one translation unit: build.sh makes the fatbin of it, the tests' emulator the
// same kernels for the host. No header of a toolkit or of anybody else is included, so that every compiler of CUDA
// C++17, NVRTC too, takes the sources.
#include "blocks.cuh"
#include "decode_attention.cuh"
#include "elementwise.cuh"
#include "kv_store.cuh"
#include "logit_adjustment.cuh"
#include "matmul.cuh"
#include "prefill_attention.cuh"
#include "sampling.cuh"
#include "scoring.cuh"
