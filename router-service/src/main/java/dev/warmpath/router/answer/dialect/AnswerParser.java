package dev.warmpath.router.answer.dialect;

import java.util.List;

/** Tells the parts of one choice of an answer apart, as its text comes. One thread at a time. */
public final class AnswerParser {

    private final Stage stage;
    private final Parts parts;

    AnswerParser(Stage stage, Parts parts) {
        this.stage = stage;
        this.parts = parts;
    }

    /** @return what is certain now, often nothing */
    public List<AnswerPart> accept(String text) {
        if (!text.isEmpty()) {
            stage.accept(text);
        }
        return parts.take();
    }

    /** @return what waited for more text */
    public List<AnswerPart> finish() {
        stage.finish();
        return parts.take();
    }
}
