/**
 * The models that workers bring: each revision with its tokenizer once that is loaded, what operators want of it, and
 * which of a model's revisions takes a conversation. Knows no worker.
 * <p>Uses {@code tokenization} and {@code protocol}. Kept by {@code fleet}, under its lock; a {@code ServedModel} goes
 * with every request.
 */
@NullMarked
package dev.warmpath.router.models;

import org.jspecify.annotations.NullMarked;
