package dev.warmpath.router.answer.dialect;

/**
 * Finds the end of a JSON value that comes one character at a time. Looks at quotes and brackets only: whether what is
 * between them is JSON, the client finds out.
 */
final class JsonExtent {

    enum End { NOT_YET, WITH_THIS, BEFORE_THIS }

    private int depth;
    private boolean inString;
    private boolean escaped;
    private boolean scalar;

    boolean isInString() {
        return inString;
    }

    End accept(char c) {
        if (inString) {
            return inString(c);
        }
        return switch (c) {
            case '"' -> {
                inString = true;
                yield End.NOT_YET;
            }
            case '{', '[' -> {
                depth++;
                yield End.NOT_YET;
            }
            case '}', ']' -> scalar && depth == 0 ? End.BEFORE_THIS : --depth <= 0 ? End.WITH_THIS : End.NOT_YET;
            default -> {
                boolean endsScalar = depth == 0 && (c == ',' || Character.isWhitespace(c));
                scalar |= depth == 0;
                yield endsScalar ? End.BEFORE_THIS : End.NOT_YET;
            }
        };
    }

    private End inString(char c) {
        if (escaped) {
            escaped = false;
        } else if (c == '\\') {
            escaped = true;
        } else if (c == '"') {
            inString = false;
            return depth == 0 ? End.WITH_THIS : End.NOT_YET;
        }
        return End.NOT_YET;
    }
}
