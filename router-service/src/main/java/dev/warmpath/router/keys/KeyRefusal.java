package dev.warmpath.router.keys;

/** Why a request is not let in, or goes no further. None of them has a key in it. */
public sealed interface KeyRefusal {

    /** For the client, one sentence. */
    String message();

    /** For the meter, one of few. */
    String cause();

    /** There is no key. */
    record Missing() implements KeyRefusal {
        @Override
        public String message() {
            return "no API key came with the request: it belongs into the header 'Authorization: Bearer KEY', "
                    + "or 'x-api-key: KEY'";
        }

        @Override
        public String cause() {
            return "missing";
        }
    }

    /** There are several. */
    record Ambiguous() implements KeyRefusal {
        @Override
        public String message() {
            return "different API keys came with the request, it takes one";
        }

        @Override
        public String cause() {
            return "ambiguous";
        }
    }

    /** Nobody has this one, or nobody has it any more. */
    record Unknown() implements KeyRefusal {
        @Override
        public String message() {
            return "the API key that came with the request is not known here";
        }

        @Override
        public String cause() {
            return "unknown";
        }
    }

    /** @param key the name of a key that is no operator's */
    record OperatorsOnly(String what, String key) implements KeyRefusal {
        @Override
        public String message() {
            return what + " is for operators, and the key '" + key + "' is no operator's";
        }

        @Override
        public String cause() {
            return "operators_only";
        }
    }

    /** What a key may use in a minute; the name in lower case is OpenAI's type of the error. */
    enum Measure { REQUESTS, TOKENS }

    /**
     * It has been used up.
     *
     * @param key       its name
     * @param waitNanos until this much can be there again
     */
    record UsedUp(String key, Measure of, int perMinute, long waitNanos) implements KeyRefusal {

        private static final long NANOS_PER_MILLI = 1_000_000;

        @Override
        public String message() {
            return "the key '" + key + "' has used up its " + perMinute + ' ' + cause() + " a minute; try again in "
                    + Math.ceilDiv(waitNanos, NANOS_PER_MILLI) + " ms";
        }

        @Override
        public String cause() {
            return of == Measure.REQUESTS ? "requests" : "tokens";
        }
    }

    /** No waiting helps. */
    record TooLarge(String key, int promptTokens, int perMinute) implements KeyRefusal {
        @Override
        public String message() {
            return "the prompt has " + promptTokens + " tokens, more than the " + perMinute + " that the key '" + key
                    + "' has in a minute";
        }

        @Override
        public String cause() {
            return "tokens";
        }
    }
}
