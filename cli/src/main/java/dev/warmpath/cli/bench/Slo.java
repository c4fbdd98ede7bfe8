package dev.warmpath.cli.bench;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * What an answer has to keep to be a good one, in milliseconds; null: nothing is asked of it.
 *
 * @param ttftMs until the first text
 * @param itlMs  from one token to the next, on average over the answer
 * @param e2eMs  until the end
 */
@JsonNaming(SnakeCaseStrategy.class)
record Slo(@Nullable Double ttftMs, @Nullable Double itlMs, @Nullable Double e2eMs) {

    private static final Pattern PART = Pattern.compile("(ttft|itl|e2e)=([0-9]+(?:\\.[0-9]+)?)(ms|s)?");

    boolean isKept(Answer answer, long startNanos) {
        return isWithin(ttftMs, answer.firstNanos() - startNanos) && isWithin(itlMs, answer.meanTokenNanos())
                && isWithin(e2eMs, answer.endNanos() - startNanos);
    }

    private static boolean isWithin(@Nullable Double limitMs, double nanos) {
        return limitMs == null || nanos <= limitMs * 1e6;
    }

    /** Of {@code ttft=200ms,itl=50ms,e2e=5s}, each at most once. */
    static final class Converter implements ITypeConverter<Slo> {

        @Override
        public Slo convert(String text) {
            @Nullable Double ttft = null;
            @Nullable Double itl = null;
            @Nullable Double e2e = null;
            for (String part : text.toLowerCase(Locale.ROOT).split(",", -1)) {
                Matcher matcher = PART.matcher(part.strip());
                if (!matcher.matches()) {
                    throw new TypeConversionException("'" + part + "' is none of ttft=200ms, itl=50ms, e2e=5s");
                }
                double millis = Double.parseDouble(matcher.group(2)) * ("s".equals(matcher.group(3)) ? 1_000 : 1);
                switch (matcher.group(1)) {
                    case "ttft" -> ttft = millis;
                    case "itl" -> itl = millis;
                    default -> e2e = millis;
                }
            }
            return new Slo(ttft, itl, e2e);
        }
    }
}
