package dev.warmpath.planner.study;

import dev.warmpath.planner.simulation.Report;
import dev.warmpath.planner.simulation.Times;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a fleet promises its clients: bounds of the time to first token, and of that between tokens. */
public record Objectives(List<Bound> bounds) {

    private static final Pattern FORM =
            Pattern.compile("(ttft|itl)-(mean|p50|p90|p99)=([0-9]{1,9}(?:\\.[0-9]{1,6})?)(ms|s)");

    /** A statistic of one kind of time. @param statistic mean, p50, p90 or p99. @param mostMillis above 0 */
    public record Bound(boolean isFirstToken, String statistic, double mostMillis) {

        private String text() {
            return (isFirstToken ? "ttft-" : "itl-") + statistic;
        }

        private double millis(Report report) {
            Times times = isFirstToken ? report.firstToken() : report.betweenTokens();
            return statistic.equals("mean") ? times.meanMillis()
                    : times.quantileMillis(Integer.parseInt(statistic.substring(1)) / 100.0);
        }
    }

    /**
     * @param text such as {@code ttft-p90=2s,itl-mean=50ms}
     * @throws IllegalArgumentException in a sentence, if it is not of this form
     */
    public static Objectives of(String text) {
        List<Bound> bounds = new ArrayList<>();
        for (String part : text.toLowerCase(Locale.ROOT).split(",", -1)) {
            Matcher form = FORM.matcher(part.strip());
            if (!form.matches() || Double.parseDouble(form.group(3)) == 0) {
                throw new IllegalArgumentException("a bound is ttft or itl, mean, p50, p90 or p99, and a time above"
                        + " 0, such as ttft-p90=2s or itl-mean=50ms, not '" + part.strip() + "'");
            }
            bounds.add(new Bound(form.group(1).equals("ttft"), form.group(2),
                    Double.parseDouble(form.group(3)) * (form.group(4).equals("s") ? 1e3 : 1)));
        }
        return new Objectives(List.copyOf(bounds));
    }

    /**
     * Why a run does not keep them: empty if it does.
     *
     * @param headroom part of each bound that stays free, 0 to below 1
     */
    public String broken(Report report, double headroom) {
        if (report.isOverloaded()) {
            return "overloaded";
        }
        if (report.refused() > 0) {
            return report.refused() + " requests refused";
        }
        for (Bound bound : bounds) {
            double most = bound.mostMillis() * (1 - headroom);
            double millis = bound.millis(report);
            if (millis > most) {
                return String.format(Locale.ROOT, "%s %.1f ms > %.1f ms", bound.text(), millis, most);
            }
        }
        return "";
    }
}
