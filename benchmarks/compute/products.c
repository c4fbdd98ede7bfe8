// x · Wᵀ in the plainest loops, for WeightProductBenchmark: one output after the other, each from its row of W as it lies
// in a file. What a C compiler makes of that (-O3 -march=native -ffast-math) is the yardstick.
#include <stdint.h>
#include <string.h>

#define PRODUCT(format)                                                                                          \
  void product_##format(const float *x, const uint8_t *w, float *y, int rows, int columns, int outputs) {        \
    long row_bytes = bytes_##format(columns);                                                                    \
    for (int row = 0; row < rows; row++)                                                                         \
      for (int output = 0; output < outputs; output++)                                                           \
        y[(long)row * outputs + output] = dot_##format(w + output * row_bytes, x + (long)row * columns, columns); \
  }

static long bytes_f32(int columns) { return 4L * columns; }

static float dot_f32(const uint8_t *w, const float *x, int columns) {
  const float *values = (const float *)w;
  float sum = 0;
  for (int i = 0; i < columns; i++) sum += values[i] * x[i];
  return sum;
}
PRODUCT(f32)

static long bytes_bf16(int columns) { return 2L * columns; }

static float dot_bf16(const uint8_t *w, const float *x, int columns) {
  const uint16_t *values = (const uint16_t *)w;
  float sum = 0;
  for (int i = 0; i < columns; i++) {
    uint32_t bits = (uint32_t)values[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    sum += value * x[i];
  }
  return sum;
}
PRODUCT(bf16)

static float scale(const uint8_t *block) {
  _Float16 value;
  memcpy(&value, block, sizeof value);
  return (float)value;
}

static long bytes_q8_0(int columns) { return columns / 32 * 34L; }

static float dot_q8_0(const uint8_t *w, const float *x, int columns) {
  float sum = 0;
  for (int block = 0; block < columns / 32; block++, w += 34, x += 32) {
    const int8_t *codes = (const int8_t *)w + 2;
    float part = 0;
    for (int i = 0; i < 32; i++) part += codes[i] * x[i];
    sum += scale(w) * part;
  }
  return sum;
}
PRODUCT(q8_0)

static long bytes_q4_0(int columns) { return columns / 32 * 18L; }

static float dot_q4_0(const uint8_t *w, const float *x, int columns) {
  float sum = 0;
  for (int block = 0; block < columns / 32; block++, w += 18, x += 32) {
    const uint8_t *codes = w + 2;
    float part = 0;
    for (int i = 0; i < 16; i++) part += ((codes[i] & 15) - 8) * x[i] + ((codes[i] >> 4) - 8) * x[i + 16];
    sum += scale(w) * part;
  }
  return sum;
}
PRODUCT(q4_0)
