package dev.warmpath.planner.output;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;

/**
 * Lines over a few places, as SVG. Each has a mark and dashes of its own, and its name at its end, so that it is told
 * from the others without colour. The scale is logarithmic: times of policies lie far apart.
 */
public final class LinePlot {

    private static final int LEFT = 64;
    private static final int WIDTH = 330;
    private static final int RIGHT = 160;
    private static final int TOP = 34;
    private static final int HEIGHT = 230;
    private static final int BOTTOM = 44;
    private static final int NAME_HEIGHT = 14;
    private static final List<String> DASHES = List.of("", "6 3", "2 3", "9 3 2 3", "1 2", "12 4");
    /** Around 0 0; the first ones are told apart most easily. */
    private static final List<String> MARKS = List.of("M-4-4h8v8h-8z", "M0-5L5 4H-5z", "M0-5L5 0L0 5L-5 0z",
            "M-4-4L4 4M4-4L-4 4", "M-5 0H5M0-5V5", "M0 5L5-4H-5z", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0");

    private final String title;
    private final String axis;
    private final List<String> places;
    private final DoubleFunction<String> number;
    private final List<Line> lines = new ArrayList<>();

    private record Line(String name, double[] values) {}

    /**
     * @param axis   what the places are
     * @param places from left to right, evenly apart
     * @param number how a value is written
     */
    public LinePlot(String title, String axis, List<String> places, DoubleFunction<String> number) {
        this.title = title;
        this.axis = axis;
        this.places = List.copyOf(places);
        this.number = number;
    }

    /** @param values one for each place; what is not a number above 0 is left out */
    public LinePlot line(String name, double[] values) {
        lines.add(new Line(name, values.clone()));
        return this;
    }

    /** An element for a page; empty if there is nothing to draw. */
    public String svg() {
        double[] shown = lines.stream().flatMapToDouble(line -> Arrays.stream(line.values))
                .filter(LinePlot::isShown).sorted().toArray();
        if (shown.length == 0) {
            return "";
        }
        double least = Math.log(shown[0]);
        double most = Math.max(Math.log(shown[shown.length - 1]), least + 0.1);
        var svg = new StringBuilder(Html.svgBegin(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, title));
        svg.append(Html.text(0, 16, "start", "b", title));
        for (int i = 0; i <= 4; i++) {
            double value = Math.exp(least + (most - least) * i / 4);
            double y = y(value, least, most);
            svg.append(String.format(Locale.ROOT, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' class='g'/>", LEFT,
                    LEFT + WIDTH, y, y)).append(Html.text(LEFT - 8, y + 4, "end", "s", number.apply(value)));
        }
        for (int i = 0; i < places.size(); i++) {
            svg.append(Html.text(x(i), TOP + HEIGHT + 18, "middle", "s", places.get(i)));
        }
        svg.append(Html.text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 36, "middle", "s", axis));
        for (int i = 0; i < lines.size(); i++) {
            draw(svg, lines.get(i), i, least, most);
        }
        names(svg, least, most);
        return svg.append("</svg>").toString();
    }

    private void draw(StringBuilder svg, Line line, int number, double least, double most) {
        var path = new StringBuilder();
        var marks = new StringBuilder();
        for (int i = 0; i < line.values.length; i++) {
            if (isShown(line.values[i])) {
                double y = y(line.values[i], least, most);
                path.append(String.format(Locale.ROOT, "%s%.1f %.1f", path.isEmpty() ? "M" : "L", x(i), y));
                marks.append(String.format(Locale.ROOT, "<path d='%s' transform='translate(%.1f %.1f)' class='k'/>",
                        MARKS.get(number % MARKS.size()), x(i), y));
            }
        }
        svg.append("<path d='").append(path).append("' class='p' stroke-dasharray='")
                .append(DASHES.get(number % DASHES.size())).append("'/>").append(marks);
    }

    /** At the right, in the order of where lines end, moved apart where they would cover each other. */
    private void names(StringBuilder svg, double least, double most) {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            order.add(i);
        }
        order.sort(Comparator.comparingDouble(i -> end(lines.get(i), least, most)));
        double next = TOP;
        for (int i : order) {
            double y = Math.max(next, end(lines.get(i), least, most));
            next = y + NAME_HEIGHT;
            svg.append(String.format(Locale.ROOT, "<path d='%s' transform='translate(%d %.1f)' class='k'/>",
                    MARKS.get(i % MARKS.size()), LEFT + WIDTH + 22, y)).append(Html.text(LEFT + WIDTH + 34, y + 4,
                    "start", "", lines.get(i).name));
        }
    }

    private double end(Line line, double least, double most) {
        for (int i = line.values.length - 1; i >= 0; i--) {
            if (isShown(line.values[i])) {
                return y(line.values[i], least, most);
            }
        }
        return TOP + HEIGHT;
    }

    private static boolean isShown(double value) {
        return Double.isFinite(value) && value > 0;
    }

    private double x(int place) {
        return LEFT + (places.size() == 1 ? WIDTH / 2.0 : 10 + (double) (WIDTH - 20) * place / (places.size() - 1));
    }

    private static double y(double value, double least, double most) {
        return TOP + HEIGHT - (Math.log(value) - least) / (most - least) * HEIGHT;
    }
}
