package dev.warmpath.planner.output;

import java.util.List;
import java.util.Locale;

/** A page in one file, which loads nothing and needs no script. */
public final class Html {

    private static final String STYLE = """
            :root{color-scheme:light dark}
            body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
            table{border-collapse:collapse;margin:1rem 0}
            th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #8886}
            th:first-child,td:first-child{text-align:left}figure{display:inline-block;margin:.5rem 1.5rem 1rem 0}
            svg{max-width:100%;height:auto;font:12px system-ui,sans-serif;fill:currentColor}
            .b{font-weight:bold}.s{font-size:11px}.f{fill:currentColor}.h{fill:url(#hatch);stroke:currentColor}
            .m{stroke:currentColor;stroke-width:2}.l{stroke:currentColor;stroke-dasharray:5 3}
            .g{stroke:currentColor;opacity:.2}
            .p{fill:none;stroke:currentColor;stroke-width:1.5}.k{fill:Canvas;stroke:currentColor;stroke-width:1.5}
            footer{margin-top:2rem;font-size:13px;overflow-wrap:anywhere}div.wide{overflow-x:auto}
            """;
    /** For all drawings of the page. */
    private static final String HATCH = "<svg width='0' height='0' style='position:absolute' aria-hidden='true'><defs>"
            + "<pattern id='hatch' width='5' height='5' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
            + "<line x1='0' y1='0' x2='0' y2='5' stroke='currentColor' stroke-width='1.5'/></pattern></defs></svg>";

    private Html() {}

    /** @param body elements */
    public static String page(String title, String body) {
        return "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
                + "content='width=device-width,initial-scale=1'><title>" + escape(title) + "</title><style>\n" + STYLE
                + "</style></head><body>" + HATCH + "\n<h1>" + escape(title) + "</h1>\n" + body + "</body></html>\n";
    }

    /** @param head of the columns. @param rows with as many cells */
    public static String table(List<String> head, List<List<String>> rows) {
        var table = new StringBuilder("<div class='wide' role='region' tabindex='0'"
                + " aria-label='table'><table><thead><tr>");
        head.forEach(cell -> table.append("<th scope='col'>").append(escape(cell)).append("</th>"));
        table.append("</tr></thead><tbody>");
        for (List<String> row : rows) {
            table.append("<tr>");
            row.forEach(cell -> table.append("<td>").append(escape(cell)).append("</td>"));
            table.append("</tr>\n");
        }
        return table.append("</tbody></table></div>\n").toString();
    }

    /** A drawing in the page's flow; nothing of an empty one. */
    public static String figure(String svg) {
        return svg.isEmpty() ? "" : "<figure>" + svg + "</figure>\n";
    }

    public static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")
                .replace("\"", "&quot;");
    }

    static String svgBegin(int width, int height, String title) {
        return "<svg role='img' width='%d' height='%d' viewBox='0 0 %d %d'><title>%s</title>".formatted(width, height,
                width, height, escape(title));
    }

    static String text(double x, double y, String anchor, String style, String text) {
        return String.format(Locale.ROOT, "<text x='%.1f' y='%.1f' text-anchor='%s' class='%s'>%s</text>", x, y, anchor,
                style, escape(text));
    }
}
