package dev.warmpath.tokenization.bpe;

/** Text from tokens as they come. One generation, one thread. */
public interface TextStream {
    /** @return the text that became certain, often empty; it never ends inside a character */
    String accept(int id);

    /** @return what waited for more tokens: a broken character comes out as U+FFFD */
    String finish();
}
