package dev.warmpath.router.answer.dialect;

/** Takes the text of one choice as it comes. */
interface Stage {

    /** @param text not empty */
    void accept(String text);

    /** How much white space a text begins with. */
    static int blanks(CharSequence text) {
        int at = 0;
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at;
    }

    /** The text is over: what waited for more of it is what it is. */
    void finish();
}
