package dev.warmpath.tokenization.template;

import java.math.BigInteger;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How a value is set into a text: what Python's {@code format} takes behind a colon, and {@code %} before its letter.
 *
 * @param fill      what a short text is filled up with, one code point
 * @param align     {@code <}, {@code >}, {@code ^}, or {@code =}: between sign and digits; 0: as the type has it, and
 *                  zeros of a number stand between sign and digits
 * @param sign      {@code +} or space: before positive numbers, too; {@code -}: not
 * @param alternate with a prefix, or with zeros at the end
 * @param width     at least so many code points
 * @param grouping  {@code ,} or {@code _} between groups of digits; 0: none
 * @param precision digits, or most code points of a string; {@link #NONE}: as the type has it
 * @param type      a letter, or 0
 */
record FormatSpec(String fill, char align, char sign, boolean alternate, int width, char grouping, int precision,
        char type) {
    static final int NONE = -1;
    static final int MOST_DIGITS = 4_300;
    private static final int USUAL_PRECISION = 6;
    private static final Pattern SPEC = Pattern.compile("(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?([0-9]+)?([,_])?"
            + "(?:\\.([0-9]+))?([bcdeEfFgGnosxX%])?", Pattern.DOTALL);

    /** @return null if it is none */
    static @Nullable FormatSpec parse(String text) {
        Matcher spec = SPEC.matcher(text);
        if (text.length() > 64 || !spec.matches()) {
            return null;
        }
        boolean zero = spec.group(6) != null;
        return new FormatSpec(spec.group(1) != null ? spec.group(1) : zero ? "0" : " ", first(spec.group(2), '\0'),
                first(spec.group(3), '-'), spec.group(5) != null, number(spec.group(7), 0), first(spec.group(8), '\0'),
                number(spec.group(9), NONE), first(spec.group(10), '\0'));
    }

    private static char first(@Nullable String group, char otherwise) {
        return group == null ? otherwise : group.charAt(0);
    }

    /** What does not fit is more than any limit. */
    static int number(@Nullable String digits, int otherwise) {
        return digits == null ? otherwise : digits.length() > 9 ? Integer.MAX_VALUE : Integer.parseInt(digits);
    }

    /** The value in this format. */
    Text of(Value value, RenderContext context) {
        if (grouping != 0 && type == 'n') {
            throw context.wrong("Cannot specify '" + grouping + "' with 'n'.");
        }
        return switch (value) {
            case Text text -> string(text, context);
            case Value.Float(double number) -> real(number, context);
            case Value.Bool flag when type == 0 && isPlain() -> PythonText.of(flag, context);
            case Value.Int _, Value.BigInt _, Value.Bool _ -> integer(value, context);
            default -> {
                if (!isPlain() || type != 0) {
                    throw context.wrong("a " + Operators.typeName(value) + " takes no format");
                }
                yield PythonText.of(value, context);
            }
        };
    }

    private boolean isPlain() {
        return width == 0 && precision == NONE && align == 0 && grouping == 0 && !alternate && sign == '-';
    }

    private Text string(Text text, RenderContext context) {
        if (type != 0 && type != 's' || align == '=' || grouping != 0 || sign != '-') {
            throw context.wrong("a str does not take this format");
        }
        return padded(text, align == 0 ? '<' : align, context);
    }

    /** Cut to the precision, and filled up. */
    Text padded(Text text, char side, RenderContext context) {
        Text cut = precision == NONE || text.codePointCount() <= precision ? text : text.codePoints(0, precision);
        long missing = Math.max(0, (long) width - cut.codePointCount());
        long before = switch (side) {
            case '<' -> 0;
            case '^' -> missing / 2;
            default -> missing;
        };
        context.chars(missing * fill.length() + cut.chars().length());
        var out = new Text.Builder(cut.chars().length());
        out.append(fill.repeat((int) before));
        out.append(cut);
        out.append(fill.repeat((int) (missing - before)));
        return out.build();
    }

    private Text integer(Value value, RenderContext context) {
        if ("eEfFgG%".indexOf(type) >= 0 && type != 0) {
            return real(Operators.real(value), context);
        }
        if (precision != NONE || type == 's' || grouping != 0 && type == 'c'
                || grouping == ',' && "boxX".indexOf(type) >= 0) {
            throw context.wrong("an int does not take this format");
        }
        BigInteger number = Operators.bigInteger(value);
        if (type == 'c') {
            return padded(character(number, context), align == 0 ? '<' : align, context);
        }
        context.read(number.bitLength() * 4L);
        return signed(number.signum() < 0, prefix(), digits(number.abs()), "", type == 0 || type == 'd' || type == 'n'
                ? 3 : 4, context);
    }

    private static Text character(BigInteger number, RenderContext context) {
        if (number.signum() < 0 || number.bitLength() > 21 || !Character.isValidCodePoint(number.intValue())) {
            throw context.wrong("no character has that number");
        }
        return Text.fromClient(Character.toString(number.intValue()));   // whose number it was, nobody knows
    }

    private String prefix() {
        return !alternate ? "" : switch (type) {
            case 'b' -> "0b";
            case 'o' -> "0o";
            case 'x' -> "0x";
            case 'X' -> "0X";
            default -> "";
        };
    }

    private String digits(BigInteger number) {
        return switch (type) {
            case 'b' -> number.toString(2);
            case 'o' -> number.toString(8);
            case 'x' -> number.toString(16);
            case 'X' -> number.toString(16).toUpperCase(Locale.ROOT);
            default -> number.toString();
        };
    }

    private Text real(double number, RenderContext context) {
        if (precision > MOST_DIGITS) {
            throw context.wrong("a float takes " + MOST_DIGITS + " digits at most");
        }
        if (type != 0 && "eEfFgGn%".indexOf(type) < 0) {
            throw context.wrong("a float does not take the format '" + type + "'");
        }
        double size = Math.abs(type == '%' ? number * 100 : number);
        int digits = precision == NONE ? USUAL_PRECISION : precision;
        String text = switch (type) {
            case '\0' -> precision == NONE ? PythonText.real(size) : shortest(size, precision);
            case 'n' -> RealText.of(size, digits, 'g', alternate);
            case '%' -> RealText.of(size, digits, 'f', alternate);
            default -> RealText.of(size, digits, type, alternate);
        };
        context.read(64L * text.length());
        int end = 0;
        while (end < text.length() && Character.isDigit(text.charAt(end))) {
            end++;
        }
        boolean isNegative = number < 0 || number == 0 && 1 / number < 0;
        String rest = text.substring(end) + (type == '%' ? "%" : "");
        return signed(isNegative, "", text.substring(0, end), rest, 3, context);
    }

    /** Without a type, a float shows that it is one. */
    private static String shortest(double size, int precision) {
        String text = RealText.of(size, precision, 'g', /* alternate */ false);
        return text.chars().allMatch(Character::isDigit)
                ? text.length() < Math.max(1, precision) || precision == 0 ? text + ".0"
                        : RealText.of(size, Math.max(0, precision - 1), 'e', /* alternate */ false) : text;
    }

    /** @param rest behind the digits that are grouped */
    private Text signed(boolean isNegative, String prefix, String digits, String rest, int groupSize,
            RenderContext context) {
        String before = (isNegative ? "-" : sign == '-' ? "" : String.valueOf(sign)) + prefix;
        String filled = grouped(digits, groupSize, 0);
        int room = width - before.length() - rest.length();
        boolean fillsInside = align == '=' || align == 0 && fill.equals("0");
        if (fillsInside && room > filled.length()) {
            context.chars(width);
            filled = grouping != 0 && fill.equals("0") ? grouped(digits, groupSize, room)
                    : fill.repeat(room - filled.length()) + filled;
        }
        var whole = Text.trusted(before + filled + rest);
        return new FormatSpec(fill, align, sign, alternate, width, grouping, NONE, type)
                .padded(whole, align == 0 ? '>' : align, context);
    }

    /** With zeros before them until they are as long as that. */
    private String grouped(String digits, int size, int atLeast) {
        if (grouping == 0) {
            return digits;
        }
        var out = new StringBuilder();
        int count = 0;
        for (int at = digits.length() - 1; at >= 0 || out.length() < atLeast; at--) {
            if (count > 0 && count % size == 0) {
                out.append(grouping);
            }
            out.append(at >= 0 ? digits.charAt(at) : '0');
            count++;
        }
        return out.reverse().toString();
    }
}
