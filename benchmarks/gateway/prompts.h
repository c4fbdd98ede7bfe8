/* Text that nobody has seen before: words drawn by chance, as often as they stand in a file, and numbers. */
#ifndef PROMPTS_H
#define PROMPTS_H

#include "common.h"

enum { ONE_IN_SO_MANY_WORDS_IS_A_NUMBER = 32 };

static const char **word;
static size_t word_count;
static uint64_t seed = 1;

static inline uint64_t next_random(void)
{
    seed ^= seed << 13;                                        /* xorshift64 */
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static inline void read_words(const char *path)
{
    struct buffer words = {0};
    if (!read_file(&words, path))
        die(path);
    append(&words, "", 1);
    word = malloc(words.length * sizeof *word);
    for (char *w = strtok(words.data, "\n"); w; w = strtok(NULL, "\n"))
        word[word_count++] = w;
    if (!word_count)
        die("no words");
}

static inline void append_words(struct buffer *b, long bytes)
{
    for (size_t end = b->length + (size_t) bytes; b->length < end; append(b, " ", 1)) {
        uint64_t chance = next_random();
        if (chance % ONE_IN_SO_MANY_WORDS_IS_A_NUMBER == 0)
            appendf(b, "%u", (unsigned) (chance >> 52));
        else
            append_text(b, word[(chance >> 8) % word_count]);
    }
}

static inline void append_message(struct buffer *b, const char *role, long bytes)
{
    appendf(b, "{\"role\":\"%s\",\"content\":\"", role);
    append_words(b, bytes);
    append_text(b, "\"}");
}

#endif
