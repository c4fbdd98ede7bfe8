package dev.warmpath.planner.output;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Bars beside their names, each with its number written at its end, as SVG. Nothing depends on colour: what stands out
 * is filled, the others are hatched, and marks are told apart by their form.
 */
public final class BarPlot {

    private static final int NAME_WIDTH = 130;
    private static final int BAR_WIDTH = 290;
    private static final int NUMBER_WIDTH = 134;
    private static final int ROW_HEIGHT = 26;
    private static final int BAR_HEIGHT = 14;
    private static final int TOP = 34;

    private final String title;
    private final List<Bar> bars = new ArrayList<>();
    private final List<Line> lines = new ArrayList<>();

    private record Bar(String name, double value, String number, double mark, boolean standsOut) {}

    private record Line(String name, double value) {}

    public BarPlot(String title) {
        this.title = title;
    }

    /**
     * @param value     its length; not a number: none
     * @param number    written at its end
     * @param mark      where a stroke stands across it, such as its 90th percentile; not a number: none
     * @param standsOut it is filled
     */
    public BarPlot bar(String name, double value, String number, double mark, boolean standsOut) {
        bars.add(new Bar(name, value, number, mark, standsOut));
        return this;
    }

    /** A dashed line over all bars, such as a bound, with its name above. */
    public BarPlot line(String name, double value) {
        lines.add(new Line(name, value));
        return this;
    }

    /** An element for a page. */
    public String svg() {
        double most = Math.max(bars.stream().mapToDouble(bar -> Math.max(finite(bar.value), finite(bar.mark))).max()
                .orElse(0), lines.stream().mapToDouble(Line::value).max().orElse(0));
        int top = TOP + lines.size() * 16;
        int height = top + bars.size() * ROW_HEIGHT + 8;
        var svg = new StringBuilder(Html.svgBegin(NAME_WIDTH + BAR_WIDTH + NUMBER_WIDTH, height, title));
        svg.append(Html.text(0, 16, "start", "b", title));
        for (int i = 0; i < bars.size(); i++) {
            draw(svg, bars.get(i), top + i * ROW_HEIGHT, most);
        }
        for (int i = 0; i < lines.size(); i++) {
            double x = NAME_WIDTH + width(lines.get(i).value, most);
            svg.append(String.format(Locale.ROOT, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' class='l'/>", x, x,
                    TOP + i * 16, height - 4));
            svg.append(Html.text(x - 4, TOP + i * 16 + 8, "end", "s", lines.get(i).name));
        }
        return svg.append("</svg>").toString();
    }

    private static void draw(StringBuilder svg, Bar bar, int y, double most) {
        double width = width(finite(bar.value), most);
        svg.append(Html.text(NAME_WIDTH - 8, y + 12, "end", bar.standsOut ? "b" : "", bar.name));
        svg.append(String.format(Locale.ROOT, "<rect x='%d' y='%d' width='%.1f' height='%d' class='%s'/>", NAME_WIDTH,
                y, width, BAR_HEIGHT, bar.standsOut ? "f" : "h"));
        double end = width;
        if (Double.isFinite(bar.mark)) {
            double x = width(bar.mark, most);
            end = Math.max(end, x);
            svg.append(String.format(Locale.ROOT, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' class='m'/>",
                    NAME_WIDTH + x, NAME_WIDTH + x, y - 3, y + BAR_HEIGHT + 3));
        }
        svg.append(Html.text(NAME_WIDTH + end + 6, y + 12, "start", "", bar.number));
    }

    private static double finite(double value) {
        return Double.isFinite(value) ? value : 0;
    }

    private static double width(double value, double most) {
        return most == 0 ? 0 : value / most * BAR_WIDTH;
    }
}
