package dev.warmpath.worker;

/**
 * Why a worker cannot start as it is told to.
 *
 * @param contradiction a sentence without its full stop: what is wrong, with the names of settings, from
 *                      {@code warmpath.} on, or of files, and their values
 * @param remedy        one that says what to change; empty where nothing but another model helps
 */
record Problem(String contradiction, String remedy) {

    /** Both in one line. */
    String sentence() {
        return remedy.isEmpty() ? contradiction : contradiction + ". " + remedy;
    }
}
