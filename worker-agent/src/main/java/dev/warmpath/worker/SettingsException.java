package dev.warmpath.worker;

/**
 * Settings that cannot all be followed: with each other, with the model, or with this machine. Found before the weights
 * are loaded, except that a device has too little memory for them or beside them; {@link SettingsFailureAnalyzer}
 * prints it instead of a stack trace.
 */
final class SettingsException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final String contradiction;
    private final String remedy;

    /**
     * @param contradiction a sentence with the names of the settings, from {@code warmpath.} on, and their values
     * @param remedy        a sentence that says what to change
     */
    SettingsException(String contradiction, String remedy) {
        super(contradiction + ". " + remedy);
        this.contradiction = contradiction;
        this.remedy = remedy;
    }

    /** @param cause what the device said */
    SettingsException(String contradiction, String remedy, Throwable cause) {
        this(contradiction, remedy);
        initCause(cause);
    }

    String contradiction() {
        return contradiction;
    }

    String remedy() {
        return remedy;
    }
}
