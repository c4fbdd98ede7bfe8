package dev.warmpath.router.answer.dialect;

/** Takes the text of one choice as it comes. */
interface Stage {

    /** @param text not empty */
    void accept(String text);

    /** The text is over: what waited for more of it is what it is. */
    void finish();
}
