package dev.warmpath.tokenization.template;

/** Characters that HTML reads otherwise, as markupsafe writes them. */
final class Html {
    private Html() {}

    /** As markup, which it is already if it came as such. */
    static Text escaped(Text text, RenderContext context) {
        if (text.isMarkup()) {
            return text;
        }
        String chars = text.chars();
        context.read(chars.length());
        var out = new Text.Builder(chars.length());
        int plainFrom = 0;
        for (int i = 0; i < chars.length(); i++) {
            String escape = escape(chars.charAt(i));
            if (!escape.isEmpty()) {
                context.output((long) out.length() + i - plainFrom + escape.length(), i - plainFrom + escape.length());
                out.append(text, plainFrom, i);
                out.append(escape);
                plainFrom = i + 1;
            }
        }
        if (plainFrom == 0) {
            return text.asMarkup(true);
        }
        out.append(text, plainFrom, chars.length());
        return out.build().asMarkup(true);
    }

    private static String escape(char c) {
        return switch (c) {
            case '&' -> "&amp;";
            case '<' -> "&lt;";
            case '>' -> "&gt;";
            case '"' -> "&#34;";
            case '\'' -> "&#39;";
            default -> "";
        };
    }
}
