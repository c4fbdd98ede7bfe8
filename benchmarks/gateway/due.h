/* Who is due when: a binary heap. */
#ifndef DUE_H
#define DUE_H

#include "common.h"

enum { MAX_DUE = 16384 };

/* The first field of whatever can be due. */
struct due {
    uint64_t at;                /* ns */
    int place;                  /* in the heap; -1: nothing is due */
};

static struct due *heap[MAX_DUE];               /* the first one is at 0 */
static int heap_size;

static inline void put(int place, struct due *d)
{
    heap[place] = d;
    d->place = place;
}

static inline void sift(int place)
{
    struct due *d = heap[place];
    for (; place && heap[(place - 1) / 2]->at > d->at; place = (place - 1) / 2)
        put(place, heap[(place - 1) / 2]);
    for (int child; (child = 2 * place + 1) < heap_size; place = child) {
        if (child + 1 < heap_size && heap[child + 1]->at < heap[child]->at)
            child++;
        if (heap[child]->at >= d->at)
            break;
        put(place, heap[child]);
    }
    put(place, d);
}

static inline void schedule(struct due *d, uint64_t at)
{
    d->at = at;
    if (d->place < 0)
        put(heap_size++, d);
    sift(d->place);
}

static inline void unschedule(struct due *d)
{
    int place = d->place;
    if (place < 0)
        return;
    d->place = -1;
    if (place != --heap_size) {
        put(place, heap[heap_size]);
        sift(place);
    }
}

#endif
