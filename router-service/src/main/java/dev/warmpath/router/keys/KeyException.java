package dev.warmpath.router.keys;

/** Carries a {@link KeyRefusal} to where requests are answered. Without a stack trace: a stranger causes it at will. */
public final class KeyException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient KeyRefusal refusal;

    KeyException(KeyRefusal refusal) {
        super(refusal.message(), null, false, false);
        this.refusal = refusal;
    }

    public KeyRefusal refusal() {
        return refusal;
    }
}
