package dev.warmpath.worker.generate;

/** Somebody who does not know the fleet token asks for a generation. */
final class UnauthorizedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    UnauthorizedException() {
        super("the fleet token is missing or wrong");
    }
}
