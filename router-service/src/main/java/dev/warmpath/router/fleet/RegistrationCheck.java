package dev.warmpath.router.fleet;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.process.ForeignText;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.router.fleet.RegistrationOutcome.Refused;
import java.net.InetAddress;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Whether a registration can be right, seen by itself, and where two of them differ. It comes from the network: any
 * field may hold anything, even null.
 */
public final class RegistrationCheck {

    private static final Pattern WORKER_ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,255}");
    private static final Pattern MODEL_NAME = Pattern.compile("[\\p{Graph}&&[^\"\\\\]]{1,256}");
    private static final Pattern SHA256_OR_NONE = Pattern.compile("[0-9a-f]{64}|");
    private static final int MAX_URL_LENGTH = 512;
    private static final int MAX_TOKENS = 1 << 24;
    private static final int MAX_SEQUENCES = 1 << 16;
    /** How far a worker's clock may be ahead of ours. */
    private static final Duration CLOCK_SKEW = Duration.ofDays(1);

    private final boolean loopbackOnly;
    private final InstantSource clock;

    /**
     * @param loopbackOnly true: workers at other addresses than this machine's own are refused, as nothing proves that
     *                     they belong to the fleet
     * @param clock        says which times of writing lie in the future
     */
    public RegistrationCheck(boolean loopbackOnly, InstantSource clock) {
        this.loopbackOnly = loopbackOnly;
        this.clock = clock;
    }

    /** Ends a check at the first thing that is wrong. */
    private static final class Wrong extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Wrong(String message) {
            super(message, null, false, false);
        }
    }

    /** Whether a worker may have that id. */
    public static boolean isWorkerId(String text) {
        return WORKER_ID.matcher(text).matches();
    }

    @Nullable Refused refusal(Registration registration) {
        if (registration.protocolVersion() != Protocol.VERSION) {
            return new Refused(RefusalReason.PROTOCOL_VERSION, "worker speaks protocol version "
                    + registration.protocolVersion() + ", this router " + Protocol.VERSION);
        }
        try {
            checkWorker(registration);
            checkModel(present("model", registration.model()));
        } catch (Wrong wrong) {
            return new Refused(RefusalReason.INVALID, Objects.requireNonNull(wrong.getMessage()));
        }
        String digest = registration.model().parts().revision();
        return registration.model().revision().equals(digest) ? null : new Refused(RefusalReason.REVISION_CONTRADICTION,
                "revision " + registration.model().revision() + " is not the digest of its parts, " + digest);
    }

    private void checkWorker(Registration registration) {
        matches("workerId", registration.workerId(), WORKER_ID);
        between("epoch", registration.epoch(), 1, Long.MAX_VALUE);
        checkUrl(present("baseUrl", registration.baseUrl()));
        between("blockCount", registration.blockCount(), 1, KvEventCodec.MAX_KEYS_PER_CHANGE);
        between("hostBlockCount", registration.hostBlockCount(), 0,
                KvEventCodec.MAX_KEYS_PER_CHANGE - registration.blockCount());
        between("eventStreams", registration.eventStreams(), 0, RedisLayout.MAX_STREAM_COUNT);
        between("maxSequences", registration.maxSequences(), 1, MAX_SEQUENCES);
    }

    private void checkUrl(URI url) {
        String text = url.toString();
        boolean http = "http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme());
        boolean bare = (url.getRawPath() == null || url.getRawPath().isEmpty() || url.getRawPath().equals("/"))
                && url.getRawQuery() == null && url.getRawFragment() == null && url.getRawUserInfo() == null;
        if (text.length() > MAX_URL_LENGTH || !http || url.getHost() == null || !bare || url.getPort() > 65_535) {
            throw new Wrong("baseUrl " + quoted(text) + " is not of the form http://host:port or https://host:port");
        }
        if (loopbackOnly && !isLoopback(url.getHost())) {
            throw new Wrong("baseUrl " + quoted(text) + " is not of this machine, and the fleet has no token:"
                    + " localhost, 127.0.0.1 and [::1] are accepted without one");
        }
    }

    /** Asks no name server: whoever runs one could name this machine first and another one later. */
    private static boolean isLoopback(String host) {
        if (host.equalsIgnoreCase("localhost")) {
            return true;
        }
        try {
            return InetAddress.ofLiteral(host.replaceAll("[\\[\\]]", "")).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return false;                                          // a name
        }
    }

    private void checkModel(ModelDescription model) {
        matches("model.name", model.name(), MODEL_NAME);
        present("model.revision", model.revision());
        // clients are shown it; nothing is decided by it
        between("model.createdSeconds", model.createdSeconds(), 0, clock.instant().plus(CLOCK_SKEW).getEpochSecond());
        between("model.vocabularySize", model.vocabularySize(), 1, MAX_TOKENS);
        checkParts(present("model.parts", model.parts()));
    }

    private static void checkParts(RevisionParts parts) {
        between("model.parts.contextLength", parts.contextLength(), 1, MAX_TOKENS);
        matches("model.parts.weights", parts.weights(), SHA256_OR_NONE);
        matches("model.parts.config", parts.config(), SHA256_OR_NONE);
        matches("model.parts.tokenizer", parts.tokenizer(), SHA256_OR_NONE);
        matches("model.parts.tokenizerConfig", parts.tokenizerConfig(), SHA256_OR_NONE);
        matches("model.parts.generationConfig", parts.generationConfig(), SHA256_OR_NONE);
        matches("model.parts.chatTemplate", parts.chatTemplate(), SHA256_OR_NONE);
        if (parts.tokenizer().isEmpty()) {
            throw new Wrong("model.parts.tokenizer is empty, but the router needs the model's tokenizer.json");
        }
        try {
            new HashSettings(present("model.parts.hashAlgorithm", parts.hashAlgorithm()),
                    present("model.parts.hashSeed", parts.hashSeed()), parts.blockSize());
        } catch (IllegalArgumentException e) {
            throw new Wrong(Objects.requireNonNull(e.getMessage()));
        }
    }

    /** The first field in which two registrations of one life differ, with both values, or null. */
    static @Nullable String difference(Registration known, Registration now) {
        String model = difference(known.model(), now.model());
        return model != null ? model : firstNonNull(
                unequal("revision", known.model().revision(), now.model().revision()),
                unequal("baseUrl", known.baseUrl(), now.baseUrl()),
                unequal("blockCount", known.blockCount(), now.blockCount()),
                unequal("hostBlockCount", known.hostBlockCount(), now.hostBlockCount()),
                unequal("eventStreams", known.eventStreams(), now.eventStreams()),
                unequal("maxSequences", known.maxSequences(), now.maxSequences()),
                unequal("prefixClosed", known.prefixClosed(), now.prefixClosed()),
                unequal("assumed", known.assumed(), now.assumed()));
    }

    /**
     * The first point in which two workers describe one revision differently, with both values, or null. The time of
     * writing may differ: copying a file can change it.
     */
    static @Nullable String difference(ModelDescription known, ModelDescription now) {
        Map<String, String> parts = known.parts().byName();
        Map<String, String> others = now.parts().byName();
        for (String name : Stream.concat(parts.keySet().stream(), others.keySet().stream()).distinct().toList()) {
            String part = parts.getOrDefault(name, "");
            String other = others.getOrDefault(name, "");
            if (!part.equals(other)) {
                return unequal(name, part, other);
            }
        }
        return firstNonNull(
                unequal("name", known.name(), now.name()),
                unequal("vocabularySize", known.vocabularySize(), now.vocabularySize()));
    }

    private static @Nullable String unequal(String what, Object known, Object now) {
        return known.equals(now) ? null : what + " " + known + ", this worker says " + now;
    }

    private static @Nullable String firstNonNull(@Nullable String... texts) {
        for (String text : texts) {
            if (text != null) {
                return text;
            }
        }
        return null;
    }

    private static <T> T present(String field, @Nullable T value) {
        if (value == null) {
            throw new Wrong(field + " is missing");
        }
        return value;
    }

    private static void matches(String field, @Nullable String value, Pattern pattern) {
        if (!pattern.matcher(present(field, value)).matches()) {
            throw new Wrong(field + " " + quoted(value) + " does not match " + pattern);
        }
    }

    private static void between(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw new Wrong(field + " " + value + " is outside " + min + " to " + max);
        }
    }

    /** Short and on one line: it goes into a log. */
    private static String quoted(String text) {
        return "'" + ForeignText.oneLine(text, 80) + "'";
    }
}
