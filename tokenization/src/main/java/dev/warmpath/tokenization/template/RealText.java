package dev.warmpath.tokenization.template;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;

/** Floats with so many digits as were asked for, in the ways that C's {@code printf} has and Python took over. */
final class RealText {
    private RealText() {}

    /**
     * Digits without a sign.
     *
     * @param number    not negative
     * @param precision as the type has it: digits behind the point, or all that count
     * @param type      one of {@code eEfFgG}
     * @param alternate {@code #}: the point and zeros at the end stay
     */
    static String of(double number, int precision, char type, boolean alternate) {
        String text = Double.isNaN(number) ? "nan" : Double.isInfinite(number) ? "inf"
                : switch (Character.toLowerCase(type)) {
                    case 'f' -> fixed(number, precision, alternate);
                    case 'e' -> scientific(number, precision, alternate);
                    default -> general(number, Math.max(1, precision), alternate);
                };
        return Character.isUpperCase(type) ? text.toUpperCase(Locale.ROOT) : text;
    }

    private static String fixed(double number, int precision, boolean alternate) {
        String digits = new BigDecimal(number).setScale(precision, RoundingMode.HALF_EVEN).toPlainString();
        return alternate && precision == 0 ? digits + "." : digits;
    }

    private static String scientific(double number, int precision, boolean alternate) {
        BigDecimal rounded = new BigDecimal(number).round(new MathContext(precision + 1, RoundingMode.HALF_EVEN));
        int exponent = number == 0 ? 0 : rounded.precision() - rounded.scale() - 1;
        String digits = rounded.unscaledValue().toString();
        String padded = digits + "0".repeat(Math.max(0, precision + 1 - digits.length()));
        String point = precision > 0 || alternate ? "." : "";
        String mantissa = padded.charAt(0) + point + padded.substring(1, precision + 1);
        return mantissa + "e" + (exponent < 0 ? "-" : "+") + (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
    }

    private static String general(double number, int precision, boolean alternate) {
        BigDecimal rounded = new BigDecimal(number).round(new MathContext(precision, RoundingMode.HALF_EVEN));
        int exponent = number == 0 ? 0 : rounded.precision() - rounded.scale() - 1;
        boolean isPlain = exponent >= -4 && exponent < precision;
        String text = isPlain ? fixed(number, precision - 1 - exponent, alternate)
                : scientific(number, precision - 1, alternate);
        return alternate ? text : withoutZeros(text);
    }

    /** Without zeros at the end of the fraction. */
    private static String withoutZeros(String text) {
        int mantissaEnd = text.indexOf('e') < 0 ? text.length() : text.indexOf('e');
        int end = mantissaEnd;
        if (text.indexOf('.') >= 0) {
            while (text.charAt(end - 1) == '0') {
                end--;
            }
            end -= text.charAt(end - 1) == '.' ? 1 : 0;
        }
        return text.substring(0, end) + text.substring(mantissaEnd);
    }
}
