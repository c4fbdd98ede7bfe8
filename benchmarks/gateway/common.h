/* What the mock worker and the load generator share: time, growing buffers, and the end when something cannot be. */
#ifndef COMMON_H
#define COMMON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t SECOND = 1000000000;             /* ns */

struct buffer {
    char *data;
    size_t length, capacity;
};

static inline uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * SECOND + (uint64_t) t.tv_nsec;
}

static inline struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec) {(time_t) (ns / SECOND), (long) (ns % SECOND)};
}

static inline void die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void reserve(struct buffer *b, size_t more)
{
    if (b->length + more <= b->capacity)
        return;
    b->capacity = b->capacity ? b->capacity : 4096;
    while (b->length + more > b->capacity)
        b->capacity *= 2;
    b->data = realloc(b->data, b->capacity);
    if (!b->data)
        die("memory");
}

static inline void append(struct buffer *b, const void *data, size_t length)
{
    reserve(b, length);
    memcpy(b->data + b->length, data, length);
    b->length += length;
}

static inline void append_text(struct buffer *b, const char *text)
{
    append(b, text, strlen(text));
}

/* For what is surely below a KiB. */
__attribute__((format(printf, 2, 3))) static inline void appendf(struct buffer *b, const char *format, ...)
{
    va_list args;
    reserve(b, 1024);
    va_start(args, format);
    b->length += (size_t) vsnprintf(b->data + b->length, 1024, format, args);
    va_end(args);
}

static inline void drop_front(struct buffer *b, size_t length)
{
    b->length -= length;
    memmove(b->data, b->data + length, b->length);
}

static inline bool read_file(struct buffer *b, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f)
        return false;
    do {
        reserve(b, 65536);
        b->length += n = fread(b->data + b->length, 1, 65536, f);
    } while (n);
    fclose(f);
    return true;
}

#endif
