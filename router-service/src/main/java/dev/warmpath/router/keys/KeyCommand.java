package dev.warmpath.router.keys;

import java.io.PrintStream;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;

/**
 * Makes a key, with no router running.
 *
 * <pre>
 * key NAME [--operator] [--requests-per-minute N] [--tokens-per-minute N]
 * </pre>
 * The key is printed once and kept nowhere; its line goes into the file of keys.
 */
public final class KeyCommand {

    public static final String NAME = "key";
    /** Finds keys that lie about where they should not, as scanners for secrets do. */
    private static final String PREFIX = "wp-";
    private static final int KEY_BYTES = 32;
    private static final int MADE = 0;
    private static final int WRONG_ARGUMENTS = 2;

    private KeyCommand() {}

    /**
     * @param arguments what follows the command's name
     * @return exit status: 0 a key is printed, 2 the arguments are wrong
     */
    public static int run(List<String> arguments, PrintStream out, PrintStream err) {
        try {
            Grant grant = grant(arguments);
            String key = newKey();
            out.println("The key, for " + grant.name() + ". It is not shown again:");
            out.println();
            out.println("  " + key);
            out.println();
            out.println("Its line in the file of keys, warmpath.api-keys.file:");
            out.println();
            out.println(new KeyFile.Key(KeyHash.of(key), grant));
            return MADE;
        } catch (IllegalArgumentException e) {
            err.println(e.getMessage());
            return WRONG_ARGUMENTS;
        }
    }

    private static Grant grant(List<String> arguments) {
        if (arguments.isEmpty()) {
            throw new IllegalArgumentException("key takes the name of who will hold it");
        }
        boolean isOperator = false;
        int requests = Grant.NO_LIMIT;
        int tokens = Grant.NO_LIMIT;
        for (int i = 1; i < arguments.size(); i++) {
            switch (arguments.get(i)) {
                case "--operator" -> isOperator = true;
                case "--requests-per-minute" -> requests = KeyFile.limit(valueAt(++i, arguments));
                case "--tokens-per-minute" -> tokens = KeyFile.limit(valueAt(++i, arguments));
                default -> throw new IllegalArgumentException("key does not know '" + arguments.get(i)
                        + "'; it takes NAME, --operator, --requests-per-minute N and --tokens-per-minute N");
            }
        }
        return new Grant(arguments.getFirst(), isOperator, requests, tokens);
    }

    private static String valueAt(int index, List<String> arguments) {
        if (index == arguments.size()) {
            throw new IllegalArgumentException(arguments.getLast() + " needs a value");
        }
        return arguments.get(index);
    }

    private static String newKey() {
        byte[] random = new byte[KEY_BYTES];
        new SecureRandom().nextBytes(random);
        return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    }
}
